package dev.cinch.bag;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import dev.cinch.bag.fs.ClockedFs;
import dev.cinch.bag.fs.PosixFs;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.bag.write.PendingReceipt;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Append, close and read on the real filesystem. */
class ThinPathTest {
  @TempDir Path temp;

  @Test
  void appendedMessagesAreReadInOrderOnceSettled() throws Exception {
    Rig rig = Rig.at(temp.resolve("store"), 1);
    Log log = rig.make(new ClockedFs(new PosixFs(null, null), rig.time), StoreSettings.DEFAULT);
    var expected = new ArrayList<String>();
    try (LogWriter a = log.writer(Durability.CLOSE);
        LogWriter b = log.writer(Durability.SYNC)) {
      for (int i = 0; i < 50; i++) {
        byte[] text = ("line " + i).getBytes(StandardCharsets.UTF_8);
        Receipt r = (i % 2 == 0 ? a : b).append(text);
        assertInstanceOf(Receipt.Committed.class, r);
        expected.add("line " + i);
      }
      var pending = new ArrayList<PendingReceipt>();
      for (int i = 50; i < 5000; i++) {
        byte[] text = ("line " + i).getBytes(StandardCharsets.UTF_8);
        pending.add(a.submit(LeaseStamp.NONE, text, 0, text.length));
        expected.add("line " + i);
      }
      for (PendingReceipt p : pending) {
        assertInstanceOf(Receipt.Committed.class, p.await());
      }
    }
    assertEquals(expected, read(log, true));
    assertEquals(List.of(), read(log, false));
    rig.settle(log);
    assertEquals(expected, read(log, false));
  }

  private static List<String> read(Log log, boolean live) throws Exception {
    var texts = new ArrayList<String>();
    if (live) {
      log.reader()
          .live(
              Long.MIN_VALUE,
              Long.MAX_VALUE,
              m -> texts.add(new String(m.payload(), StandardCharsets.UTF_8)),
              (m, f, why) -> {});
    } else {
      log.reader()
          .settled(
              Long.MIN_VALUE,
              Long.MAX_VALUE,
              true,
              m -> texts.add(new String(m.payload(), StandardCharsets.UTF_8)),
              (m, f, why) -> {});
    }
    return texts;
  }
}
