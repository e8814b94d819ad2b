package dev.cinch.bag.storage.object;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.model.Stored;
import dev.cinch.bag.storage.Entered;
import dev.cinch.bag.storage.Entered.Mark;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.Storage.Draft;
import dev.cinch.lease.Id;
import dev.cinch.lease.time.ManualTime;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** Rules O2 to O4 and O9: what a writer makes of answers, and of what its looks find; parts. */
class ObjectStoreTest {
  private static final StoreLayout LAYOUT = new StoreLayout(new Name("s3://test/s"));
  private static final LogLayout LOG = LAYOUT.log(new LogName("jobs"));
  private static final Name BUCKET = LOG.bucket(new Bucket(0, 1_000_000_000));
  private static final Name FILE =
      LogLayout.dataFile(BUCKET, new DataFileName(new MachineName("m"), new Id(1, 2)));

  private final ManualTime time = new ManualTime();
  private final FakeObjects objects = new FakeObjects(time);

  /** Somebody who retires the bucket at some request of others, once. */
  private final class Retiring extends PassingObjects {
    private String at = "";

    Retiring() {
      super(objects);
    }

    private void retire() throws IOException {
      ObjectStore store = store(objects);
      store.giveNotice(LOG.name());
      store.remove(LogLayout.prelock(BUCKET));
    }

    private void after(String key) throws IOException {
      if (!at.isEmpty() && key.contains(at)) {
        at = "";
        retire();
      }
    }

    @Override
    public Got get(String key, long from, int most) throws IOException {
      try {
        return super.get(key, from, most);
      } finally {
        after(key);
      }
    }

    @Override
    public Listing list(String prefix, String after, boolean places) throws IOException {
      Listing listing = super.list(prefix, after, places);
      after(prefix);
      return listing;
    }
  }

  private ObjectStore store(Objects through) {
    return new ObjectStore(through, LAYOUT, "s/", time, new Random(1));
  }

  private static Entered enter(ObjectStore store) {
    return store.enter(FILE, Durability.SYNC);
  }

  private static ByteBuffer[] frame(int first) {
    return new ByteBuffer[] {ByteBuffer.wrap(new byte[] {(byte) first, 2, 3})};
  }

  /** Looks until it needs to ask nobody: as a writer that has passed. */
  private static Entered passed(ObjectStore store) throws IOException {
    Entered entered = enter(store);
    entered.append(frame(1));
    assertEquals(Mark.UNSURE, entered.look());
    assertEquals(Mark.OPEN, entered.look());
    return entered;
  }

  /** A put that is carried out twice finds its own name taken. */
  @Test
  void whatWasPutTwiceIsItsWriters() throws Exception {
    enter(store(objects)).append(frame(1));
    enter(store(objects)).append(frame(1));
    Entered third = enter(store(objects));
    assertThrows(FileAlreadyExistsException.class, () -> third.append(frame(9)));
  }

  /** Of a refused batch nothing is there, unless one that was not answered went before. */
  @Test
  void onlyPutsThatWereAllRefusedPutNothing() throws Exception {
    var answers = new ArrayDeque<IOException>();
    var refusing =
        new PassingObjects(objects) {
          @Override
          public boolean put(String key, ByteBuffer... body) throws IOException {
            if (!answers.isEmpty()) {
              throw answers.remove();
            }
            return super.put(key, body);
          }
        };
    Entered entered = enter(store(refusing));
    entered.append(frame(1));
    assertEquals(Long.MAX_VALUE, entered.mostThere());
    answers.add(new AccessDeniedException(null, null, "no"));
    assertThrows(AccessDeniedException.class, () -> entered.append(frame(2)));
    assertEquals(3, entered.mostThere());

    answers.add(new UnansweredException("?"));
    for (int i = 0; i < 1_000; i++) {
      answers.add(new RefusedException("no"));
    }
    Entered open = store(refusing).enter(FILE.parent().resolve("other"), Durability.SYNC);
    assertThrows(UnansweredException.class, () -> open.append(frame(2)));
    assertEquals(Long.MAX_VALUE, open.mostThere());
  }

  @Test
  void theFirstLookInABucketIsUnsure() throws Exception {
    Entered entered = passed(store(objects));
    entered.append(frame(2));
    assertEquals(Mark.OPEN, entered.look());
  }

  @Test
  void aMarkIsSeen() throws Exception {
    ObjectStore store = store(objects);
    Entered entered = passed(store);
    store.seal(BUCKET);
    entered.append(frame(2));
    assertEquals(Mark.SEALED, entered.look());
  }

  @Test
  void aBucketThatWasRetiredIsNotOpen() throws Exception {
    var retiring = new Retiring();
    Entered entered = passed(store(retiring));
    store(objects).seal(BUCKET);
    retiring.retire();
    entered.append(frame(2));
    assertEquals(Mark.UNSURE, entered.look());
  }

  /** Whoever retires gives notice before the mark goes, so a look goes the other way. */
  @Test
  void norIsOneThatIsRetiredWithinALook() throws Exception {
    var retiring = new Retiring();
    Entered entered = passed(store(retiring));
    store(objects).seal(BUCKET);
    entered.append(frame(2));
    retiring.at = "/notices/";
    assertEquals(Mark.SEALED, entered.look());
  }

  /** Numbers have no gap, whoever gives them; and whoever begins anew finds the last. */
  @Test
  void everyNoticeIsTheNext() throws Exception {
    Entered before = passed(store(objects));
    ObjectStore one = store(objects);
    ObjectStore two = new ObjectStore(objects, LAYOUT, "s/", time, new Random(2));
    for (ObjectStore store : List.of(one, one, two, one, two, store(objects))) {
      store.giveNotice(LOG.name());
    }
    List<String> names = one.list(LOG.notices(), Freshness.CERTAIN);
    assertEquals("9999999993", names.get(0));
    assertEquals(6, names.size());
    assertEquals(Mark.UNSURE, before.look());
    assertEquals(Mark.OPEN, before.look());
    Entered after = passed(two);
    one.giveNotice(LOG.name());
    assertEquals(Mark.UNSURE, after.look());
    assertEquals(Mark.UNSURE, before.look());
    assertEquals(Mark.OPEN, after.look());
  }

  private long size(String... batches) throws IOException {
    for (String batch : batches) {
      assertTrue(objects.put("s/" + FILE.resolve(batch).within(LAYOUT.root()), frame(1)));
    }
    return store(objects).open(FILE, Freshness.CERTAIN).size();
  }

  /** A server may list what it is just putting, under a name of its own, between two batches. */
  @Test
  void whatIsNoBatchEndsNoDataFile() throws IOException {
    String other = "00000001-7b0d5e3a-2f0c-4d55-9df1-0c6f0a1f4f10";
    assertEquals(6, size("00000001", other, "00000002"));
  }

  @Test
  void dataFileEndsBeforeTheFirstBatchThatIsMissing() throws IOException {
    assertEquals(3, size("00000001", "00000003"));
  }

  private static final Name LOCK = LogLayout.lock(BUCKET);

  private ObjectStore inParts(Objects through, int seed) {
    return new ObjectStore(through, LAYOUT, "s/", time, new Random(seed), 10);
  }

  private static byte[] bytes(int count, int each) {
    var bytes = new byte[count];
    Arrays.fill(bytes, (byte) each);
    return bytes;
  }

  private static Draft drafted(ObjectStore store, byte[] content) throws IOException {
    Draft draft = store.draft(LOCK);
    draft.write(ByteBuffer.wrap(content));
    draft.finish();
    return draft;
  }

  private static byte[] read(ObjectStore store) throws IOException {
    try (Stored in = store.open(LOCK, Freshness.CERTAIN)) {
      ByteBuffer all = ByteBuffer.allocate((int) in.size());
      assertEquals(all.capacity(), in.read(all, 0));
      return all.array();
    }
  }

  private List<String> keys() throws IOException {
    return store(objects).all().stream()
        .map(o -> o.text().replaceFirst(".*/lock", "lock").replaceAll("[0-9a-f]{32}", "*"))
        .toList();
  }

  @Test
  void o9WhatIsLargeIsInPartsThatOneObjectNames() throws Exception {
    for (int count : new int[] {1, 10, 11, 20, 25}) {
      ObjectStore store = inParts(objects, count);
      try (Draft draft = drafted(store, bytes(count, 7))) {
        assertFalse(store.isThere(LOCK, Freshness.CERTAIN));
        assertTrue(draft.publish(LOCK));
      }
      assertArrayEquals(bytes(count, 7), read(store));
      assertEquals(List.of("lock"), store.list(BUCKET, Freshness.CERTAIN));
      assertEquals(count <= 10 ? 1 : 1 + (count + 9) / 10, keys().size());
      store.remove(LOCK);
      store.removePlace(BUCKET);
      assertEquals(List.of(), keys());
    }
  }

  @Test
  void o9PartsOfWhoLosesGoAndThoseOfWhoWinsStay() throws Exception {
    ObjectStore store = inParts(objects, 1);
    Draft killed = drafted(inParts(objects, 3), bytes(30, 3));
    try (Draft first = drafted(store, bytes(25, 1));
        Draft second = drafted(inParts(objects, 2), bytes(30, 2))) {
      assertTrue(first.publish(LOCK));
      assertFalse(second.publish(LOCK));
    }
    assertArrayEquals(bytes(25, 1), read(store));
    assertEquals(
        List.of("lock", "lock.parts-*/00000001", "lock.parts-*/00000002", "lock.parts-*/00000003"),
        keys());
    assertFalse(killed.publish(LOCK));
    assertArrayEquals(bytes(25, 1), read(store));
  }

  @Test
  void o9PartsOfTheKilledGoWithTheirBucket() throws Exception {
    ObjectStore store = inParts(objects, 1);
    Draft unused = drafted(store, bytes(30, 3));
    assertEquals(3, keys().size());
    assertEquals(List.of(), store.list(BUCKET, Freshness.CERTAIN));
    assertTrue(store.all().stream().allMatch(store::isOwn));
    store.removePlace(BUCKET);
    assertEquals(List.of(), keys());
  }

  @Test
  void o9PartsStayUnlessItsObjectCanNotCome() throws Exception {
    try (Draft abandoned = drafted(inParts(objects, 1), bytes(30, 3))) {
      assertEquals(3, keys().size());
    }
    assertEquals(List.of(), keys());
    var late =
        new PassingObjects(objects) {
          @Override
          public boolean put(String key, ByteBuffer... body) throws IOException {
            if (key.endsWith("/lock")) {
              throw new RefusedException("as asked for");
            }
            return super.put(key, body);
          }
        };
    try (Draft draft = drafted(inParts(late, 1), bytes(30, 3))) {
      assertThrows(RefusedException.class, () -> draft.publish(LOCK));
    }
    assertEquals(3, keys().size());
  }

  @Test
  void o9APartThatIsMissingIsDamageUnlessAllIsGone() throws Exception {
    ObjectStore store = inParts(objects, 1);
    try (Draft draft = drafted(store, bytes(30, 3))) {
      assertTrue(draft.publish(LOCK));
    }
    try (Stored in = store.open(LOCK, Freshness.CERTAIN)) {
      for (Name object : store.all()) {
        if (object.last().equals("00000002")) {
          store.removeObject(object);
        }
      }
      DamagedException e =
          assertThrows(DamagedException.class, () -> in.read(ByteBuffer.allocate(10), 10));
      assertTrue(e.getMessage().contains("00000002"), e.getMessage());
      store.removeObject(LOCK);
      assertThrows(NoSuchFileException.class, () -> in.read(ByteBuffer.allocate(10), 10));
    }
  }

  /** Windows get wider, and the next one comes while another is read; from any place on. */
  @Test
  void whatIsLargeIsReadInWindows() throws Exception {
    ObjectStore store = store(objects);
    var content = new byte[20 << 20];
    new Random(1).nextBytes(content);
    try (Draft draft = drafted(store, content)) {
      assertTrue(draft.publish(LOCK));
    }
    try (Stored in = store.open(LOCK, Freshness.CACHED)) {
      assertEquals(content.length, in.size());
      for (int from : new int[] {0, 17 << 20, content.length - 100, 1000}) {
        ByteBuffer all = ByteBuffer.allocate(content.length - from);
        while (all.hasRemaining()) {
          int at = from + all.position();
          ByteBuffer some = all.slice(all.position(), Math.min(100_001, all.remaining()));
          int count = in.read(some, at);
          all.position(all.position() + count);
        }
        assertArrayEquals(Arrays.copyOfRange(content, from, content.length), all.array());
      }
    }
  }

  @Test
  void whatCanNotBeReadAheadFailsWhereItIsRead() throws Exception {
    var content = new byte[40 << 20];
    new Random(1).nextBytes(content);
    try (Draft draft = drafted(store(objects), content)) {
      assertTrue(draft.publish(LOCK));
    }
    var fails = new AtomicBoolean(true);
    var failing =
        new PassingObjects(objects) {
          @Override
          public Got get(String key, long from, int most) throws IOException {
            if (key.endsWith("/00000002") && fails.get()) {
              throw new IOException("as asked for");
            }
            return super.get(key, from, most);
          }
        };
    try (Stored in = store(failing).open(LOCK, Freshness.CACHED)) {
      ByteBuffer all = ByteBuffer.allocate(content.length);
      while (all.position() < 16 << 20) {
        read(in, all);
      }
      assertEquals(
          "as asked for", assertThrows(IOException.class, () -> read(in, all)).getMessage());
      fails.set(false);
      while (all.hasRemaining()) {
        read(in, all);
      }
      assertArrayEquals(content, all.array());
    }
  }

  private static void read(Stored in, ByteBuffer all) throws IOException {
    ByteBuffer some = all.slice(all.position(), Math.min(1 << 20, all.remaining()));
    all.position(all.position() + in.read(some, all.position()));
  }
}
