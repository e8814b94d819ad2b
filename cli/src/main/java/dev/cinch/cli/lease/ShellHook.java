package dev.cinch.cli.lease;

import java.io.File;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** What {@code --on-lost} says, run by a shell. Not thread-safe. */
final class ShellHook implements LeaseCountdown.Hook {
  private static final long NANOS_PER_MS = 1_000_000;

  private final String command;
  private final List<String> variables;
  private final Consumer<String> say;
  private @Nullable Process process;

  /**
   * @param variables names and values that it gets beside those of this process
   * @param say told where it can't be run
   */
  ShellHook(String command, List<String> variables, Consumer<String> say) {
    this.command = command;
    this.variables = List.copyOf(variables);
    this.say = say;
  }

  @Override
  public void begin(String why, long leftNanos) {
    var builder = new ProcessBuilder("/bin/sh", "-c", command).inheritIO();
    builder.redirectInput(new File("/dev/null")); // the command's own is the command's
    Map<String, String> environment = builder.environment();
    for (String each : variables) {
      String[] parts = each.split("=", 2);
      environment.put(parts[0], parts[1]);
    }
    environment.put("CINCH_REASON", why);
    environment.put("CINCH_LEFT_MS", Long.toString(Math.max(0, leftNanos / NANOS_PER_MS)));
    try {
      process = builder.start();
    } catch (IOException e) {
      say.accept("--on-lost can't be run: " + e.getMessage());
    }
  }

  @Override
  public boolean isOver() {
    Process begun = process;
    return begun == null || !begun.isAlive();
  }

  @Override
  public void await(long nanos) throws InterruptedException {
    Process begun = process;
    if (begun != null) {
      boolean unused = begun.waitFor(nanos, TimeUnit.NANOSECONDS);
    }
  }

  @Override
  public void kill() {
    Process begun = process;
    if (begun != null) {
      begun.descendants().forEach(ProcessHandle::destroyForcibly);
      begun.destroyForcibly();
    }
  }
}
