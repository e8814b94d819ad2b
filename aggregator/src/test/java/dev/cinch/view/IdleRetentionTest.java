package dev.cinch.view;

import static dev.cinch.view.Retiring.files;
import static dev.cinch.view.Retiring.open;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.Rig;
import dev.cinch.bag.audit.StoreVerifier;
import dev.cinch.bag.close.HorizonAdvance;
import dev.cinch.bag.close.IdleLog;
import dev.cinch.bag.storage.posix.PosixStore;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** A log to which nobody appends stays small (rules H9 and R2). */
class IdleRetentionTest {
  private static final Duration MONTH = Duration.ofDays(30);
  private static final long MINUTE = 60_000;

  /** Closes each ten minutes, and builds and retires each four hours, as cron would. */
  private static void days(Rig rig, int days) throws Exception {
    Log log = open(rig);
    var idle = new IdleLog(log.context());
    HorizonAdvance horizon = log.horizon();
    for (int i = 1; i <= days * 144; i++) {
      rig.time.advanceMs(10 * MINUTE);
      long to = horizon.reachable();
      if (idle.isDue(to)) {
        horizon.advance(to, OptionalLong.empty());
      }
      if (i % 24 == 0) {
        Aggregator.Result unused = new Aggregator(log).run(Duration.ofDays(1));
        new Retention(log, MONTH).run();
      }
    }
  }

  private static List<Path> records(Log log) throws IOException {
    return named(files(log, log.context().layout().records().path()));
  }

  private static List<Path> segments(Log log) throws IOException {
    return named(files(log, log.context().layout().segments().path()));
  }

  /** Without seals. */
  private static List<Path> named(List<Path> files) {
    return files.stream().filter(f -> f.getFileName().toString().length() == 10).toList();
  }

  @Test
  void r2_recordsOfIdleTimeGoWithoutWaitingForTheRetentionTime() throws Exception {
    Rig rig = Rig.memory(41);
    days(rig, 40);
    Log log = open(rig);
    int most = Aggregator.EMPTY_RECORDS + 48;
    assertTrue(records(log).size() <= most, records(log).size() + " records");
    int segments = segments(log).size();
    assertTrue(segments >= 10 && segments <= 40 * 48 / Aggregator.EMPTY_RECORDS + 1, segments + "");
    assertTrue(
        StoreVerifier.verify(
                rig.root,
                rig.environment(PosixStore.of(log.context().store().storage()).fs(), rig.time),
                f -> {})
            .intact());
  }

  /** What was written before waits for its time, and what was idle since waits behind it. */
  @Test
  void r2_messagesStayForTheRetentionTimeAndThenTheIdleTimeGoesToo() throws Exception {
    Rig rig = Rig.memory(42);
    Lines.write(rig, 5, 5);
    Log log = open(rig);
    days(rig, 20);
    assertEquals(
        1,
        files(log, log.context().layout().buckets().path()).stream()
            .filter(f -> f.endsWith("lock"))
            .count());
    assertTrue(records(log).size() > 15 * 48);
    days(rig, 20);
    assertEquals(List.of(), files(log, log.context().layout().buckets().path()));
    int most = Aggregator.EMPTY_RECORDS + 48;
    assertTrue(records(log).size() <= most, records(log).size() + " records");
    assertEquals(5, Lines.settled(log).size());
  }
}
