package dev.cinch.cli.lease;

import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.Stop;
import dev.cinch.lease.time.SystemTime;
import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The command that the launcher runs as its own child when it is told to. Java only watches it, and
 * ends it with all that it started: a child of Java's would get other arguments, limits and
 * signals. Standard input says {@code signal N}, {@code runs PID} and {@code ended}, a line each;
 * its end without the last one means that the launcher or its guard is gone, and ends the command
 * too. A pipe tells the launcher when to begin, and its guard that all is over. How long the
 * command may go on tells a file.
 */
final class RunningCommand implements LeaseCountdown.Attended {
  /** The system property by which the launcher names the pipe. */
  static final String PIPE = "cinch.run";

  private static final long NANOS_PER_MILLI = 1_000_000;

  private final OutputStream pipe;
  private final Stop stop;
  private final CountDownLatch over = new CountDownLatch(1);
  private final AtomicReference<@Nullable ProcessHandle> command = new AtomicReference<>();
  private @Nullable FileChannel said;
  private volatile boolean begun;
  private volatile boolean forsaken;

  /** What it had started when it was told to end: its children outlive it, and lose it. */
  private final Set<ProcessHandle> started = new HashSet<>();

  private RunningCommand(OutputStream pipe, Stop stop) {
    this.pipe = pipe;
    this.stop = stop;
  }

  /** From now on hears the launcher; null if there is none, and so nobody who runs a command. */
  static @Nullable RunningCommand ofLauncher(Io io) throws IOException {
    String pipe = System.getProperty(PIPE);
    if (pipe == null) {
      return null;
    }
    var running = new RunningCommand(new FileOutputStream(pipe), io.stop());
    var lines = new BufferedReader(new InputStreamReader(io.in(), StandardCharsets.US_ASCII));
    var thread = new Thread(() -> running.hear(lines), "launcher");
    thread.setDaemon(true);
    thread.start();
    return running;
  }

  private void hear(BufferedReader lines) {
    try {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        String[] words = line.split(" ", 2);
        switch (words[0]) {
          case "signal" -> stop.arrived(Integer.parseInt(words[1]));
          case "runs" -> command.set(ProcessHandle.of(Long.parseLong(words[1])).orElse(null));
          case "ended" -> over.countDown();
          default -> throw new IOException("the launcher says " + line);
        }
      }
    } catch (IOException e) {
      // The launcher is as good as gone.
    }
    forsake();
  }

  private void forsake() {
    if (over.getCount() > 0) {
      forsaken = true;
      over.countDown();
      if (!begun) {
        stop.arrived(Stop.SIGTERM); // nobody waits for the leases
      }
    }
  }

  /**
   * Has it begin.
   *
   * @param variables name and value of each that it gets beside those of the launcher, which finds
   *     the file of the limits in the directory that the first one names
   */
  void begin(List<String> variables, Path limitsFile, LeaseCountdown.Limits limits)
      throws IOException {
    begun = true;
    said = FileChannel.open(limitsFile, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
    say(limits);
    // As arguments and names of files are encoded, of which these are made.
    var encoding = Charset.forName(System.getProperty("sun.jnu.encoding", "UTF-8"));
    try {
      pipe.write((String.join("\0", variables) + "\0\0").getBytes(encoding));
    } catch (IOException e) {
      forsake();
    }
  }

  @Override
  public void mayRun(LeaseCountdown.Limits limits) {
    try {
      say(limits);
    } catch (IOException e) {
      forsake(); // the guard would not know that it may go on
    }
  }

  /** Twice in one line: whoever reads a half of it finds that the two differ. */
  private void say(LeaseCountdown.Limits limits) throws IOException {
    // The clock that shells can read; before the other one, so that it is rather less than more.
    String uptime = Files.readString(Path.of("/proc/uptime")).split(" ", 2)[0];
    long zero =
        Long.parseLong(uptime.replace(".", "")) * 10 - millis(SystemTime.INSTANCE.monotonicNanos());
    String both = (zero + millis(limits.end())) + " " + (zero + millis(limits.kill()));
    byte[] line = (both + " " + both + "\n").getBytes(StandardCharsets.US_ASCII);
    int unused = Objects.requireNonNull(said).write(ByteBuffer.wrap(line), 0);
  }

  private static long millis(long nanos) {
    return nanos / NANOS_PER_MILLI;
  }

  /**
   * Waits for its end, and that of what it had started when it was told to end; no longer than so
   * many nanoseconds. Whether all have ended.
   */
  @Override
  public boolean await(long nanos) throws InterruptedException {
    long until = SystemTime.INSTANCE.monotonicNanos() + nanos;
    if (!over.await(nanos, TimeUnit.NANOSECONDS)) {
      return false;
    }
    if (forsaken) {
      look();
      started.forEach(ProcessHandle::destroyForcibly);
    }
    for (ProcessHandle child : started) {
      try {
        Object unused = child.onExit().get(left(until), TimeUnit.NANOSECONDS);
      } catch (TimeoutException e) {
        return false;
      } catch (ExecutionException e) {
        throw new IllegalStateException("no process ends with an exception", e);
      }
    }
    return true;
  }

  private static long left(long until) {
    return Math.max(0, until - SystemTime.INSTANCE.monotonicNanos());
  }

  /** Whether it was killed since its launcher was. */
  boolean wasForsaken() {
    return forsaken;
  }

  /** Tells it and what it started to end (SIGTERM). */
  @Override
  public void end() {
    look();
    started.forEach(ProcessHandle::destroy);
  }

  /** Ends what is left of it (SIGKILL); then its own end alone is waited for. */
  @Override
  public void kill() {
    look();
    started.forEach(ProcessHandle::destroyForcibly);
    started.clear();
  }

  private void look() {
    ProcessHandle root = command.get();
    if (root != null) {
      started.add(root);
    }
    for (ProcessHandle known : Set.copyOf(started)) {
      known.descendants().forEach(started::add);
    }
  }

  /** Tells the guard that all has ended. */
  void done() {
    try {
      pipe.write("done\n".getBytes(StandardCharsets.US_ASCII));
      pipe.close();
    } catch (IOException e) {
      // It is gone.
    }
  }
}
