package dev.cinch.bag.write;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import dev.cinch.bag.Log;
import dev.cinch.bag.Rig;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.storage.object.FakeObjects;
import dev.cinch.bag.storage.object.Objects;
import dev.cinch.bag.storage.object.PassingObjects;
import dev.cinch.bag.storage.object.UnansweredException;
import dev.cinch.lease.time.ManualTime;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.AccessDeniedException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/**
 * Rule O5: where a storage lets several batches be on their way, each goes to a file of its own.
 */
class SeveralAtOnceTest {
  /** Two of them are too much for a batch. */
  private static final byte[] LARGE = new byte[700_000];

  private static final int AT_ONCE = 3;

  private final ManualTime time = ManualTime.ticking();
  private final CountDownLatch met = new CountDownLatch(AT_ONCE);
  private boolean meets;

  /** Batches wait for each other before they arrive. */
  private final class Meeting extends PassingObjects {
    Meeting(Objects inner) {
      super(inner);
    }

    @Override
    public boolean put(String key, ByteBuffer... body) throws IOException {
      if (meets && key.contains(".log/")) {
        met.countDown();
        try {
          if (!met.await(1, TimeUnit.MINUTES)) {
            throw new IOException("nobody comes");
          }
        } catch (InterruptedException e) {
          throw new UnansweredException("interrupted", e);
        }
      }
      return super.put(key, body);
    }
  }

  private static Set<Object> files(List<PendingReceipt> pending) {
    var files = new HashSet<>();
    for (PendingReceipt receipt : pending) {
      files.add(assertInstanceOf(Receipt.Committed.class, receipt.await()).file());
    }
    return files;
  }

  private List<PendingReceipt> submit(LogWriter writer, int count) throws Exception {
    var pending = new ArrayList<PendingReceipt>();
    for (int i = 0; i < count; i++) {
      pending.add(writer.submit(LeaseStamp.NONE, LARGE, 0, LARGE.length));
    }
    return pending;
  }

  @Test
  void fullBatchesAreOnTheirWayAtOnce() throws Exception {
    meets = true;
    Log log =
        Rig.open(Rig.objects(new FakeObjects(time), Meeting::new, time), time, "a")
            .createLog(Rig.JOBS);
    try (LogWriter writer = log.writer(Durability.SYNC)) {
      // One that may still grow goes alone.
      assertEquals(AT_ONCE, files(submit(writer, AT_ONCE + 1)).size());
    }
    var timestamps = new ArrayList<Long>();
    log.reader()
        .live(Long.MIN_VALUE, Long.MAX_VALUE, m -> timestamps.add(m.timestamp()), (m, f, w) -> {});
    assertEquals(AT_ONCE + 1, new HashSet<>(timestamps).size());
    assertEquals(timestamps.stream().sorted().toList(), timestamps);
  }

  /** Each is in the log only if the one before is, so it is not begun while that is on its way. */
  @Test
  void whatFollowsAnotherMessageWaitsForIt() throws Exception {
    meets = true;
    Log log =
        Rig.open(Rig.objects(new FakeObjects(time), Meeting::new, time), time, "a")
            .createLog(Rig.JOBS);
    try (LogWriter writer = log.writer(Durability.SYNC)) {
      var chain = new ArrayList<PendingReceipt>();
      for (int i = 0; i < AT_ONCE + 1; i++) {
        PendingReceipt last = i == 0 ? null : chain.get(i - 1);
        chain.add(writer.submit(LeaseStamp.NONE, LARGE, 0, LARGE.length, true, last));
      }
      while (met.getCount() > 0) {
        met.countDown(); // the first one alone has come
      }
      assertEquals(1, files(chain).size());
    }
  }

  @Test
  void onAFilesystemOneFollowsTheOther() throws Exception {
    Rig rig = Rig.memory(1);
    try (LogWriter writer = rig.open(rig.disk.view(Rig.ALICE)).writer(Durability.SYNC)) {
      assertEquals(1, files(submit(writer, AT_ONCE + 1)).size());
    }
  }

  /** Nobody has to wait for the verdict of a bucket in which nothing was put. */
  @Test
  void whatWasRefusedIsRejectedAtOnce() throws Exception {
    var allowed = new AtomicBoolean(true);
    Log log =
        Rig.open(
                Rig.objects(
                    new FakeObjects(time),
                    inner ->
                        new PassingObjects(inner) {
                          @Override
                          public boolean put(String key, ByteBuffer... body) throws IOException {
                            if (key.contains(".log/") && !allowed.get()) {
                              throw new AccessDeniedException(null, null, "no right to put");
                            }
                            return super.put(key, body);
                          }
                        },
                    time),
                time,
                "a")
            .createLog(Rig.JOBS);
    try (LogWriter writer = log.writer(Durability.SYNC)) {
      for (boolean may : List.of(false, true, false, true)) {
        allowed.set(may);
        Receipt receipt = writer.append(new byte[] {1});
        if (may) {
          assertInstanceOf(Receipt.Committed.class, receipt);
        } else {
          assertEquals(
              "no right to put", assertInstanceOf(Receipt.Rejected.class, receipt).reason());
        }
      }
    }
  }
}
