package dev.cinch.cli;

import dev.cinch.lease.time.SystemTime;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import sun.misc.Signal;
import sun.misc.SignalHandler;

/**
 * A command that runs with this process's input and output, gets the signals that this process
 * gets, each once, and can be ended with all that it started.
 */
final class RunningCommand implements LeaseCountdown.Attended {
  private static final List<String> PASSED = List.of("INT", "TERM", "HUP");

  private final CompletableFuture<Process> begun = new CompletableFuture<>();

  /** What it had started when it was told to end: its children outlive it, and lose it. */
  private final Set<ProcessHandle> started = new HashSet<>();

  private RunningCommand() {}

  private Process process() {
    return begun.join();
  }

  /**
   * Starts it.
   *
   * @param with variables beside those of this process
   */
  static RunningCommand start(List<String> command, Map<String, String> with) throws IOException {
    var builder = new ProcessBuilder(command).inheritIO();
    builder.environment().putAll(with);
    var running = new RunningCommand();
    for (String name : PASSED) { // before it runs: one that came meanwhile would orphan it
      running.pass(name);
    }
    try {
      running.begun.complete(builder.start());
    } finally {
      running.begun.cancel(false); // nothing is passed on to what could not be started
    }
    return running;
  }

  private void pass(String name) {
    try {
      var signal = new Signal(name);
      SignalHandler before = Signal.handle(signal, s -> arrived(name));
      if (before == SignalHandler.SIG_IGN) {
        Signal.handle(signal, before); // as nohup wants it
      }
    } catch (IllegalArgumentException e) {
      // No such signal here, or Java was told to leave it alone (-Xrs): it ends this process then.
    }
  }

  /** Ctrl-C reaches all that a terminal has in front; twice it would mean something else. */
  private void arrived(String name) {
    if (!name.equals("INT") || !isInFront()) {
      send(name);
    }
  }

  /** Whether this process and its children get what is typed in a terminal. */
  static boolean isInFront() {
    try {
      return isInFront(Files.readString(Path.of("/proc/self/stat")));
    } catch (IOException e) {
      return false; // no Linux: rather twice than not at all
    }
  }

  /**
   * The same by what Linux says of a process.
   *
   * @param stat number, name in parentheses, state, parent, group, session, terminal, group in
   *     front of that, …
   */
  static boolean isInFront(String stat) {
    String[] fields = stat.substring(stat.lastIndexOf(')') + 1).strip().split(" ", 7);
    return fields.length == 7 && fields[2].equals(fields[5]);
  }

  /** Sends it a signal by name, unless it has ended. */
  void send(String name) {
    Process process;
    try {
      process = process();
    } catch (CancellationException e) {
      return;
    }
    if (!process.isAlive()) {
      return;
    }
    try {
      // Java itself knows TERM and KILL alone; a shell has a kill of its own.
      Process sent =
          new ProcessBuilder("sh", "-c", "kill -s " + name + " " + process.pid())
              .redirectErrorStream(true)
              .start();
      int unused = sent.waitFor();
    } catch (IOException e) {
      process.destroy();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Waits for its end, and that of what it had started when it was told to end; no longer than so
   * many nanoseconds. Whether all have ended.
   */
  @Override
  public boolean await(long nanos) throws InterruptedException {
    long until = SystemTime.INSTANCE.monotonicNanos() + nanos;
    if (!process().waitFor(nanos, TimeUnit.NANOSECONDS)) {
      return false;
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

  /** Its exit code; 128 and the signal's number if one ended it. */
  int exitCode() {
    return process().exitValue();
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
    started.add(process().toHandle());
    for (ProcessHandle known : Set.copyOf(started)) {
      known.descendants().forEach(started::add);
    }
  }
}
