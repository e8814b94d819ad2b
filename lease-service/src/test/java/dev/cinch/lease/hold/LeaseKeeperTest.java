package dev.cinch.lease.hold;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.memory.Rig;
import dev.cinch.lease.time.TimeSource;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The thread that plans renewals. */
@Timeout(600)
final class LeaseKeeperTest {
  private static final HoldSettings SETTINGS = new HoldSettings(Rig.LEASE_MS, 10, 200, 500);

  private final Rig rig = new Rig();
  private final CountDownLatch failed = new CountDownLatch(1);

  /** Where the planning thread finds no memory the first time that it looks at the clock. */
  private final TimeSource scarce =
      new TimeSource() {
        @Override
        public long wallNanos() {
          return rig.time.wallNanos();
        }

        @Override
        public long monotonicNanos() {
          if (Thread.currentThread().getName().equals("cinch-lease-keeper")
              && failed.getCount() > 0) {
            failed.countDown();
            throw new OutOfMemoryError("made by a test");
          }
          return rig.time.monotonicNanos();
        }

        @Override
        public void sleepNanos(long nanos) {
          rig.time.sleepNanos(nanos);
        }
      };

  @Test
  void itLivesOnWhenThereIsNoMemoryForAMoment() throws Exception {
    var renewed = new CountDownLatch(1);
    try (var keeper = new LeaseKeeper(scarce)) {
      failed.await();
      var askedAt = HeldLease.Asked.now(rig.time);
      Grant grant = rig.acquire("a");
      keeper.keep(
          new HeldLease(
              rig.service,
              rig.time,
              SETTINGS,
              grant,
              askedAt,
              () -> {
                renewed.countDown();
                return LeaseReport.NOTHING;
              },
              (lease, why) -> {},
              new Random(1)));
      rig.time.advanceMs(4_000);
      renewed.await();
    }
    assertEquals(0, failed.getCount());
  }
}
