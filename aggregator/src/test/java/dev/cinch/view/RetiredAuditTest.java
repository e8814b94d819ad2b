package dev.cinch.view;

import static dev.cinch.view.Retiring.HOUR;
import static dev.cinch.view.Retiring.open;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.Rig;
import dev.cinch.bag.Store;
import dev.cinch.bag.audit.AuditReport;
import dev.cinch.bag.audit.AuditStore;
import dev.cinch.bag.audit.LeaseAuditor;
import dev.cinch.bag.audit.LeaseAuditorTest;
import dev.cinch.bag.audit.Violation;
import dev.cinch.bag.file.Evidence;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.storage.posix.PosixStore;
import dev.cinch.lease.Altered;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Section 8, of retired time: in every case of {@link LeaseAuditorTest}, with its handovers, fences
 * and violations, the audit says from segments what it said from buckets.
 */
class RetiredAuditTest extends LeaseAuditorTest {
  @Override
  protected AuditReport audit(AuditStore settled) throws Exception {
    AuditReport before = LeaseAuditor.audit(settled.store);
    settled.clock.sleepNanos(100 * AuditStore.SECOND);
    long retired = 0;
    for (LogName name : settled.store.logs()) {
      Log log = settled.store.log(name);
      assertTrue(new Aggregator(log).run().lastSegment() <= 1);
      retired += new Retention(log, Duration.ofSeconds(1)).run().buckets();
    }
    assertTrue(retired > 0);
    AuditReport after = LeaseAuditor.audit(settled.store);
    assertEquals(withoutPlaces(before), withoutPlaces(after));
    assertEquals(problems(before), problems(after));
    for (Violation v : after.violations()) {
      assertTrue(v.path().toString().contains("/segments/"), v::toString);
      assertTrue(v.offset() > SegmentHeader.BYTES, v::toString);
    }
    return before;
  }

  private static AuditReport withoutPlaces(AuditReport r) {
    return Altered.with(r, "violations", List.of());
  }

  private static List<String> problems(AuditReport r) {
    return r.violations().stream().map(v -> v.rule() + ": " + v.problem()).toList();
  }

  /** What an audit gets to see. */
  private static final class Seen implements Evidence.Sink {
    final List<String> lines = new ArrayList<>();
    final List<Path> damaged = new ArrayList<>();

    @Override
    public void message(Evidence m, long settledBefore) {
      lines.add(settledBefore + " " + Lines.line(m));
    }

    @Override
    public void damaged(DamagedException e) {
      damaged.add(e.path().path());
    }
  }

  private static Seen seen(Log log) throws IOException {
    var seen = new Seen();
    log.reader().evidence(seen);
    return seen;
  }

  /** Three records, of which the first segment covers two. */
  private static Rig rig(long seed) throws Exception {
    Rig rig = Rig.memory(seed);
    for (int i = 0; i < 3; i++) {
      Lines.write(rig, 5, 5);
    }
    var limits = new Aggregator.Limits(2, Long.MAX_VALUE);
    assertEquals(2, new Aggregator(open(rig), limits).run().published());
    rig.time.advanceMs(7_200_000);
    return rig;
  }

  @Test
  void goesOnBehindADamagedSegment() throws Exception {
    Rig rig = rig(22);
    List<String> all = seen(open(rig)).lines;
    assertEquals(3, new Retention(open(rig), HOUR).run().buckets());
    Log log = open(rig);
    Path first = log.context().layout().segment(1).path();
    byte[] good = PosixStore.of(log.context().store().storage()).fresh().readAll(first, 1 << 20);
    for (int at : new int[] {20, good.length / 2, good.length - 1}) {
      byte[] bad = good.clone();
      bad[at] ^= 4;
      try (StoreFile out = rig.disk.view(0).overwrite(first)) {
        out.write(ByteBuffer.wrap(bad));
      }
      Seen seen = seen(log);
      assertEquals(List.of(first), seen.damaged, "byte " + at);
      assertTrue(seen.lines.containsAll(all.subList(10, 15)));
      AuditReport report =
          LeaseAuditor.audit(Store.open(rig.root, rig.environment(rig.disk.view(0), rig.time)));
      assertEquals(1, report.violationCount());
      assertEquals(Violation.Rule.DAMAGE, report.violations().get(0).rule());
    }
  }

  /** What it settles can't be told, and the records beside it are looked at all the same. */
  @Test
  void goesOnBehindADamagedRecord() throws Exception {
    for (long damaged = 1; damaged <= 2; damaged++) { // nobody knows how far it is without the last
      Rig rig = rig(26);
      Log log = open(rig);
      List<String> all = seen(log).lines;
      assertEquals(15, all.size());
      Path record = log.context().layout().record(damaged).path();
      byte[] bad = PosixStore.of(log.context().store().storage()).fresh().readAll(record, 1 << 20);
      bad[bad.length / 2] ^= 4;
      try (StoreFile out = rig.disk.view(0).overwrite(record)) {
        out.write(ByteBuffer.wrap(bad));
      }
      Seen seen = seen(open(rig));
      assertEquals(List.of(record), seen.damaged);
      List<String> rest = new ArrayList<>(all);
      rest.subList(5 * (int) (damaged - 1), 5 * (int) damaged).clear();
      assertEquals(rest, seen.lines);
    }
  }
}
