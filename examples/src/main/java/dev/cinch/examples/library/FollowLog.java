package dev.cinch.examples.library;

import dev.cinch.bag.Messages;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.StoredMessage;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;

/** Prints what is settled and then what becomes settled, until a message says "end". */
public final class FollowLog {
  private FollowLog() {}

  public static void main(String[] args) throws Exception {
    Store store = Store.open(Path.of(args[0]), Store.Environment.ofHost());
    try (Messages messages = store.log(new LogName("jobs")).follow(Instant.EPOCH)) {
      while (messages.hasNext()) { // waits
        StoredMessage message = messages.next();
        String text = new String(message.payload(), StandardCharsets.UTF_8);
        System.out.println(message.time() + " " + text);
        if (text.equals("end")) {
          break;
        }
      }
    }
  }
}
