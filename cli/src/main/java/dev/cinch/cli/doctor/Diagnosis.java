package dev.cinch.cli.doctor;

import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.JsonOption;
import dev.cinch.cli.base.Output;
import java.io.IOException;
import java.util.Locale;

/** The lines of {@code doctor}, and whether one of them is a failure. Not thread-safe. */
final class Diagnosis {
  private final Output out;
  private final JsonOption json;
  private boolean failed;
  private boolean unread;

  Diagnosis(Output out, JsonOption json) {
    this.out = out;
    this.json = json;
  }

  /** One look at the filesystem. */
  @FunctionalInterface
  interface Probe {
    void look() throws IOException;
  }

  void ok(String what, String meaning) throws IOException {
    print("ok  ", what, meaning);
  }

  void warn(String what, String meaning) throws IOException {
    print("warn", what, meaning);
  }

  void fail(String what, String meaning) throws IOException {
    failed = true;
    out.ifClosed(ExitCode.DAMAGE);
    print("FAIL", what, meaning);
  }

  /** What was not looked at. */
  void note(String what, String meaning) throws IOException {
    print("note", what, meaning);
  }

  /**
   * Each line is seen at once: a filesystem may hang, and what hangs is what would come next. Where
   * nobody reads, the rest is looked at all the same, since the exit code tells what was found; the
   * line is left in the buffer, and fails again when that is closed.
   */
  private void print(String verdict, String what, String meaning) throws IOException {
    line(verdict, what, meaning);
    if (unread) {
      return;
    }
    try {
      out.flush();
    } catch (Output.ClosedException e) {
      unread = true;
      line(verdict, what, meaning);
    }
  }

  private void line(String verdict, String what, String meaning) throws IOException {
    json.print(
        out,
        verdict + " " + Failure.oneLine(what + " — " + meaning),
        line ->
            line.text("verdict", verdict.strip().toUpperCase(Locale.ROOT))
                .text("what", Failure.oneLine(what))
                .text("meaning", Failure.oneLine(meaning)));
  }

  /** Makes a probe; one that can't be made has failed, and the others go on. */
  void look(String what, String meaning, Probe probe) throws IOException {
    try {
      probe.look();
    } catch (Output.ClosedException e) {
      throw e;
    } catch (IOException | UnsupportedOperationException e) {
      fail(what + ": " + Failure.of(e).line(), meaning);
    }
  }

  boolean failed() {
    return failed;
  }
}
