package dev.cinch.bag;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Kind;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.bag.write.PendingReceipt;
import java.util.ArrayList;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** What an append costs in operations, so that nobody makes it dearer unawares. */
class OperationCountTest {
  private final FaultyFs fs;
  private final LogWriter writer;

  OperationCountTest() throws Exception {
    Rig rig = Rig.memory(5);
    fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    writer = rig.open(fs).writer(Durability.SYNC);
    assertInstanceOf(Receipt.Committed.class, writer.append(new byte[3]));
    fs.clearTrace();
  }

  @Test
  void aLaterMessageAloneTakesSixOperations() throws Exception {
    assertInstanceOf(Receipt.Committed.class, writer.append(new byte[3]));
    assertEquals(
        Map.of(
            Kind.READ_UNCACHED,
            1,
            Kind.GET,
            1,
            Kind.WRITE,
            1,
            Kind.FORCE,
            1,
            Kind.CLOSE,
            1,
            Kind.STATUS,
            1),
        fs.counts());
  }

  @Test
  void aThousandMessagesInABatchTakeAsManyOperationsAsOne() throws Exception {
    // The first write waits until the others have gathered.
    var writing = new CountDownLatch(1);
    var gathered = new CountDownLatch(1);
    fs.beforeFirst(
        op -> op.is(Kind.WRITE, ".log"),
        () -> {
          writing.countDown();
          gathered.await();
        });
    var pending = new ArrayList<PendingReceipt>();
    pending.add(writer.submit(LeaseStamp.NONE, new byte[20], 0, 20));
    writing.await();
    for (int i = 0; i < 1_000; i++) {
      pending.add(writer.submit(LeaseStamp.NONE, new byte[20], 0, 20));
    }
    gathered.countDown();
    for (PendingReceipt p : pending) {
      assertInstanceOf(Receipt.Committed.class, p.await());
    }
    assertEquals(6 + 6, fs.trace().size());
  }
}
