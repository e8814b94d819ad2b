package dev.cinch.cli.read;

import dev.cinch.bag.model.LogName;
import dev.cinch.bag.read.Gap;
import dev.cinch.bag.read.GapException;
import dev.cinch.bag.read.LogReader;
import dev.cinch.bag.read.Message;
import dev.cinch.bag.read.MessageSink;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.JsonLines;
import dev.cinch.cli.base.Output;
import java.io.IOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Tells of messages that are not printed. Of those that do not exist because no valid lease permits
 * them (rule F3): of the first one by name, and of how many there were, since there may be
 * millions. Of those that expired under the read (rule R4): of each range.
 */
final class IgnoredMessages implements LogReader.Objection {
  private final Io io;
  private final String command;
  private long count;
  private boolean passed;
  private boolean gap;
  private @Nullable JsonLines lines;

  IgnoredMessages(Io io, String command) {
    this.io = io;
    this.command = command;
  }

  @Override
  public void ignored(Message message, Path file, String why) {
    if (count++ == 0) {
      io.say(command, "ignored message %d of %s: %s".formatted(message.position(), file, why));
    }
  }

  /** From now on a program that reads JSON is told of what expired in its place, too. */
  void alsoTo(Output out, PrintOptions printing) {
    lines = printing.asJson() ? new JsonLines(out) : null;
  }

  @Override
  public void expired(Gap missing) throws IOException {
    expired(null, missing);
  }

  /** The same of one log of several. */
  void expired(@Nullable LogName log, Gap missing) throws IOException {
    if (!missing.inside()) {
      return; // the read begins later, as every other one does now
    }
    gap = true;
    io.say(command, (log == null ? "" : log + ": ") + GapException.text(missing));
    if (lines != null) {
      JsonLines line = lines.object().text("type", "gap");
      if (log != null) {
        line.text("log", log.value());
      }
      line.timeIfAny("from", missing.from()).time("to", missing.to());
      if (missing.messages().isPresent()) {
        line.number("messages", missing.messages().getAsLong());
      }
      line.end();
    }
  }

  /** A sink that is watched for whether any message passes. */
  MessageSink watched(MessageSink sink) {
    return message -> {
      passed();
      return sink.accept(message);
    };
  }

  /** A message exists, whether it is printed or not. */
  void passed() {
    passed = true;
  }

  /** Whether there was no message at all. */
  boolean none() {
    return count == 0 && !passed;
  }

  /**
   * At the end.
   *
   * @return the exit code: not 0 if there were messages and none of them exists, since then the
   *     lease server's key is most likely not the store's; nor if messages expired under the read
   */
  int end() {
    if (count > 0 && !passed) {
      String all =
          "no message passed: all %d were left out because of their leases; look at the store's"
              + " keys with cinch verify";
      io.say(command, all.formatted(count));
      return ExitCode.DAMAGE;
    }
    if (count > 1) {
      io.say(command, count + " messages ignored in all");
    }
    return gap ? ExitCode.GAP : ExitCode.GOOD;
  }
}
