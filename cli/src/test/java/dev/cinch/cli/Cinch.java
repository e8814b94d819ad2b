package dev.cinch.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.close.TooEarlyException;
import dev.cinch.bag.layout.LogName;
import dev.cinch.lease.time.SystemTime;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/** Runs the command line within the test's process and keeps what it says. */
final class Cinch {
  private final Map<String, String> env = new HashMap<>();

  /** What a command said and how it ended. */
  record Ran(int code, byte[] bytes, String err) {
    String out() {
      return new String(bytes, StandardCharsets.UTF_8);
    }

    /** Asserts the exit code. */
    @CanIgnoreReturnValue
    Ran ended(int expected) {
      assertEquals(expected, code, () -> "exit code; stderr: " + err + "; stdout: " + out());
      return this;
    }

    /** Asserts a failure: this code, and exactly one line on stderr that has the text. */
    @CanIgnoreReturnValue
    Ran failed(int expected, String text) {
      ended(expected);
      assertEquals(1, err.lines().count(), () -> "lines on stderr: " + err);
      assertTrue(err.endsWith("\n") && err.startsWith("cinch"), err);
      assertTrue(err.contains(text), () -> "\"" + text + "\" in: " + err);
      return this;
    }
  }

  static Cinch on(Path store) {
    return new Cinch().with("CINCH_STORE", store.toString());
  }

  @CanIgnoreReturnValue
  Cinch with(String variable, String value) {
    env.put(variable, value);
    return this;
  }

  Ran run(String... args) {
    return feed(new byte[0], args);
  }

  Ran feed(String input, String... args) {
    return feed(input.getBytes(StandardCharsets.UTF_8), args);
  }

  Ran feed(byte[] input, String... args) {
    var out = new ByteArrayOutputStream();
    var err = new ByteArrayOutputStream();
    var io =
        new Io(
            new ByteArrayInputStream(input),
            out,
            new PrintStream(err, true, StandardCharsets.UTF_8),
            env::get,
            false);
    int code = Main.run(args, io);
    return new Ran(code, out.toByteArray(), err.toString(StandardCharsets.UTF_8));
  }

  /** Makes a store with these options of init. */
  static Path store(Path parent, String... options) {
    Path store = parent.resolve("store");
    var args = new ArrayList<>(List.of("init"));
    args.addAll(List.of(options));
    args.add(store.toString());
    new Cinch().run(args.toArray(String[]::new)).ended(0);
    return store;
  }

  /** Makes a store whose buckets can be closed soon. */
  static Path quickStore(Path parent) {
    return store(
        parent,
        "--bucket-width=100ms",
        "--clock-ahead=200ms",
        "--clock-behind=200ms",
        "--timestamp-distance=100ms",
        "--slow-append=100ms",
        "--grace=500ms");
  }

  /** Closes everything that was appended so far, waiting out the grace period. */
  void settle(String log) throws IOException, InterruptedException {
    var environment = Store.Environment.of(MachineNames.ofHost(), SystemTime.INSTANCE);
    Store store = Store.open(Path.of(env.getOrDefault("CINCH_STORE", "")), environment);
    Log opened = store.log(new LogName(log));
    long last = SystemTime.INSTANCE.wallNanos();
    while (true) {
      try {
        opened.horizon().advance(last, OptionalLong.empty());
        return;
      } catch (TooEarlyException e) {
        SystemTime.INSTANCE.sleepNanos(e.waitNanos()); // the grace period, as fences wait for it
      }
    }
  }
}
