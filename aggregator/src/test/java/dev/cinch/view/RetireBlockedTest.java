package dev.cinch.view;

import static dev.cinch.view.Retiring.HOUR;
import static dev.cinch.view.Retiring.aggregate;
import static dev.cinch.view.Retiring.files;
import static dev.cinch.view.Retiring.open;
import static dev.cinch.view.Retiring.rig;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.Rig;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Kind;
import dev.cinch.bag.fs.Fresh;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.storage.posix.PosixStore;
import dev.cinch.bag.write.LogWriter;
import java.nio.file.FileSystemException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Several users of one store: who retires what, and what is told of what stays. */
class RetireBlockedTest {
  private static List<Path> inBuckets(Log log) throws Exception {
    return files(log, log.context().layout().buckets().path());
  }

  private static List<Path> buckets(Log log) throws Exception {
    List<Bucket> all = log.context().buckets().known(Long.MIN_VALUE, Long.MAX_VALUE);
    return all.stream().map(b -> log.context().layout().bucket(b).path()).toList();
  }

  /** As versions did that closed directories: Alice made it, and alone may give it its mode. */
  private static void protect(Rig rig, Path bucket) throws Exception {
    rig.disk.view(Rig.ALICE).chmod(bucket, 02755);
  }

  /** Segments cover all, and all is old enough. */
  private static void age(Rig rig) throws Exception {
    aggregate(rig);
    rig.time.advanceMs(7_200_000);
  }

  @Test
  void c5_whatOneUserMadeAndClosedAnotherOneRetires() throws Exception {
    Rig rig = rig(16, 2);
    LogWriter bobs = rig.open(rig.disk.view(Rig.BOB)).writer(Durability.SYNC);
    Lines.append(bobs, "in a bucket of his own");
    bobs.close();
    rig.settle(rig.open(rig.disk.view(Rig.BOB)));
    age(rig);
    Log bob = rig.open(rig.disk.view(Rig.BOB));
    List<String> expected = Lines.settled(bob);
    assertEquals(3, new Retention(bob, HOUR).run().buckets());
    assertEquals(List.of(), inBuckets(bob));
    assertTrue(new Retention(bob, HOUR).blocked().isEmpty());
    assertEquals(expected, Lines.settled(bob));
  }

  @Test
  void whatOneUserKeepsToHimselfKeepsNothingElseAndIsNamedWithItsOwner() throws Exception {
    Rig rig = rig(16, 2);
    for (Path bucket : buckets(open(rig))) {
      protect(rig, bucket);
    }
    LogWriter bobs = rig.open(rig.disk.view(Rig.BOB)).writer(Durability.SYNC);
    Lines.append(bobs, "in a bucket of his own");
    bobs.close();
    rig.settle(open(rig));
    age(rig);
    List<String> expected = Lines.settled(open(rig));
    Log bob = rig.open(rig.disk.view(Rig.BOB));
    assertTrue(new Retention(bob, HOUR).blocked().isEmpty()); // nothing was to go yet
    var e = assertThrows(RetireBlockedException.class, () -> new Retention(bob, HOUR).run());
    String message = String.valueOf(e.getMessage());
    assertTrue(message.startsWith(bob.context().layout().buckets() + "/"), message);
    assertTrue(message.contains("belongs to user " + Rig.ALICE + ", run gc as"), message);
    assertTrue(message.contains("(and 1 more)"), message);
    assertEquals(1, e.done().buckets());
    assertEquals(2, e.done().records());
    assertEquals(buckets(bob), e.kept().stream().map(k -> k.at().path()).toList());
    assertEquals(expected, Lines.settled(bob));
    for (int user : List.of(Rig.ALICE, Rig.BOB, 0)) {
      Log log = rig.open(rig.disk.view(user));
      var told = new Retention(log, HOUR).blocked().orElseThrow();
      assertEquals(2, told.kept().size());
      assertEquals(Rig.ALICE, told.kept().get(0).owner());
      assertTrue(told.kept().get(0).isDenied());
    }
    assertEquals(2, new Retention(open(rig), HOUR).run().buckets());
    assertTrue(new Retention(bob, HOUR).blocked().isEmpty());
    assertEquals(List.of(), inBuckets(bob));
    assertEquals(expected, Lines.settled(bob));
  }

  @Test
  void tenPlacesAreNamedAndTheRestIsCounted() throws Exception {
    Rig rig = rig(17, 13);
    for (Path bucket : buckets(open(rig))) {
      protect(rig, bucket);
    }
    age(rig);
    Log bob = rig.open(rig.disk.view(Rig.BOB));
    var e = assertThrows(RetireBlockedException.class, () -> new Retention(bob, HOUR).run());
    assertEquals(10, e.kept().size());
    assertEquals(3, e.others());
  }

  /** As of a file that was made immutable, or in a directory with the sticky bit. */
  @Test
  void anyErrorKeepsTheBucketThatItIsAboutAndNoOther() throws Exception {
    Rig rig = rig(18, 3);
    age(rig);
    Path kept = buckets(open(rig)).get(1);
    var fs = new FaultyFs(rig.disk.view(Rig.BOB));
    fs.before(
        op -> {
          if (op.kind() == Kind.UNLINK && op.path().startsWith(kept)) {
            throw new FileSystemException(op.path().toString(), null, "Operation not permitted");
          }
        });
    Log bob = rig.open(fs);
    List<String> expected = Lines.settled(bob);
    var e = assertThrows(RetireBlockedException.class, () -> new Retention(bob, HOUR).run());
    assertEquals(List.of(kept), e.kept().stream().map(k -> k.at().path()).toList());
    assertTrue(e.kept().get(0).isDenied());
    assertEquals(2, e.done().buckets());
    assertEquals(List.of(kept), buckets(bob));
    assertTrue(
        inBuckets(bob).contains(LogLayout.lock(Name.of(kept)).path())); // which goes last (rule R3)
    assertEquals(expected, Lines.settled(bob));
  }

  /** Each place once, however much of it stays. */
  @Test
  void whatStaysOfTheHorizonIsToldToo() throws Exception {
    Rig rig = rig(22, 3);
    age(rig);
    Object unused = new Retention(open(rig), HOUR).run();
    Lines.write(rig, 4, 5);
    Lines.write(rig, 4, 5);
    age(rig);
    LogLayout layout = open(rig).context().layout();
    var fs = new FaultyFs(rig.disk.view(Rig.BOB));
    fs.before(
        op -> {
          if (op.kind() == Kind.UNLINK && op.path().startsWith(layout.horizon().path())) {
            throw new FileSystemException(op.path().toString(), null, "Operation not permitted");
          }
        });
    Log bob = rig.open(fs);
    var first = assertThrows(RetireBlockedException.class, () -> new Retention(bob, HOUR).run());
    assertTrue(first.done().buckets() > 0);
    rig.time.advanceMs(Duration.ofDays(2).toMillis()); // the checkpoint before is to go, too
    var e = assertThrows(RetireBlockedException.class, () -> new Retention(bob, HOUR).run());
    List<Name> places = e.kept().stream().map(RetireBlockedException.Kept::at).sorted().toList();
    assertEquals(List.of(layout.checkpoints(), layout.recordGroup(0)), places);
    assertTrue(e.others() > 0);
  }

  @Test
  void aForeignFileIsTold() throws Exception {
    Rig rig = rig(19, 2);
    Path foreign = buckets(open(rig)).get(0).resolve("notes.txt");
    rig.disk.view(Rig.BOB).create(foreign, 0664).close();
    age(rig);
    Log log = open(rig);
    assertThrows(RetireBlockedException.class, () -> new Retention(log, HOUR).run());
    var told = new Retention(log, HOUR).blocked().orElseThrow();
    assertEquals(Name.of(foreign), ((DamagedException) told.kept().get(0).why()).path());
    assertEquals(Name.of(foreign), told.kept().get(0).at());
    assertFalse(told.kept().get(0).isDenied());
  }

  /** A late writer's is left to the next run for a day, and told then. */
  @Test
  void whatIsThereAfterADayIsTold() throws Exception {
    Rig rig = rig(20, 2);
    Path again = buckets(open(rig)).get(0);
    age(rig);
    Log log = open(rig);
    assertEquals(2, new Retention(log, HOUR).run().buckets());
    PosixStore store = PosixStore.of(log.context().store().storage());
    for (Path directory : List.of(Fresh.parent(again), again)) {
      boolean unused = store.fresh().ensureDirectory(directory, store.directoryMode());
    }
    assertTrue(new Retention(log, HOUR).blocked().isEmpty());
    rig.time.advanceMs(Duration.ofDays(2).toMillis());
    var told = new Retention(log, HOUR).blocked().orElseThrow();
    assertEquals(Name.of(again), told.kept().get(0).at());
    assertEquals(1, new Retention(log, HOUR).run().buckets());
    assertTrue(new Retention(log, HOUR).blocked().isEmpty());
  }

  @Test
  void messagesExpireThoughABucketOfTheirsStays() throws Exception {
    Rig rig = rig(21, 1);
    protect(rig, buckets(open(rig)).get(0));
    age(rig);
    Log bob = rig.open(rig.disk.view(Rig.BOB));
    assertThrows(RetireBlockedException.class, () -> new Retention(bob, HOUR).run());
    rig.time.advanceMs(7_200_000);
    rig.settle(bob); // idle time
    Expiry.Plan plan = new Expiry(bob, HOUR).runThroughLast(path -> {});
    assertTrue(plan.moves());
    assertEquals(List.of(), Lines.settled(bob));
  }
}
