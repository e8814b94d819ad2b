package dev.cinch.view;

import static dev.cinch.view.Retiring.aggregate;
import static dev.cinch.view.Retiring.open;
import static dev.cinch.view.Retiring.rig;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.Rig;
import dev.cinch.bag.Store;
import dev.cinch.bag.audit.AuditReport;
import dev.cinch.bag.audit.Finding;
import dev.cinch.bag.audit.Finding.Severity;
import dev.cinch.bag.audit.LeaseAuditor;
import dev.cinch.bag.audit.StoreVerifier;
import dev.cinch.bag.audit.VerifyListener;
import dev.cinch.bag.audit.VerifySummary;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.OldListingFs;
import dev.cinch.bag.fs.StaleListFs;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.storage.posix.PosixStore;
import dev.cinch.lease.Share;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A store in use, where verify and audit run beside closing and retirement, is not damaged. */
class CheckedUnderwayTest {
  private static final int STEP = Share.step(5);

  /** What is run on the store. */
  private interface Check {
    void of(Rig rig, FaultyFs fs) throws Exception;
  }

  /** Partly retired, partly settled, partly open. */
  private static Rig store(long seed) throws Exception {
    Rig rig = rig(seed, 4);
    aggregate(rig);
    assertEquals(4, new Retention(open(rig), Duration.ZERO).run().buckets());
    Lines.write(rig, 5, 5);
    Lines.write(rig, 5, 5);
    Lines.append(open(rig).writer(Durability.SYNC), "open");
    return rig;
  }

  /** Before each operation of the check, in a store of its own, all is settled and retired. */
  private static int beside(Check check) throws Exception {
    boolean fired = true;
    int k = 0;
    while (fired) {
      k += STEP;
      Rig rig = store(k);
      var faulty = new FaultyFs(rig.disk.view(Rig.ALICE));
      int[] left = {k};
      faulty.before(
          op -> {
            if (--left[0] == 0) {
              retire(rig);
            }
          });
      check.of(rig, faulty);
      fired = left[0] <= 0;
    }
    return k - STEP;
  }

  private static void retire(Rig rig) throws IOException {
    try {
      Log log = open(rig);
      rig.settle(log);
      aggregate(rig);
      assertEquals(3, new Retention(log, Duration.ZERO).run().buckets());
      rig.time.advanceMs(Duration.ofDays(3).toMillis());
      assertTrue(new Retention(log, Duration.ZERO).run().stale() > 0);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** What is gone is looked at where it went. */
  @Test
  @Tag("share")
  void verifyTakesNothingForDamageThatIsRetiredUnderIt() throws Exception {
    int[] followed = {0};
    int operations =
        beside(
            (rig, fs) -> {
              var seen = new Seen();
              long unused =
                  StoreVerifier.verify(rig.root, rig.environment(fs, rig.time), seen).files();
              assertEquals(List.of(), seen.damage);
              followed[0] +=
                  seen.files.contains(open(rig).context().layout().segment(7).path()) ? 1 : 0;
            });
    assertTrue(operations > 80, "operations: " + operations);
    // Segments are listed, and then compared with what they were made of, last of all.
    assertTrue(
        followed[0] * STEP > operations - 32 - 2 * (STEP - 1), followed[0] + " of " + operations);
  }

  /** What some segments were made of goes, while those behind them stay. */
  @Test
  void verifyTakesNothingForDamageThatIsRetiredBelowLaterSegments() throws Exception {
    int operations = 1;
    for (int at = 0; at < operations; at++) {
      Rig rig = Rig.memory(31);
      for (int i = 0; i < 3; i++) {
        Lines.write(rig, 2, 2);
        new Aggregator(open(rig), new Aggregator.Limits(1, Long.MAX_VALUE)).run();
        rig.time.advanceMs(i == 0 ? 7_200_000 : 0);
      }
      var fs = new FaultyFs(rig.disk.view(Rig.BOB));
      int when = at;
      int[] done = {0};
      fs.before(
          op -> {
            if (done[0]++ == when) {
              assertTrue(new Retention(open(rig), Duration.ofHours(1)).run().buckets() > 0);
            }
          });
      var seen = new Seen();
      long unused = StoreVerifier.verify(rig.root, rig.environment(fs, rig.time), seen).files();
      assertEquals(List.of(), seen.damage, "at operation " + at);
      operations = Math.max(operations, done[0]);
    }
  }

  /** What its cache lists may be from before, and of one directory older than of another. */
  @Test
  void n2_verifyLooksPastCachesBeforeItCallsSomethingDamaged() throws Exception {
    LogLayout layout = open(rig(1, 1)).context().layout();
    var listed =
        List.of(layout.checkpoints(), layout.segments(), layout.records(), layout.recordGroup(0));
    for (int known = 0; known < 1 << listed.size(); known++) {
      Rig rig = store(1);
      var fs = new StaleListFs(rig.disk.view(Rig.BOB));
      for (int i = 0; i < listed.size(); i++) {
        if ((known & 1 << i) != 0) {
          assertFalse(fs.list(listed.get(i).path()).isEmpty());
        }
      }
      retire(rig);
      var seen = new Seen();
      long unused = StoreVerifier.verify(rig.root, rig.environment(fs, rig.time), seen).files();
      assertEquals(List.of(), seen.damage, "of listings " + known);
    }
  }

  /** An old listing lacks the last records of one group, and another has those of the next. */
  @Test
  void n2_verifyFindsTheRecordsThatAnOldListingLacks() throws Exception {
    Rig rig = rig(1, 1);
    Log log = open(rig);
    LogLayout layout = log.context().layout();
    for (int i = 2; i < 998; i++) {
      rig.settle(log);
    }
    var fs = new StaleListFs(rig.disk.view(Rig.BOB));
    int known = fs.list(layout.recordGroup(0).path()).size();
    for (int i = 0; i < 4; i++) {
      rig.settle(log);
    }
    // Each with its seal.
    assertEquals(
        known + 6,
        PosixStore.of(log.context().store().storage())
            .fs()
            .list(layout.recordGroup(0).path())
            .size());
    var seen = new Seen();
    VerifySummary summary = StoreVerifier.verify(rig.root, rig.environment(fs, rig.time), seen);
    assertEquals(List.of(), seen.damage);
    assertEquals(1001, summary.records());
    assertTrue(seen.files.contains(layout.record(999).path()));
  }

  /** A listing of many pieces began before two segments were published, and ended after. */
  @Test
  void n2_verifyFindsTheSegmentThatALongListingLacks() throws Exception {
    Rig rig = store(1);
    LogLayout layout = open(rig).context().layout();
    var listed = new ArrayList<>(rig.disk.view(Rig.BOB).list(layout.segments().path()));
    assertEquals(4, listed.size());
    String lacking = layout.segment(2).last();
    assertTrue(listed.removeIf(name -> name.startsWith(lacking)));
    var fs = new OldListingFs(rig.disk.view(Rig.BOB), layout.segments().path(), listed);
    var seen = new Seen();
    long unused = StoreVerifier.verify(rig.root, rig.environment(fs, rig.time), seen).files();
    assertEquals(List.of(), seen.damage);
    assertTrue(seen.files.contains(layout.segment(2).path()));
    rig.disk.view(0).unlink(layout.segment(2).path());
    var lost = new Seen();
    unused = StoreVerifier.verify(rig.root, rig.environment(fs, rig.time), lost).files();
    assertFalse(lost.damage.isEmpty());
  }

  /** It has no message; who appends to it makes it whole. */
  @Test
  void verifyTakesALogThatIsBeingMadeForWhatItIs() throws Exception {
    Rig rig = rig(1, 1);
    LogLayout layout = new StoreLayout(rig.root).log(new LogName("new"));
    for (Name directory : List.of(layout.root(), layout.horizon(), layout.records())) {
      rig.disk.view(Rig.ALICE).mkdir(directory.path(), 02775);
      var seen = new Seen();
      VerifySummary summary =
          StoreVerifier.verify(rig.root, rig.environment(rig.disk.view(Rig.BOB), rig.time), seen);
      assertEquals(List.of(), seen.damage);
      assertEquals(1, summary.notes());
      assertEquals(1, summary.logs());
    }
  }

  /** However often it looks whether something was retired. */
  @Test
  void verifyTellsADamagedSegmentOnce() throws Exception {
    Rig rig = rig(1, 4);
    aggregate(rig);
    assertEquals(4, new Retention(open(rig), Duration.ZERO).run().buckets());
    Lines.write(rig, 5, 5);
    Lines.write(rig, 5, 5);
    LogLayout layout = open(rig).context().layout();
    StoreFs fs = rig.disk.view(0);
    fs.unlink(layout.segment(2).path());
    fs.create(layout.segment(2).path(), 0664).close();
    fs.unlink(layout.record(5).path());
    var seen = new Seen();
    long damage = StoreVerifier.verify(rig.root, rig.environment(fs, rig.time), seen).damage();
    assertEquals(damage, seen.damage.size());
    assertEquals(damage, Set.copyOf(seen.damage).size(), seen.damage.toString());
    assertTrue(damage > 1, seen.damage.toString());
  }

  private static final class Seen implements VerifyListener {
    final List<String> damage = new ArrayList<>();
    final Set<Path> files = new HashSet<>();

    @Override
    public void found(Finding finding) {
      if (finding.severity() == Severity.DAMAGE) {
        damage.add(finding.toString());
      }
    }

    @Override
    public void progress(Name file, VerifySummary soFar) {
      files.add(file.path());
    }
  }

  @Test
  @Tag("share")
  void auditTakesNothingForDamageThatIsRetiredUnderIt() throws Exception {
    int operations =
        beside(
            (rig, fs) -> {
              AuditReport report =
                  LeaseAuditor.audit(Store.open(rig.root, rig.environment(fs, rig.time)));
              assertEquals(List.of(), report.violations());
              assertTrue(report.messages() >= 30, "messages: " + report.messages());
            });
    assertTrue(operations > 80, "operations: " + operations);
  }
}
