package dev.cinch.view;

import static dev.cinch.view.Retiring.HOUR;
import static dev.cinch.view.Retiring.aggregate;
import static dev.cinch.view.Retiring.open;
import static dev.cinch.view.Retiring.rig;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.LogStatus;
import dev.cinch.bag.LogSurvey;
import dev.cinch.bag.Rig;
import dev.cinch.bag.audit.Finding;
import dev.cinch.bag.audit.StoreVerifier;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.Locks;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.format.HorizonRecord.Sums;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Kind;
import dev.cinch.bag.storage.posix.PosixStore;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a log's last record sums up, and that a look costs no more where more was settled. */
class SurveyTest {
  private static LogStatus look(Rig rig) throws Exception {
    return new LogSurvey(open(rig).context()).look();
  }

  private static int reads(Rig rig) throws Exception {
    var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    Log log = rig.open(fs);
    fs.clearTrace();
    LogStatus unused = new LogSurvey(log.context()).look();
    return fs.counts().getOrDefault(Kind.READ, 0) + fs.counts().getOrDefault(Kind.READ_UNCACHED, 0);
  }

  /** The sums of the locks that stand. */
  private static Sums locks(Rig rig) throws Exception {
    Log log = open(rig);
    Sums sums = Sums.NONE;
    var chain = new HorizonChain(log.context());
    long last = chain.freshTip().orElseThrow().record().number();
    for (long number = 1; number <= last; number++) {
      for (HorizonRecord.ClosedBucket b : chain.read(number).record().buckets()) {
        sums = sums.plus(new Locks(log.context()).readListed(b).sums());
      }
    }
    return sums;
  }

  @Test
  void countsAreTheSameBeforeAndAfterTheirBucketsAreRetiredAndThoseThatExpiredAreNone()
      throws Exception {
    Rig rig = rig(3, 4);
    Sums all = locks(rig);
    assertEquals(Lines.settled(open(rig)).size(), all.messages());
    LogStatus closed = look(rig);
    assertEquals(all.messages(), closed.messages());
    assertEquals(all.bytes(), closed.bytes());
    assertEquals(all.newest(), closed.newest());
    assertEquals(4 + 3 * all.buckets(), closed.entries());
    aggregate(rig);
    LogStatus merged = look(rig);
    assertEquals(closed.settledThrough(), merged.coveredThrough());
    assertEquals(4, merged.segments());
    rig.time.advanceMs(7_200_000);
    new Retention(open(rig), HOUR).run();
    LogStatus retired = look(rig);
    assertEquals(closed.messages(), retired.messages());
    assertEquals(closed.bytes(), retired.bytes());
    assertEquals(closed.newest(), retired.newest());
    assertEquals(closed.settledThrough(), retired.coveredThrough());
    assertEquals(0, retired.entries());
    assertEquals(3, new Expiry(open(rig), HOUR).run(path -> {}).segments());
    LogStatus kept = look(rig);
    assertEquals(Lines.settled(open(rig)).size(), kept.messages());
    assertTrue(kept.bytes() > 0 && kept.bytes() < closed.bytes(), "" + kept.bytes());
    assertEquals(closed.newest(), kept.newest());
    assertEquals(1, kept.segments());
  }

  @Test
  void aLookReadsAsMuchWhereMoreWasSettledRetiredOrExpired() throws Exception {
    var reads = new ArrayList<List<Integer>>();
    for (int records : new int[] {3, 30}) {
      Rig rig = rig(4, records);
      var of = new ArrayList<Integer>();
      of.add(reads(rig));
      aggregate(rig);
      of.add(reads(rig));
      rig.time.advanceMs(7_200_000);
      new Retention(open(rig), HOUR).run();
      of.add(reads(rig));
      assertEquals(records - 1, new Expiry(open(rig), HOUR).run(path -> {}).segments());
      of.add(reads(rig));
      reads.add(of);
    }
    assertEquals(reads.get(0), reads.get(1));
  }

  @Test
  void aCheckpointThatCountsOtherwiseThanItsRecordIsDamage() throws Exception {
    Rig rig = rig(5, 3);
    aggregate(rig);
    new Retention(open(rig), Duration.ZERO).run();
    Log log = open(rig);
    Checkpoint c = new HorizonChain(log.context()).checkpoint().orElseThrow();
    var covered = new ArrayList<>(c.segments());
    Checkpoint.Covered last = covered.get(2);
    covered.set(2, new Checkpoint.Covered(last.digest(), last.messages(), last.bytes() + 1));
    Path path = log.context().layout().checkpoint(c.number()).path();
    rig.disk.view(0).unlink(path);
    PosixStore.of(log.context().store().storage())
        .fresh()
        .publish(
            path,
            new Checkpoint(c.log(), c.number(), c.to(), c.digest(), c.segment(), covered).encode(),
            0664);
    var found = new ArrayList<Path>();
    StoreVerifier.verify(
        rig.root,
        rig.environment(rig.disk.view(Rig.ALICE), rig.time),
        (Finding f) -> found.add(f.path().path()));
    assertEquals(List.of(log.context().layout().record(c.number()).path()), found);
  }

  @Test
  void aRecordAtTheLineIsTheOneThatTheCheckpointNames() throws Exception {
    Rig rig = rig(6, 3);
    aggregate(rig);
    new Retention(open(rig), Duration.ZERO).run();
    Lines.write(rig, 5, 5);
    Log log = open(rig);
    var chain = new HorizonChain(log.context());
    long line = chain.checkpoint().orElseThrow().number();
    HorizonRecord r = chain.read(line).record();
    Path path = log.context().layout().record(line).path();
    rig.disk.view(0).unlink(path);
    PosixStore.of(log.context().store().storage())
        .fresh()
        .publish(path, r.withSums(Sums.NONE).encode(), 0664);
    assertThrows(DamagedException.class, () -> look(rig));
  }

  /** From then on nobody could tell that it counts wrong. */
  @Test
  void r1_nothingIsRetiredThatItsRecordsCountWrong() throws Exception {
    Rig rig = rig(7, 2);
    Log log = open(rig);
    var layout = log.context().layout();
    HorizonRecord r = new HorizonChain(log.context()).read(2).record();
    for (Path file : Retiring.files(log, layout.records().path())) {
      if (file.getFileName().toString().startsWith(layout.record(2).last())) {
        rig.disk.view(0).unlink(file);
      }
    }
    Sums s = r.sums();
    var wrong = new Sums(s.buckets(), s.messages(), s.bytes(), s.newest() - 1);
    PosixStore.of(log.context().store().storage())
        .fresh()
        .publish(layout.record(2).path(), r.withSums(wrong).encode(), 0664);
    aggregate(rig);
    var e =
        assertThrows(
            DamagedException.class, () -> new Retention(open(rig), Duration.ZERO).run().records());
    assertEquals(layout.record(2), e.path());
    assertEquals("" + s, e.expected());
  }
}
