package dev.cinch.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.fs.ClockedFs;
import dev.cinch.bag.fs.PosixFs;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.MachineNames;
import dev.cinch.cli.base.Stop;
import dev.cinch.cli.lease.LeaseRunCommand;
import dev.cinch.lease.time.SystemTime;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** Runs the command line within the test's process and keeps what it says. */
public final class Cinch {
  /** Longer than any grace period of a test's store. */
  private static final Duration LATER = Duration.ofMinutes(10);

  private static final String[] QUICK = {
    "--bucket-width=100ms",
    "--clock-ahead=200ms",
    "--clock-behind=200ms",
    "--timestamp-distance=100ms",
    "--slow-append=100ms",
    "--grace=500ms"
  };

  private final Map<String, String> env = new HashMap<>();
  private boolean terminal;
  private @Nullable String unwritable;
  private Runnable onNotice = () -> {};
  private Runnable onOutput = () -> {};
  private @Nullable Stop stop;

  /** What a command said and how it ended. */
  public record Ran(int code, byte[] bytes, String err) {
    public String out() {
      return new String(bytes, StandardCharsets.UTF_8);
    }

    /** Asserts the exit code. */
    @CanIgnoreReturnValue
    public Ran ended(int expected) {
      assertEquals(expected, code, () -> "exit code; stderr: " + err + "; stdout: " + out());
      return this;
    }

    /**
     * Asserts a failure: this code, and exactly one line on stderr that has the text, besides the
     * one about a log that was made.
     */
    @CanIgnoreReturnValue
    public Ran failed(int expected, String text) {
      ended(expected);
      long lines = err.lines().filter(l -> !l.endsWith("\"; it was made")).count();
      assertEquals(1, lines, () -> "lines on stderr: " + err);
      assertTrue(err.endsWith("\n") && err.startsWith("cinch"), err);
      assertTrue(err.contains(text), () -> "\"" + text + "\" in: " + err);
      return this;
    }
  }

  public static Cinch on(Path store) {
    return on(Name.of(store));
  }

  public static Cinch on(Name store) {
    return new Cinch().with("CINCH_STORE", store.text());
  }

  @CanIgnoreReturnValue
  public Cinch with(String variable, String value) {
    env.put(variable, value);
    return this;
  }

  /** From now on standard error is a terminal, and standard output a file. */
  @CanIgnoreReturnValue
  public Cinch onTerminal() {
    terminal = true;
    return this;
  }

  /** From now on writing to standard output fails so. */
  @CanIgnoreReturnValue
  public Cinch unwritable(String reason) {
    unwritable = reason;
    return this;
  }

  private static OutputStream failing(String reason) {
    return new OutputStream() {
      @Override
      public void write(int b) throws IOException {
        throw new IOException(reason);
      }

      @Override
      public void write(byte[] b, int offset, int length) throws IOException {
        if (length > 0) {
          throw new IOException(reason);
        }
      }
    };
  }

  /** From now on, whenever a command says something on standard error, this is done. */
  @CanIgnoreReturnValue
  public Cinch onNotice(Runnable what) {
    onNotice = what;
    return this;
  }

  /** When a command first writes to standard output, this is done, once. */
  @CanIgnoreReturnValue
  public Cinch onOutput(Runnable what) {
    onOutput = what;
    return this;
  }

  /** From now on commands hear these signals. */
  @CanIgnoreReturnValue
  public Cinch stoppedBy(Stop signals) {
    stop = signals;
    return this;
  }

  public Ran run(String... args) {
    return feed(new byte[0], args);
  }

  public Ran feed(String input, String... args) {
    return feed(input.getBytes(StandardCharsets.UTF_8), args);
  }

  public Ran feed(byte[] input, String... args) {
    if (LeaseRunCommand.end(List.of(args)) >= 0) {
      return launched(args);
    }
    var out =
        new ByteArrayOutputStream() {
          @Override
          public void write(byte[] bytes, int offset, int length) {
            super.write(bytes, offset, length);
            Runnable first = onOutput;
            onOutput = () -> {};
            first.run();
          }
        };
    var err =
        new ByteArrayOutputStream() {
          @Override
          public void flush() {
            onNotice.run();
          }
        };
    var io =
        new Io(
            new ByteArrayInputStream(input),
            unwritable == null ? out : failing(unwritable),
            new PrintStream(err, true, StandardCharsets.UTF_8),
            env::get,
            terminal,
            false,
            stop == null ? Stop.byHand() : stop);
    int code = Main.run(args, io);
    return new Ran(code, out.toByteArray(), err.toString(StandardCharsets.UTF_8));
  }

  /** Runs a command under leases, which takes the launcher. */
  private Ran launched(String... args) {
    var command = new ArrayList<>(List.of(ArchivedClasses.launcher().toString()));
    command.addAll(List.of(args));
    try {
      Path out = Files.createTempFile("cinch-test", ".out");
      Path err = Files.createTempFile("cinch-test", ".err");
      var builder = new ProcessBuilder(command);
      builder.environment().putAll(env);
      Process process =
          builder
              .redirectInput(new File("/dev/null"))
              .redirectOutput(out.toFile())
              .redirectError(err.toFile())
              .start();
      if (stop != null) {
        stop.onRequest(process::destroy); // SIGTERM
      }
      var ran = new Ran(process.waitFor(), Files.readAllBytes(out), Files.readString(err));
      Files.delete(out);
      Files.delete(err);
      return ran;
    } catch (IOException | InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Makes a store with these options of init. */
  public static Path store(Path parent, String... options) {
    Path store = parent.resolve("store");
    make(Name.of(store), options);
    return store;
  }

  private static void make(Name store, String... options) {
    var args = new ArrayList<>(List.of("init"));
    args.addAll(List.of(options));
    args.add(store.text());
    new Cinch().run(args.toArray(String[]::new)).ended(0);
  }

  /** Makes a store, whose buckets can be closed soon if that is asked for, and works on it. */
  static Cinch onNew(Name store, boolean quick, String... options) {
    make(store, quick ? QUICK : options);
    return on(store);
  }

  /** Makes a store whose buckets can be closed soon. */
  public static Path quickStore(Path parent) {
    return store(parent, QUICK);
  }

  /** The log as processes meet it whose clocks, and the filesystem's, are off by so much. */
  private Log at(Duration offset, String log) throws IOException {
    var time = new SystemTime(offset.toNanos());
    var fs = new ClockedFs(new PosixFs(null, null), time);
    var environment = new Store.Environment(fs, MachineNames.ofHost(), time, new SecureRandom());
    return Store.open(new Name(env.getOrDefault("CINCH_STORE", "")), environment)
        .createLog(new LogName(log));
  }

  /** Closes everything that was appended so far, as somebody who comes when its time is over. */
  public void settle(String log) throws IOException, InterruptedException {
    long last = SystemTime.INSTANCE.wallNanos();
    at(LATER, log).horizon().advance(last, OptionalLong.empty());
  }

  /** Appends after {@link #settle}: what is left of the bucket that it settled refuses. */
  public void appendBehind(String input, String... args) {
    Ran ran = feed(input, args);
    while (ran.code() == ExitCode.REFUSED) {
      ran = feed(input, args);
    }
    ran.ended(0);
  }

  /** Lines that were appended some minutes ago, and are settled. */
  public void settled(String log, String lines) throws Exception {
    settled(log, lines, LATER);
  }

  /** Lines that were appended so long ago, less than an hour, and are settled. */
  public void settled(String log, String lines, Duration ago) throws Exception {
    overdue(log, lines, ago);
    long last = SystemTime.INSTANCE.wallNanos() - ago.toNanos();
    at(Duration.ZERO, log).horizon().advance(last, OptionalLong.empty());
  }

  /** Lines that were appended some minutes ago, and that nobody has settled. */
  public void overdue(String log, String lines) throws Exception {
    overdue(log, lines, LATER);
  }

  /** Lines that were appended so long ago, and that nobody has settled. */
  public void overdue(String log, String lines, Duration ago) throws Exception {
    Log then = at(ago.negated(), log);
    try (var writer = then.writer(Durability.CLOSE)) {
      for (String line : lines.lines().toList()) {
        byte[] bytes = line.getBytes(StandardCharsets.UTF_8);
        var unused = writer.submit(LeaseStamp.NONE, bytes, 0, bytes.length);
      }
    }
  }
}
