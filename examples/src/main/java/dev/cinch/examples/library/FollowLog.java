package dev.cinch.examples.library;

import dev.cinch.bag.Messages;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.StoredMessage;
import dev.cinch.lease.time.SystemTime;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;

/** Prints what is settled and then what becomes settled, until a message says "end". */
public final class FollowLog {
  private FollowLog() {}

  public static void main(String[] args) throws Exception {
    var me = Store.Environment.of(new MachineName("host-1"), SystemTime.INSTANCE);
    Store store = Store.open(Path.of(args[0]), me);
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
