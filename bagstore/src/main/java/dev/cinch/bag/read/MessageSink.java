package dev.cinch.bag.read;

import dev.cinch.bag.model.Message;
import java.io.IOException;

/** Takes messages in order. */
@FunctionalInterface
public interface MessageSink {
  /**
   * Takes the next message.
   *
   * @param message valid during the call only
   * @return whether to go on
   */
  boolean accept(Message message) throws IOException;
}
