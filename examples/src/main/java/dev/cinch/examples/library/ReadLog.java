package dev.cinch.examples.library;

import dev.cinch.bag.Messages;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.StoredMessage;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;

/** Prints what is settled. Argument: the store. */
public final class ReadLog {
  private ReadLog() {}

  public static void main(String[] args) throws Exception {
    Store store = Store.open(Path.of(args[0]), Store.Environment.ofHost());
    try (Messages messages =
        store.log(new LogName("jobs")).messages(Instant.EPOCH, Instant.now())) {
      while (messages.hasNext()) {
        StoredMessage message = messages.next();
        String text = new String(message.payload(), StandardCharsets.UTF_8);
        System.out.println(message.time() + " " + message.leases() + " " + text);
      }
    }
  }
}
