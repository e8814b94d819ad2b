package dev.cinch.bag.threads;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.model.Receipt;
import dev.cinch.lease.Share;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Some hundred worlds of several threads in one process. {@code -Dcinch.threads.runs=N} makes it
 * more, {@code -Dcinch.threads.from=SEED} others, {@code -Dcinch.threads.runs=1} with it one alone.
 * A world that hangs ends itself, with what its threads are doing.
 */
@Timeout(value = 1, unit = TimeUnit.DAYS)
class ThreadsTest {
  private static final long RUNS = Long.getLong("cinch.threads.runs", Share.of(300, 60));
  private static final long FROM = Long.getLong("cinch.threads.from", Share.from());

  private interface Maker {
    World make(long seed) throws Exception;
  }

  @Test
  @Tag("share")
  void threadsOfOneWriterDoEachOtherNoHarm() throws Exception {
    run(WriterWorld::new);
  }

  @Test
  @Tag("share")
  void threadsOfOneSessionDoEachOtherNoHarm() throws Exception {
    run(SessionWorld::new);
  }

  private static void run(Maker maker) throws Exception {
    int committed = 0;
    int rejected = 0;
    int unknown = 0;
    for (long seed = FROM; seed < FROM + RUNS; seed++) {
      World world = maker.make(seed);
      world.run();
      committed += world.told.count(Receipt.Committed.class);
      rejected += world.told.count(Receipt.Rejected.class);
      unknown += world.told.count(Told.Fate.UNKNOWN);
    }
    if (RUNS >= 60 && FROM == 1) {
      String told = "%d committed, %d rejected, %d unknown".formatted(committed, rejected, unknown);
      assertTrue(committed > RUNS && rejected > RUNS / 10 && unknown > 0, "all happen: " + told);
    }
  }
}
