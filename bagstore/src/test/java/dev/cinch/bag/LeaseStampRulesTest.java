package dev.cinch.bag;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.audit.AuditStore;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Kind;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.bag.write.PendingReceipt;
import dev.cinch.lease.Altered;
import dev.cinch.lease.Id;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** Rule A5: messages name the leases that they were written under, by reference. */
class LeaseStampRulesTest {
  private final SigningKey key = SigningKey.ofSeed(new byte[32]);

  private SignedWitness witness(Rig rig, String name, long serial) {
    return new WitnessSigner(key)
        .sign(
            Altered.first(
                name,
                "holder",
                new Id(serial, 1),
                rig.time.wallNanos(),
                rig.time.wallNanos() + 60_000_000_000L));
  }

  @Test
  void a5_oneBatchCarriesMessagesOfSeveralSessionsAndEachWitnessStandsOnce() throws Exception {
    Rig rig = Rig.memory(19);
    var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    Log log = rig.open(fs);
    long unused = TrustedKeyFiles.add(log.context().store(), key);
    SignedWitness a = witness(rig, "a", 1);
    SignedWitness b = witness(rig, "b", 2);
    SignedWitness c = witness(rig, "c", 3);
    List<LeaseStamp> stamps =
        List.of(AuditStore.stamp(a), AuditStore.stamp(b, a), AuditStore.stamp(c), LeaseStamp.NONE);
    LogWriter writer = log.writer(Durability.SYNC);
    var writing = new CountDownLatch(1);
    var gathered = new CountDownLatch(1);
    fs.clearTrace();
    fs.beforeFirst(
        op -> op.is(Kind.WRITE, ".log"),
        () -> {
          writing.countDown();
          gathered.await();
        });
    var pending = new ArrayList<PendingReceipt>();
    pending.add(writer.submit(stamps.get(0), new byte[] {0}, 0, 1));
    writing.await();
    for (int round = 0; round < 3; round++) {
      for (int i = 0; i < stamps.size(); i++) {
        pending.add(writer.submit(stamps.get(i), new byte[] {(byte) i}, 0, 1));
      }
    }
    gathered.countDown();
    Receipt last = null;
    for (PendingReceipt p : pending) {
      last = assertInstanceOf(Receipt.Committed.class, p.await());
    }
    long batches = fs.trace().stream().filter(op -> op.is(Kind.WRITE, ".log")).count();
    assertEquals(2, batches);
    rig.settle(log);
    var seen = new ArrayList<Integer>();
    log.reader()
        .settled(
            Long.MIN_VALUE,
            Long.MAX_VALUE,
            true,
            m -> {
              int stamp = m.payload()[0];
              assertEquals(stamps.get(stamp).witnesses(), m.leases());
              return seen.add(stamp);
            },
            (m, f, why) -> {});
    assertEquals(13, seen.size());
    var committed = assertInstanceOf(Receipt.Committed.class, last);
    byte[] content =
        rig.disk.content(
            LogLayout.dataFile(log.context().layout().bucket(committed.bucket()), committed.file())
                .path());
    for (SignedWitness w : List.of(a, b, c)) {
      assertEquals(1, occurrences(content, w.bytes()));
    }
    assertTrue(position(content, b.bytes()) > position(content, a.bytes()));
  }

  private static int occurrences(byte[] in, byte[] what) {
    int count = 0;
    for (int i = 0; i + what.length <= in.length; i++) {
      if (matches(in, what, i)) {
        count++;
      }
    }
    return count;
  }

  private static int position(byte[] in, byte[] what) {
    for (int i = 0; i + what.length <= in.length; i++) {
      if (matches(in, what, i)) {
        return i;
      }
    }
    return -1;
  }

  private static boolean matches(byte[] in, byte[] what, int at) {
    for (int i = 0; i < what.length; i++) {
      if (in[at + i] != what[i]) {
        return false;
      }
    }
    return true;
  }
}
