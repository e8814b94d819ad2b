package dev.cinch.bag.storage;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.Rig;
import dev.cinch.bag.file.DataFileExtent;
import dev.cinch.bag.fuzz.DataFile;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Numbered;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.model.Stored;
import dev.cinch.bag.registry.ServiceNames.CeilingName;
import dev.cinch.bag.storage.Entered.Mark;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.lease.Id;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * The promises of a storage (protocol.md, section 1), for two clients of one store and log. What S6
 * promises is in {@link dev.cinch.bag.PowerCutTest}.
 */
@SuppressWarnings("NullAway.Init")
abstract class StorageContract {
  private static final DataFile SAMPLE = DataFile.sample();
  private static final Bucket BUCKET = DataFile.HEADER.bucket();
  private static final DataFileName NAME = DataFile.HEADER.name();

  private Storage store;
  private Storage other;
  private StoreLayout layout;
  private LogLayout log;
  private Buckets buckets;

  /** Another client of the same log, which has buckets of a second. */
  abstract Log client() throws Exception;

  @BeforeEach
  void open() throws Exception {
    StoreContext first = client().context().store();
    store = first.storage();
    layout = first.layout();
    log = layout.log(Rig.JOBS);
    other = client().context().storage();
    buckets = client().context().buckets();
  }

  private Name dataFile(Bucket bucket, DataFileName name) {
    return LogLayout.dataFile(log.bucket(bucket), name);
  }

  private Entered written(Storage by, DataFileName name, byte[] bytes) throws IOException {
    Entered entered = by.enter(dataFile(BUCKET, name), Durability.SYNC);
    append(entered, bytes);
    return entered;
  }

  private static void append(Entered entered, byte[] bytes) throws IOException {
    entered.append(new ByteBuffer[] {ByteBuffer.wrap(bytes)});
  }

  /** What a closer finds of the one file there is. */
  private DataFileExtent measured(Storage by) throws IOException {
    assertEquals(
        List.of(NAME),
        by.list(log.bucket(BUCKET), Freshness.CERTAIN).stream()
            .map(DataFileName::parse)
            .flatMap(Optional::stream)
            .toList());
    try (Stored in = by.open(dataFile(BUCKET, NAME), Freshness.PERMITTED)) {
      ByteBuffer bytes = ByteBuffer.allocate((int) in.size());
      assertEquals(bytes.capacity(), in.read(bytes, 0));
      return DataFile.measured(bytes.array());
    }
  }

  @Test
  void s1WhatWasAppendedToAnOpenBucketIsMeasured() throws Exception {
    Entered entered = written(store, NAME, SAMPLE.bytes());
    assertNotEquals(Mark.SEALED, entered.look());
    entered.leave();
    other.seal(log.bucket(BUCKET));
    DataFileExtent file = measured(other);
    assertEquals(SAMPLE.bytes().length, file.validLength());
    assertEquals(6, file.messages());
  }

  /** To a file that the closer may have looked at before. */
  @Test
  void s1WhatIsAppendedLaterIsMeasuredToo() throws Exception {
    int first = SAMPLE.ends().get(0);
    byte[] all = SAMPLE.bytes();
    Entered entered = written(store, NAME, Arrays.copyOf(all, first));
    assertEquals(List.of(BUCKET), buckets.known(BUCKET.start(), BUCKET.end()));
    entered.append(
        new ByteBuffer[] {
          ByteBuffer.wrap(all, first, 20), ByteBuffer.wrap(all, first + 20, all.length - first - 20)
        });
    assertNotEquals(Mark.SEALED, entered.look());
    other.seal(log.bucket(BUCKET));
    assertEquals(all.length, measured(other).validLength());
  }

  @Test
  void s2WhoLooksAfterASealSeesIt() throws Exception {
    Entered before = written(store, NAME, SAMPLE.bytes());
    assertNotEquals(Mark.SEALED, before.look());
    Entered idle = other.enter(dataFile(BUCKET, other(1)), Durability.CLOSE);
    other.seal(log.bucket(BUCKET));
    assertNotEquals(Mark.OPEN, before.look());
    assertNotEquals(Mark.OPEN, idle.look());
    try { // an early "no" is welcome, and not promised
      assertNotEquals(Mark.OPEN, written(store, other(2), SAMPLE.bytes()).look());
    } catch (BucketSealedException e) {
      assertEquals("the bucket is being closed", e.getMessage());
    }
  }

  @Test
  void s2AlsoWhereTheBucketWasRetiredAndMadeAnew() throws Exception {
    Entered late = written(store, NAME, SAMPLE.bytes());
    close(other, 1);
    Name place = log.bucket(BUCKET);
    assertThrows(DirectoryNotEmptyException.class, () -> other.removePlace(place));
    for (String name : other.list(place, Freshness.CERTAIN)) {
      other.remove(place.resolve(name));
    }
    other.removePlace(place);
    written(other, other(1), SAMPLE.bytes()).leave();
    assertNotEquals(Mark.OPEN, late.look());
  }

  private static DataFileName other(long incarnation) {
    return new DataFileName(new MachineName("m2"), new Id(9, incarnation));
  }

  @Test
  void s3TheFirstLockWins() throws Exception {
    written(store, NAME, SAMPLE.bytes()).leave();
    close(other, 2, 2);
    close(store, 1);
    Name lock = LogLayout.lock(log.bucket(BUCKET));
    for (Storage client : List.of(store, other)) {
      assertArrayEquals(new byte[] {2, 2}, read(client, lock));
    }
  }

  private void close(Storage by, int... bytes) throws IOException {
    Name place = log.bucket(BUCKET);
    by.seal(place);
    assertEquals(6, measured(by).messages());
    try (Storage.Draft lock = by.draft(LogLayout.lock(place))) {
      for (int b : bytes) {
        lock.write(ByteBuffer.wrap(new byte[] {(byte) b}));
      }
      lock.finish();
      boolean unused = lock.publish(LogLayout.lock(place));
    }
    by.show(LogLayout.lock(place));
  }

  private static byte[] read(Storage client, Name document) throws IOException {
    return client.read(document, 100, Freshness.CERTAIN, bytes -> bytes);
  }

  @Test
  void s3TheFirstRecordWins() throws Exception {
    assertEquals(0, Records.list(other, log, Freshness.CERTAIN).last());
    store.prepare(log.recordGroup(0));
    assertTrue(store.publish(log.record(1), new byte[] {1}));
    assertFalse(other.publish(log.record(1), new byte[] {2}));
    assertTrue(other.publish(log.recordSeal(1, "a".repeat(64)), new byte[0]));
    for (Storage client : List.of(store, other, client().context().storage())) {
      assertArrayEquals(new byte[] {1}, read(client, log.record(1)));
      Records records = Records.list(client, log, Freshness.CERTAIN);
      assertEquals(1, records.last());
      assertEquals(1, records.seals(1).size());
    }
  }

  @Test
  void s3TheFirstDocumentWins() throws Exception {
    Name end = layout.end(new Id(1, 1), 1, 0);
    Name free = layout.end(new Id(1, 2), 1, 0);
    store.prepare(layout.ends());
    other.prepare(layout.ends());
    try (Storage.Draft first = store.draft(end);
        Storage.Draft second = other.draft(free)) {
      first.write(ByteBuffer.wrap(new byte[] {1}));
      first.finish();
      second.write(ByteBuffer.wrap(new byte[] {2, 2}));
      second.finish();
      assertTrue(first.publish(end));
      assertFalse(second.publish(end));
      assertTrue(second.publish(free));
      assertFalse(first.publish(free));
      store.secure(layout.ends());
    }
    assertFalse(store.publish(end, new byte[] {3}));
    for (Storage client : List.of(store, other)) {
      assertArrayEquals(new byte[] {1}, client.read(end, 100, Freshness.CACHED, bytes -> bytes));
      assertArrayEquals(
          new byte[] {2, 2}, client.read(free, 100, Freshness.CACHED, bytes -> bytes));
      try (Stored in = client.open(free, Freshness.PERMITTED)) {
        assertEquals(2, in.size());
      }
      assertTrue(client.isThere(end, Freshness.PERMITTED));
      assertEquals(
          List.of(name(end), name(free)),
          client.list(layout.ends(), Freshness.CERTAIN).stream().sorted().toList());
    }
  }

  private static String name(Name document) {
    return document.last();
  }

  @Test
  void s4IntentsStayUntilTheyAreWithdrawn() throws Exception {
    assertEquals(List.of(), other.listIfThere(log.intents(), Freshness.CERTAIN));
    Name mine = log.intent(BUCKET.end(), new Id(1, 1));
    Name last = log.endIntent(new Id(1, 2));
    assertTrue(store.publish(mine, new byte[0]));
    assertTrue(store.publish(last, new byte[0]));
    assertEquals(List.of(BUCKET.end(), Long.MAX_VALUE), reaches(other));
    store.removeQuietly(mine);
    assertThrows(NoSuchFileException.class, () -> store.changedAt(mine));
    assertEquals(List.of(Long.MAX_VALUE), reaches(other));
    store.removeQuietly(last);
    assertEquals(List.of(), reaches(other));
  }

  private List<Long> reaches(Storage client) throws IOException {
    return client.list(log.intents(), Freshness.CERTAIN).stream()
        .map(LogLayout::intentReach)
        .map(OptionalLong::getAsLong)
        .sorted()
        .toList();
  }

  @Test
  void s5CertainListsMissNothing() throws Exception {
    var made = new ArrayList<Bucket>();
    for (int i : List.of(0, 1, 300, 70_000)) { // of one group, one era, and another one
      var bucket = new Bucket(BUCKET.start() + i * BUCKET.width(), BUCKET.width());
      assertFalse(buckets.mayBeIn(bucket.start(), bucket.end()));
      append(store.enter(dataFile(bucket, NAME), Durability.CLOSE), new byte[] {1});
      made.add(bucket);
      assertTrue(buckets.mayBeIn(bucket.start(), bucket.end()));
      assertEquals(made, buckets.all(BUCKET.start(), Long.MAX_VALUE, end -> false));
    }
    assertEquals(made.subList(1, 3), buckets.permitted(made.get(0).end(), made.get(3).start()));
    assertTrue(Family.CHECKPOINT.last(other, log, Freshness.CERTAIN).isEmpty());
    assertTrue(store.publish(log.checkpoint(7), new byte[] {7}));
    assertTrue(store.publish(log.floor(3), new byte[] {3}));
    assertEquals(7, Family.CHECKPOINT.last(other, log, Freshness.CERTAIN).orElse(0));
    assertEquals(3, Family.FLOOR.last(other, log, Freshness.CERTAIN).orElse(0));
  }

  @Test
  void s5CertainListsMissNoDocument() throws Exception {
    for (int i = 1; i <= 3; i++) {
      Name number = layout.instances().resolve(Numbered.name(i));
      assertEquals(i - 1, other.list(layout.instances(), Freshness.CERTAIN).size());
      assertTrue(store.publish(number, new byte[0]));
      store.secure(layout.instances());
      assertFalse(store.publish(number, new byte[0]));
      assertEquals(i, other.list(layout.instances(), Freshness.CERTAIN).size());
      assertEquals(i, other.listIfPermitted(layout.instances()).orElseThrow().size());
      assertTrue(other.isThere(number, Freshness.PERMITTED));
    }
    store.remove(layout.instances().resolve(Numbered.name(2)));
    store.remove(layout.instances().resolve(Numbered.name(2)));
    assertEquals(2, other.list(layout.instances(), Freshness.CERTAIN).size());
  }

  @Test
  void s7ANameIsNeverUsedAgain() throws Exception {
    Entered first = written(store, NAME, SAMPLE.bytes());
    assertThrows(
        FileAlreadyExistsException.class,
        () -> append(other.enter(dataFile(BUCKET, NAME), Durability.CLOSE), new byte[] {1}));
    assertNotEquals(Mark.SEALED, first.look());
  }

  @Test
  void s7WhatWasMeasuredIsTheSameForEverybody() throws Exception {
    Entered entered = written(store, NAME, SAMPLE.bytes());
    store.seal(log.bucket(BUCKET));
    other.seal(log.bucket(BUCKET));
    DataFileExtent measured = measured(store);
    append(entered, new byte[] {1, 2, 3}); // too late, and torn
    assertEquals(measured, measured(other));
  }

  @Test
  void dataFilesGoAndTheMarkAndTheLockStay() throws Exception {
    Entered late = written(store, NAME, SAMPLE.bytes());
    close(other, 1);
    buckets.sweep(BUCKET);
    buckets.sweep(BUCKET);
    assertEquals(List.of(), buckets.look(BUCKET, Freshness.PERMITTED).files());
    assertNotEquals(Mark.OPEN, late.look());
    assertArrayEquals(new byte[] {1}, read(other, LogLayout.lock(log.bucket(BUCKET))));
  }

  @Test
  void s8TheClockIsNotBeforeAnyChange() throws Exception {
    long before = store.now();
    Name intent = log.intent(BUCKET.end(), new Id(1, 1));
    assertTrue(store.publish(intent, new byte[0]));
    Entered entered = written(other, NAME, SAMPLE.bytes());
    assertTrue(store.changedAt(intent) >= before);
    assertTrue(other.now() >= store.changedAt(intent));
    long changed = entered.changedAt();
    assertTrue(changed >= before);
    assertTrue(store.now() >= changed);
    Name ceiling = layout.ceilings().resolve(new CeilingName(1, 5, false).toString());
    long earlier = store.now();
    assertTrue(store.publish(ceiling, new byte[0]));
    assertTrue(store.changedAt(ceiling) >= earlier);
    assertTrue(other.now() >= store.changedAt(ceiling));
  }
}
