package dev.cinch.cli.read;

import dev.cinch.bag.model.Message;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.read.LogReader;
import dev.cinch.bag.read.MessageSink;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Io;

/**
 * Tells of messages that are not printed, since they do not exist: no valid lease permits them
 * (rule F3). Of the first one by name, and of how many there were, since there may be millions.
 */
final class IgnoredMessages implements LogReader.Objection {
  private final Io io;
  private final String command;
  private long count;
  private boolean passed;

  IgnoredMessages(Io io, String command) {
    this.io = io;
    this.command = command;
  }

  @Override
  public void ignored(Message message, Name file, String why) {
    if (count++ == 0) {
      io.say(command, "ignored message %d of %s: %s".formatted(message.position(), file, why));
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
   *     lease server's key is most likely not the store's
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
    return ExitCode.GOOD;
  }
}
