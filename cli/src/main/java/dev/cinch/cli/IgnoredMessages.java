package dev.cinch.cli;

import dev.cinch.bag.read.LogReader;
import dev.cinch.bag.read.Message;
import java.nio.file.Path;

/**
 * Tells of messages that do not exist because no valid lease permits them (rule F3): of the first
 * one by name, and of how many there were, since there may be millions.
 */
final class IgnoredMessages implements LogReader.Objection {
  private final Io io;
  private final String command;
  private long count;

  IgnoredMessages(Io io, String command) {
    this.io = io;
    this.command = command;
  }

  @Override
  public void ignored(Message message, Path file, String why) {
    if (count++ == 0) {
      Commands.say(
          io, command, "ignored message %d of %s: %s".formatted(message.position(), file, why));
    }
  }

  /** At the end. */
  void end() {
    if (count > 1) {
      Commands.say(io, command, count + " messages ignored in all");
    }
  }
}
