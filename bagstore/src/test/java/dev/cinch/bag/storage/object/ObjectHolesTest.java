package dev.cinch.bag.storage.object;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.Rig;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.model.Stored;
import dev.cinch.bag.read.LogCursor;
import dev.cinch.bag.storage.Entered.Mark;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.Storage;
import dev.cinch.bag.storage.Storage.Draft;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.Id;
import dev.cinch.lease.time.ManualTime;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** What went wrong on object stores. */
class ObjectHolesTest {
  private static final StoreLayout LAYOUT = new StoreLayout(new Name("s3://test/s"));
  private static final LogLayout LOG = LAYOUT.log(new LogName("jobs"));
  private static final Name BUCKET = LOG.bucket(new Bucket(0, 1_000_000_000));
  private static final Name LOCK = LogLayout.lock(BUCKET);
  private static final Name FILE =
      LogLayout.dataFile(BUCKET, new DataFileName(new MachineName("m"), new Id(1, 2)));
  private static final long SECOND = 1_000_000_000L;
  private static final int PART = 16 << 20;

  private final ManualTime time = new ManualTime();
  private final FakeObjects objects = new FakeObjects(time);

  private ObjectStore store(Objects through) {
    return new ObjectStore(through, LAYOUT, "s/", time, new Random(1));
  }

  private void put(Name name, byte... bytes) {
    assertTrue(objects.put("s/" + name.within(LAYOUT.root()), ByteBuffer.wrap(bytes)));
  }

  /** A log may have any name that LogName takes; who lists logs must find it. */
  @Test
  void aLogWhoseNameLooksLikeThatOfPartsIsListedAndDestroyed() throws Exception {
    String name = "jobs.parts-0123456789abcdef0123456789abcdef";
    Storage storage = Rig.objects(ManualTime.ticking());
    var unused = Rig.open(storage, ManualTime.ticking(), "a").createLog(new LogName(name));
    assertEquals(List.of(new LogName(name)), Rig.open(storage, ManualTime.ticking(), "b").logs());
  }

  @Test
  void whatALogOfAnyNameHasIsTheStores() {
    for (String name :
        List.of(
            "jobs",
            "jobs.parts-0123456789abcdef0123456789abcdef",
            "jobs-0123456789abcdef0123456789abcdef.log")) {
      assertTrue(store(objects).isOwn(LAYOUT.log(new LogName(name)).identity()), name);
    }
  }

  /** Who removes a data file begins with its first batch; what is left is not an empty file. */
  @Test
  void aDataFileThatIsBeingRemovedIsGone() throws Exception {
    put(FILE.resolve("00000002"), (byte) 1);
    try (Stored lost = store(objects).open(FILE, Freshness.CERTAIN)) {
      assertEquals(0, lost.size()); // a server lost the first one: that stops no closer (C4)
    }
    put(LOCK, (byte) 1); // files go behind a lock (R0)
    assertThrows(
        NoSuchFileException.class, () -> store(objects).open(FILE, Freshness.CERTAIN).close());
  }

  /** Rule H4: a live read has all that was committed before it began. */
  @Test
  void aLiveReadMissesNothingWhileDataFilesAreSwept() throws Exception {
    ManualTime clock = ManualTime.ticking();
    var fake = new FakeObjects(clock);
    var at = new AtomicReference<Callable<Void>>();
    Storage closers = Rig.objects(fake, o -> o, clock);
    Storage readers =
        Rig.objects(
            fake,
            o ->
                new PassingObjects(o) {
                  @Override
                  public Listing list(String prefix, String after, boolean places)
                      throws IOException {
                    Callable<Void> now = prefix.endsWith(".log/") ? at.getAndSet(null) : null;
                    try {
                      if (now != null) {
                        var unused = now.call();
                      }
                    } catch (Exception e) {
                      throw new IOException(e);
                    }
                    return super.list(prefix, after, places);
                  }
                },
            clock);
    Log log = Rig.open(closers, clock, "c").createLog(Rig.JOBS);
    try (LogWriter writer = log.writer(Durability.SYNC)) {
      assertInstanceOf(Receipt.Committed.class, writer.append(new byte[20]));
      assertInstanceOf(Receipt.Committed.class, writer.append(new byte[20]));
    }
    at.set(
        () -> {
          clock.advanceNanos(70 * SECOND); // the reader sleeps; others close, and begin to sweep
          var unused = log.horizon().advance(log.horizon().reachable(), OptionalLong.empty());
          String first =
              Arrays.stream(fake.toString().split("\n"))
                  .map(line -> line.split(" ")[0])
                  .filter(key -> key.endsWith(".log/00000001"))
                  .findFirst()
                  .orElseThrow();
          fake.delete(first);
          return null;
        });
    Log read = Rig.open(readers, clock, "r").log(Rig.JOBS);
    int messages = 0;
    try (LogCursor live =
        read.reader().cursor(Long.MIN_VALUE, Long.MAX_VALUE, true, (m, f, why) -> {})) {
      live.look();
      while (live.next() != null) {
        messages++;
      }
    }
    assertEquals(2, messages);
  }

  private static void head(FakeObjects objects, Parts parts) {
    assertTrue(objects.put("s/" + LOCK.within(LAYOUT.root()), ByteBuffer.wrap(parts.encode())));
  }

  private static byte[] random(int count) {
    var bytes = new byte[count];
    new Random(count).nextBytes(bytes);
    return bytes;
  }

  /** A part that is cut short is an error there, and never the bytes of what follows. */
  @Test
  void noBytesAreGivenInThePlaceOfOthers() throws Exception {
    var id = new Id(3, 4);
    head(objects, new Parts(id, PART, 3L * PART));
    byte[] content = random(3 * PART);
    int cut = PART - (1 << 20);
    put(Parts.part(LOCK, id, 1), Arrays.copyOfRange(content, 0, PART));
    put(Parts.part(LOCK, id, 2), Arrays.copyOfRange(content, PART, PART + cut));
    put(Parts.part(LOCK, id, 3), Arrays.copyOfRange(content, 2 * PART, 3 * PART));
    try (Stored in = store(objects).open(LOCK, Freshness.CACHED)) {
      assertThrows(
          IOException.class,
          () -> {
            for (int at = 0; at < content.length; at += 1 << 16) {
              ByteBuffer some = ByteBuffer.allocate(1 << 16);
              int count = in.read(some, at);
              assertArrayEquals(
                  Arrays.copyOfRange(content, at, at + count), some.array(), "at " + at);
            }
          });
    }
  }

  /** Who reads slowly is told nothing of what failed meanwhile, where it can be read now. */
  @Test
  void whatFailedAheadIsAskedAgain() throws Exception {
    byte[] content = random(3 * PART);
    try (Draft draft = store(objects).draft(LOCK)) {
      draft.write(ByteBuffer.wrap(content));
      draft.finish();
      assertTrue(draft.publish(LOCK));
    }
    var failed = new CountDownLatch(3);
    var away = new AtomicReference<>(true);
    var network =
        new PassingObjects(objects) {
          @Override
          public Got get(String key, long from, int most) throws IOException {
            boolean ahead = Thread.currentThread().getName().equals("cinch-read-ahead");
            if (ahead && away.get()) {
              failed.countDown();
              throw new IOException("the network is away for a while");
            }
            return super.get(key, from, most);
          }
        };
    try (Stored in = store(network).open(LOCK, Freshness.CACHED)) {
      ByteBuffer all = ByteBuffer.allocate(content.length);
      while (failed.getCount() == 3 || all.position() < 8 << 20) {
        read(in, all);
        if (failed.getCount() < 3) {
          break;
        }
        if (all.position() > 12 << 20) {
          break;
        }
      }
      failed.await();
      away.set(false); // it is back long before anybody reads on
      while (all.hasRemaining()) {
        read(in, all);
      }
      assertArrayEquals(content, all.array());
    }
  }

  private static void read(Stored in, ByteBuffer all) throws IOException {
    ByteBuffer some = all.slice(all.position(), Math.min(1 << 16, all.remaining()));
    all.position(all.position() + in.read(some, all.position()));
  }

  /** So many windows, and no more, are read ahead by all together. */
  @Test
  void manyFilesThatAreReadTogetherShareABudget() throws Exception {
    byte[] content = random(3 * PART);
    put(LOCK, content);
    var budget = new Semaphore(4);
    var requests = new Requests(objects, LAYOUT.root(), "s/", time, new Random(1));
    var files = new ArrayList<Stored>();
    for (int i = 0; i < 8; i++) {
      var in = new StoredObjects(requests, LOCK, requests.get(LOCK, 0, 1 << 16), budget);
      files.add(in);
      ByteBuffer all = ByteBuffer.allocate(12 << 20);
      while (all.hasRemaining()) {
        ByteBuffer some = all.slice(all.position(), Math.min(1 << 16, all.remaining()));
        all.position(all.position() + in.read(some, all.position()));
      }
      assertArrayEquals(Arrays.copyOf(content, 12 << 20), all.array());
    }
    assertEquals(0, budget.availablePermits());
    for (Stored in : files) {
      in.close();
    }
    assertEquals(4, budget.availablePermits());
  }

  /** A head with more parts than names have digits for, or than memory holds, is damage. */
  @Test
  void aHeadOfTooManyPartsIsDamage() {
    var parts = new Parts(new Id(1, 2), 1, 100_000_000L);
    assertThrows(DamagedException.class, () -> Parts.decode(parts.encode(), LOCK));
  }

  /** Parts of the killed go with the segment that somebody made, though it is one object. */
  @Test
  void partsOfTheKilledGoWithTheirSegment() throws Exception {
    Name segment = LOG.segment(1);
    var store = new ObjectStore(objects, LAYOUT, "s/", time, new Random(1), 10);
    Draft killed = store.draft(segment);
    killed.write(ByteBuffer.wrap(new byte[25]));
    killed.finish();
    try (Draft small = store.draft(segment)) {
      small.write(ByteBuffer.wrap(new byte[5]));
      small.finish();
      assertTrue(small.publish(segment));
    }
    store.remove(segment);
    assertEquals(List.of(), store.all());
  }

  /** O8: numbers have no gap, also where a notice of a store comes late that was destroyed. */
  @Test
  void aNoticeThatMakesAGapHidesTheNextOnes() throws Exception {
    ObjectStore store = store(objects);
    store.seal(BUCKET);
    objects.delete("s/" + LogLayout.prelock(BUCKET).within(LAYOUT.root()));
    var writer = store.enter(FILE, Durability.SYNC);
    writer.append(new ByteBuffer[] {ByteBuffer.wrap(new byte[] {1})});
    assertEquals(Mark.UNSURE, writer.look());
    assertEquals(Mark.OPEN, writer.look());
    put(LOG.notices().resolve("9999999994"), (byte) 1); // number 5, while there is none
    store.seal(BUCKET);
    var gc = new ObjectStore(objects, LAYOUT, "s/", time, new Random(2));
    gc.giveNotice(LOG.name());
    gc.remove(LogLayout.prelock(BUCKET)); // it is closed, recorded and retired
    writer.append(new ByteBuffer[] {ByteBuffer.wrap(new byte[] {2})});
    assertEquals(Mark.UNSURE, writer.look());
  }

  /** Nobody fills a gap of ten thousand millions. */
  @Test
  void aForeignNoticeIsRefused() throws Exception {
    put(LOG.notices().resolve("9999999999"));
    store(objects).giveNotice(LOG.name());
    assertTrue(store(objects).isThere(LOG.notices().resolve("9999999998"), Freshness.CERTAIN));
    put(LOG.notices().resolve("0000000001"));
    IOException e = assertThrows(IOException.class, () -> store(objects).giveNotice(LOG.name()));
    assertTrue(e.getMessage().contains("notices/0000000001"), e.getMessage());
  }
}
