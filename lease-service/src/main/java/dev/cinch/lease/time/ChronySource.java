package dev.cinch.lease.time;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.TimeBound;
import dev.cinch.lease.TimeBound.Kind;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * The NTP daemon chrony on this machine: its tracking report says how far the machine's clock may
 * be off.
 */
@CheckReturnValue
public final class ChronySource implements BoundSource {
  /** What prints the report. */
  public static final List<String> COMMAND = List.of("chronyc", "-c", "tracking");

  private static final int FIELDS = 14;
  private static final int MAX_BYTES = 4_096;
  private static final long PATIENCE_SECONDS = 5;
  private static final BigDecimal NANOS = BigDecimal.valueOf(1_000_000_000L);
  private static final BigDecimal YEAR = BigDecimal.valueOf(31_536_000L);

  private final TimeSource time;
  private final List<String> command;

  public ChronySource(TimeSource time) {
    this(time, COMMAND);
  }

  ChronySource(TimeSource time, List<String> command) {
    this.time = time;
    this.command = List.copyOf(command);
  }

  @Override
  public String name() {
    return "chrony";
  }

  @Override
  public Measurement measure() throws IOException {
    String report = run();
    long monotonic = time.monotonicNanos();
    long wall = time.wallNanos();
    return new Measurement(TimeBound.around(wall, error(report), Kind.MEASURED), monotonic, wall);
  }

  /**
   * How far the machine's clock is off at most by a report, nanoseconds: by how much it is being
   * corrected, the root dispersion, and half of the root delay, as chrony's manual has it.
   *
   * @throws IOException if it is no report, or chrony is not synchronised
   */
  static long error(String report) throws IOException {
    String[] fields = report.strip().split(",", -1);
    if (fields.length != FIELDS) {
      throw new IOException("chronyc's report has " + fields.length + " fields, not " + FIELDS);
    }
    if (fields[13].equals("Not synchronised") || fields[2].equals("0")) {
      throw new IOException("chrony is not synchronised");
    }
    return seconds(fields[4])
        .abs()
        .add(seconds(fields[11]).abs())
        .add(seconds(fields[10]).abs().divide(BigDecimal.valueOf(2)))
        .min(YEAR)
        .multiply(NANOS)
        .setScale(0, java.math.RoundingMode.UP)
        .longValueExact();
  }

  private static BigDecimal seconds(String field) throws IOException {
    // Nothing like 1e999999999, whose digits would fill the memory.
    if (!field.matches("-?\\d{1,12}\\.\\d{1,12}")) {
      throw new IOException("chronyc's report has no number of seconds where one should be");
    }
    return new BigDecimal(field);
  }

  private String run() throws IOException {
    Process process;
    try {
      process = new ProcessBuilder(command).redirectErrorStream(true).start();
    } catch (IOException e) {
      throw new IOException("can't run chronyc: is it installed?", e);
    }
    try {
      process.getOutputStream().close();
      if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
        throw new IOException("chronyc did not end within " + PATIENCE_SECONDS + " s");
      }
      byte[] said = process.getInputStream().readNBytes(MAX_BYTES);
      String text = new String(said, StandardCharsets.US_ASCII).strip();
      if (process.exitValue() != 0) {
        throw new IOException("chronyc: " + dev.cinch.lease.OneLine.of(text, 200));
      }
      return text;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while chronyc ran");
    } finally {
      process.destroyForcibly();
    }
  }
}
