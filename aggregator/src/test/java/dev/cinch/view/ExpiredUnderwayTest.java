package dev.cinch.view;

import static dev.cinch.view.Retiring.HOUR;
import static dev.cinch.view.Retiring.aggregate;
import static dev.cinch.view.Retiring.open;
import static dev.cinch.view.Retiring.rig;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.Rig;
import dev.cinch.bag.Store;
import dev.cinch.bag.audit.Finding.Severity;
import dev.cinch.bag.audit.LeaseAuditor;
import dev.cinch.bag.audit.StoreVerifier;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.StaleListFs;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.read.ExpiredException;
import dev.cinch.bag.read.LogReader;
import dev.cinch.bag.read.MessageSink;
import dev.cinch.lease.Share;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Messages that expire while somebody works on the log: nobody calls it damage (rule R4). */
class ExpiredUnderwayTest {
  private static final int MESSAGES = 5;

  private interface Work {
    void on(Rig rig, StoreFs fs) throws Exception;
  }

  /** Three segments behind a checkpoint, a fourth that is not, and a record that is in none. */
  private static Rig store(long seed) throws Exception {
    Rig rig = rig(seed, 3);
    aggregate(rig);
    rig.time.advanceMs(7_200_000);
    new Retention(open(rig), HOUR).run();
    Lines.write(rig, MESSAGES, 5);
    aggregate(rig);
    Lines.write(rig, MESSAGES, 5);
    return rig;
  }

  /** Before each operation of the work, in a store of its own, messages expire. */
  private static void beside(boolean retireToo, Work work) throws Exception {
    boolean fired = true;
    int k = 0;
    while (fired) {
      k += Share.step(13);
      Rig rig = store(k);
      var faulty = new FaultyFs(rig.disk.view(Rig.ALICE));
      int[] left = {k};
      faulty.before(
          op -> {
            if (--left[0] == 0) {
              expire(rig, retireToo);
            }
          });
      work.on(rig, faulty);
      fired = left[0] <= 0;
    }
    assertTrue(k > 10, "operations: " + k);
  }

  private static void expire(Rig rig, boolean retireToo) {
    try {
      Log log = open(rig);
      if (retireToo) {
        var limits = new Aggregator.Limits(1, Long.MAX_VALUE);
        assertTrue(new Aggregator(log, limits).run().lastSegment() >= 5);
        rig.time.advanceMs(7_200_000);
        new Retention(log, HOUR).run();
      }
      assertTrue(new Expiry(log, HOUR).run(path -> {}).before() > Lines.MIN);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  /** On NFS a file that is deleted while it is open gives an error of its own. */
  @Test
  void aCloserPassesByASegmentThatGoesWhileItIsOpen() throws Exception {
    Rig rig = store(1);
    var faulty = new FaultyFs(rig.disk.view(Rig.ALICE));
    Log log = rig.open(faulty);
    Path segments = log.context().layout().segments().path();
    faulty.arm(
        1,
        FaultyFs.Fault.ERROR_BEFORE,
        op -> op.kind() == FaultyFs.Kind.GET && op.path().startsWith(segments));
    rig.time.advanceMs(60_000);
    long reachable = log.horizon().reachable();
    assertEquals(reachable, log.horizon().advance(reachable, OptionalLong.empty()).record().to());
    assertTrue(faulty.fired());
  }

  private static List<String> damage(Rig rig, StoreFs fs) throws IOException {
    var found = new ArrayList<String>();
    StoreVerifier.verify(
        rig.root,
        rig.environment(fs, rig.time),
        f -> {
          if (f.severity() == Severity.DAMAGE) {
            found.add(f.toString());
          }
        });
    return found;
  }

  @Test
  @Tag("share")
  void verifyFindsNoDamage() throws Exception {
    for (boolean retireToo : new boolean[] {false, true}) {
      beside(retireToo, (rig, fs) -> assertEquals(List.of(), damage(rig, fs)));
    }
  }

  /** Those were listed when there was neither a checkpoint nor a floor. */
  @Test
  void verifyFindsNoDamageWhereTheFirstCheckpointComesMeanwhile() throws Exception {
    boolean fired = true;
    for (int k = 1; fired; k++) {
      Rig rig = rig(k, 3);
      aggregate(rig);
      rig.time.advanceMs(7_200_000);
      Lines.write(rig, MESSAGES, 5);
      var faulty = new FaultyFs(rig.disk.view(Rig.ALICE));
      int[] left = {k};
      faulty.before(
          op -> {
            if (--left[0] == 0) {
              retireAndExpire(rig);
            }
          });
      assertEquals(List.of(), damage(rig, faulty), "before operation " + k);
      fired = left[0] <= 0;
    }
  }

  private static void retireAndExpire(Rig rig) {
    try {
      new Retention(open(rig), HOUR).run();
      assertTrue(new Expiry(open(rig), HOUR).run(path -> {}).before() > Lines.MIN);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  @Tag("share")
  void auditFindsNoViolation() throws Exception {
    for (boolean retireToo : new boolean[] {false, true}) {
      beside(
          retireToo,
          (rig, fs) -> {
            Store store = Store.open(rig.root, rig.environment(fs, rig.time));
            assertEquals(List.of(), LeaseAuditor.audit(store).violations());
          });
    }
  }

  private interface Read {
    long run(long from, long to, MessageSink sink, LogReader.Objection objection)
        throws IOException;
  }

  /**
   * Reads from the beginning, and checks that what it gives is a part of the log.
   *
   * @return the end of the log, also where the read is told that it expired, and from when on to
   *     read
   */
  private static List<String> read(List<String> all, Read read) throws IOException {
    var lines = new ArrayList<String>();
    MessageSink sink = m -> lines.add(Lines.line(m));
    try {
      long unused = read.run(Lines.MIN, Lines.MAX, sink, (m, file, why) -> {});
    } catch (ExpiredException e) {
      int at = all.indexOf(lines.get(0));
      assertEquals(all.subList(at, at + lines.size()), lines);
      lines.clear();
      long unused = read.run(e.before(), Lines.MAX, sink, (m, file, why) -> {});
    }
    assertEquals(all.subList(all.size() - lines.size(), all.size()), lines);
    return lines;
  }

  /** What a reader was given is a part of the log from somewhere on, and what is kept is in it. */
  @Test
  @Tag("share")
  void readersGiveWhatIsKept() throws Exception {
    for (boolean retireToo : new boolean[] {false, true}) {
      beside(
          retireToo,
          (rig, fs) -> {
            List<String> all = Lines.settled(open(rig));
            LogReader reader = rig.open(fs).reader();
            List<String> settled = read(all, reader::settled);
            List<String> live = read(all, reader::live);
            List<String> kept = Lines.settled(open(rig));
            for (List<String> read : List.of(settled, live)) {
              assertTrue(read.containsAll(kept), read.toString());
            }
          });
    }
  }

  @Test
  @Tag("share")
  void segmentsAreBuiltAndBucketsRetired() throws Exception {
    for (boolean retireToo : new boolean[] {false, true}) {
      beside(
          retireToo,
          (rig, fs) -> {
            Log log = rig.open(fs);
            var limits = new Aggregator.Limits(1, Long.MAX_VALUE);
            assertTrue(new Aggregator(log, limits).run().lastSegment() >= 5);
            rig.time.advanceMs(7_200_000);
            new Retention(log, HOUR).run();
            new Expiry(log, HOUR).run(path -> {});
            assertEquals(MESSAGES, Lines.settled(open(rig)).size());
            assertEquals(List.of(), damage(rig, rig.disk.view(Rig.ALICE)));
          });
    }
  }

  /** Who may not look past caches waits until they have expired, and sees the floor then. */
  @Test
  void n2_oldListingsAreNoDamage() throws Exception {
    Rig rig = store(1);
    var fs = new StaleListFs(rig.disk.view(Rig.BOB));
    Log log = rig.open(fs);
    assertTrue(fs.list(log.context().layout().checkpoints().path()).size() > 0);
    assertTrue(fs.list(log.context().layout().segments().path()).size() > 0);
    expire(rig, false);
    assertEquals(Lines.settled(open(rig)), Lines.settled(log));
    assertEquals(List.of(), damage(rig, fs));
  }

  /** Neither goes a segment before its floor lasts, nor is there a floor before its checkpoint. */
  @Test
  void r4_namesLastBeforeWhatRestsOnThem() throws Exception {
    int taken = 0;
    for (int k = 1; taken < 3; k++) {
      Rig rig = store(k);
      var first = new FaultyFs(rig.disk.view(Rig.ALICE));
      Log stopped = rig.open(first);
      first.arm(k, FaultyFs.Fault.CRASH_AFTER);
      try {
        new Expiry(stopped, HOUR).run(path -> {});
      } catch (FaultyFs.Crash e) {
        // Its floor is there, or not.
      }
      assertTrue(first.fired(), "operation " + k);
      taken += Lines.MIN < open(rig).reader().expired() ? 1 : 0;
      var faulty = new FaultyFs(rig.disk.view(Rig.ALICE));
      Log log = rig.open(faulty);
      boolean[] forced = {false};
      faulty.before(
          op -> {
            Path in = op.path().getParent();
            String name = String.valueOf(op.path().getFileName());
            boolean goes =
                op.kind() == FaultyFs.Kind.UNLINK
                    && log.context().layout().segments().path().equals(in)
                    && !name.startsWith("tmp-");
            boolean comes = op.kind() == FaultyFs.Kind.LINK && name.startsWith("floor-");
            assertTrue(forced[0] || (!goes && !comes), "" + op);
            forced[0] |=
                op.kind() == FaultyFs.Kind.FORCE_DIRECTORY
                    && op.path().equals(log.context().layout().checkpoints().path());
          });
      new Expiry(log, HOUR).run(path -> {});
    }
  }
}
