package dev.cinch.view;

import static dev.cinch.view.Retiring.aggregate;
import static dev.cinch.view.Retiring.open;
import static dev.cinch.view.Retiring.rig;
import static java.util.Objects.requireNonNull;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.Rig;
import dev.cinch.bag.Store;
import dev.cinch.bag.audit.Finding;
import dev.cinch.bag.audit.LeaseAuditor;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.format.HorizonRecord.Sums;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Kind;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.storage.posix.PosixStore;
import dev.cinch.bag.write.FateUnknownException;
import dev.cinch.bag.write.LogWriter;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Records that are altered so that nothing in them is wrong by itself, and records that vanish
 * (rule H2): whoever needs them says so, and nobody gives fewer messages and no word.
 */
@Timeout(value = 1, unit = TimeUnit.HOURS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class BrokenChainTest {
  private interface Reader {
    void read() throws Exception;
  }

  /** All that read a whole log. */
  private static Map<String, Reader> readers(Rig rig, Log log) {
    var readers = new TreeMap<String, Reader>();
    readers.put("cat", () -> Lines.settled(log));
    readers.put(
        "cat --live",
        () -> log.reader().live(Lines.MIN, Lines.MAX, m -> true, (m, file, why) -> {}));
    readers.put("view build", () -> assertEquals(1, new Aggregator(open(rig)).run().published()));
    return readers;
  }

  private static List<Finding> damage(Rig rig) throws Exception {
    return rig.damage(rig.disk.view(Rig.BOB));
  }

  private static long violations(Rig rig) throws Exception {
    Store store = Store.open(rig.root, rig.environment(rig.disk.view(Rig.BOB), rig.time));
    return LeaseAuditor.audit(store).violationCount();
  }

  private static void allRefuse(Rig rig, String what) throws Exception {
    Log log = open(rig);
    for (Map.Entry<String, Reader> r : readers(rig, log).entrySet()) {
      assertThrows(
          DamagedException.class, () -> r.getValue().read(), () -> r.getKey() + " of " + what);
    }
    assertFalse(damage(rig).isEmpty(), "verify of " + what);
    assertTrue(violations(rig) > 0, "audit of " + what);
  }

  private static void intact(Rig rig) throws Exception {
    assertEquals(List.of(), damage(rig));
    assertEquals(0, violations(rig));
  }

  private static StoreFs root(Rig rig) {
    return rig.disk.view(0);
  }

  private static void put(Rig rig, Path file, byte[] bytes) throws IOException {
    root(rig).unlink(file);
    PosixStore.of(open(rig).context().store().storage()).fresh().publish(file, bytes, 0664);
  }

  /** Before a segment is all there is. */
  @Test
  void r1_nothingIsRetiredOfWhichARecordWasAltered() throws Exception {
    Rig rig = rig(7, 3);
    aggregate(rig);
    Log log = open(rig);
    HorizonRecord good = new HorizonChain(log.context()).read(2).record();
    put(
        rig,
        log.context().layout().record(2).path(),
        good.withRange(good.from(), good.to() + 1).encode());
    var gc = new Retention(log, Duration.ZERO);
    assertThrows(DamagedException.class, () -> gc.run().records());
    put(rig, log.context().layout().record(2).path(), good.withBuckets(List.of()).encode());
    assertThrows(DamagedException.class, () -> gc.run().records());
    put(rig, log.context().layout().record(2).path(), good.withSums(Sums.NONE).encode());
    assertThrows(DamagedException.class, () -> gc.run().records());
    put(rig, log.context().layout().record(2).path(), good.encode());
    assertEquals(2, gc.run().records());
  }

  /** A range needs the records in it, and one more on each side. */
  @Test
  void h2_aReadOfARangeChecksTheRecordsThatItUses() throws Exception {
    Rig rig = rig(2, 5);
    Log log = open(rig);
    HorizonChain chain = new HorizonChain(log.context());
    List<String> expected = Lines.settled(log);
    for (long number = 1; number <= 5; number++) {
      HorizonRecord good = chain.read(number).record();
      put(rig, log.context().layout().record(number).path(), good.withBuckets(List.of()).encode());
      for (long other = 1; other <= 5; other++) {
        if (other != number) {
          HorizonRecord r = chain.read(other).record();
          long from = Math.max(r.from(), r.to() - 3 * log.context().bucketWidth());
          boolean touches = other == number + 1 || number == 5; // what it names, or the last
          if (touches) {
            assertThrows(DamagedException.class, () -> Lines.settled(log, from, r.to()));
          } else {
            assertEquals(5, Lines.settled(log, from, r.to()).size(), number + " " + other);
          }
        } else {
          assertThrows(
              DamagedException.class,
              () -> Lines.settled(log, good.to() - log.context().bucketWidth(), good.to()));
        }
      }
      put(rig, log.context().layout().record(number).path(), good.encode());
    }
    assertEquals(expected, Lines.settled(log));
  }

  @Test
  void h2_noRecordIsReadTwice() throws Exception {
    Rig rig = rig(3, 7);
    var fs = new FaultyFs(rig.disk.view(Rig.BOB));
    Log log = rig.open(fs);
    fs.clearTrace();
    List<String> unused = Lines.settled(log);
    for (long number = 1; number <= 7; number++) {
      Path record = log.context().layout().record(number).path();
      assertEquals(
          1,
          fs.trace().stream()
              .filter(op -> op.kind() == Kind.READ && op.path().equals(record))
              .count());
    }
  }

  /** By their seals, however many. */
  @Test
  void h2_recordsThatVanishFromTheEndAreMissed() throws Exception {
    for (int vanish = 1; vanish <= 3; vanish++) {
      Rig rig = rig(4 + vanish, 3);
      LogLayout layout = open(rig).context().layout();
      for (long number = 3; number > 3 - vanish; number--) {
        root(rig).unlink(layout.record(number).path());
      }
      allRefuse(rig, "the last " + vanish);
      // And no closer links another one in its place.
      assertThrows(DamagedException.class, () -> rig.settle(open(rig)));
      assertThrows(
          DamagedException.class, () -> new Retention(open(rig), Duration.ZERO).run().records());
    }
  }

  @Test
  void h2_whatStandsAtTheLineOfACheckpointIsWhatItNames() throws Exception {
    for (int more = 0; more < 2; more++) {
      Rig rig = rig(8, 4);
      aggregate(rig);
      rig.time.advanceMs(7_200_000);
      assertEquals(3, new Retention(open(rig), Duration.ZERO).run().records());
      for (int i = 0; i < more; i++) {
        Lines.write(rig, 3, 3);
      }
      Log log = open(rig);
      Path line = log.context().layout().record(4).path();
      Link good = new HorizonChain(log.context()).read(4);
      root(rig).unlink(log.context().layout().recordSeal(4, good.digest()).path());
      put(rig, line, good.record().withBuckets(List.of()).encode());
      lineIsMissed(rig, more);
      root(rig).unlink(line);
      lineIsMissed(rig, more);
    }
  }

  private static void lineIsMissed(Rig rig, int more) throws Exception {
    Log log = open(rig);
    assertThrows(DamagedException.class, () -> Lines.settled(log));
    assertThrows(
        DamagedException.class,
        () -> log.reader().live(Lines.MIN, Lines.MAX, m -> true, (m, file, why) -> {}));
    assertFalse(damage(rig).isEmpty());
    assertTrue(violations(rig) > 0);
    if (more == 0) { // it is the last
      assertThrows(DamagedException.class, () -> rig.settle(open(rig)));
      LogWriter writer = log.writer(Durability.SYNC);
      assertThrows(FateUnknownException.class, () -> writer.append(new byte[1]));
    }
  }

  /** What the verdict stands in was altered, or is gone: the append fails, and waits no longer. */
  @Test
  void a1_anAppendWhoseVerdictIsDamagedFailsWithThat() throws Exception {
    for (int kind = 0; kind < 4; kind++) {
      int how = kind;
      Rig rig = rig(9, 2);
      var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
      Log log = rig.open(fs);
      LogWriter writer = log.writer(Durability.SYNC);
      fs.beforeFirst(
          op -> op.is(Kind.WRITE, ".log"),
          () -> {
            rig.settle(open(rig)); // record 3 lists its bucket
            rig.settle(open(rig));
            HorizonChain chain = new HorizonChain(log.context());
            HorizonRecord third = chain.read(3).record();
            assertEquals(1, third.buckets().size());
            switch (how) {
              case 0 -> put(rig, chain3(log), third.withBuckets(List.of()).encode());
              case 1 -> root(rig).unlink(chain3(log));
              case 2 -> root(rig).unlink(log.context().layout().record(4).path());
              default -> {
                rig.settle(open(rig));
                put(rig, log.context().layout().record(2).path(), new byte[10]);
              }
            }
          });
      var e = assertThrows(FateUnknownException.class, () -> writer.append(new byte[1]));
      assertTrue(String.valueOf(e.getMessage()).contains("/records/"), e.getMessage());
      assertThrows(IllegalStateException.class, writer::close);
    }
  }

  /** Records and their seals, from the end: locks are left that nothing reaches. */
  @Test
  void h7_locksThatNoRecordAndNoIntentReachesProveThatRecordsAreMissing() throws Exception {
    for (int vanish = 1; vanish <= 3; vanish++) {
      Rig rig = rig(4 + vanish, 3);
      LogLayout layout = open(rig).context().layout();
      List<String> before = Lines.settled(open(rig));
      var removed = new TreeMap<Path, byte[]>();
      HorizonChain chain = new HorizonChain(open(rig).context());
      for (long number = 3; number > 3 - vanish; number--) {
        Link link = chain.read(number);
        removed.put(layout.record(number).path(), link.record().encode());
        root(rig).unlink(layout.recordSeal(number, link.digest()).path());
        root(rig).unlink(layout.record(number).path());
      }
      assertEquals(1, damage(rig).size(), damage(rig)::toString);
      assertTrue(damage(rig).get(0).toString().contains("/lock "), damage(rig)::toString);
      Reader live = requireNonNull(readers(rig, open(rig)).get("cat --live"));
      assertThrows(DamagedException.class, () -> live.read());
      assertThrows(DamagedException.class, () -> rig.settle(open(rig)));
      assertThrows(DamagedException.class, () -> rig.settle(open(rig)), "still so");
      assertEquals(List.of(), root(rig).list(layout.intents().path()), "that left none");
      anAppendFails(rig);
      for (Map.Entry<Path, byte[]> r : removed.entrySet()) {
        PosixStore.of(open(rig).context().store().storage())
            .fresh()
            .publish(r.getKey(), r.getValue(), 0664);
      }
      assertEquals(before, Lines.settled(open(rig)));
      intact(rig);
    }
  }

  /** One whose bucket a closer has begun to close, so that it needs a verdict. */
  private static void anAppendFails(Rig rig) throws Exception {
    var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    Log log = rig.open(fs);
    LogWriter writer = log.writer(Durability.SYNC);
    fs.beforeFirst(
        op -> op.kind() == Kind.LIST && op.path().equals(log.context().layout().intents().path()),
        () -> {
          throw new IOException("no answer");
        });
    assertThrows(FateUnknownException.class, () -> writer.append(new byte[1]));
  }

  /** A closer that failed. */
  @Test
  void h7_aLockWithAnIntentSaysNothing() throws Exception {
    Rig rig = rig(11, 2);
    Lines.append(open(rig).writer(Durability.SYNC), "one more");
    var failing = new FaultyFs(rig.disk.view(Rig.BOB));
    Log closer = rig.open(failing);
    failing.arm(1, FaultyFs.Fault.ERROR_BEFORE, op -> op.is(Kind.LINK, "0000000003"));
    assertThrows(IOException.class, () -> rig.settle(closer));
    intact(rig);
    var live = new ArrayList<String>();
    closer.reader().live(Lines.MIN, Lines.MAX, m -> live.add(Lines.line(m)), (m, f, w) -> {});
    assertEquals(11, live.size());
    rig.settle(open(rig));
    assertEquals(11, Lines.settled(open(rig)).size());
    intact(rig);
  }

  private static Path chain3(Log log) {
    return log.context().layout().record(3).path();
  }
}
