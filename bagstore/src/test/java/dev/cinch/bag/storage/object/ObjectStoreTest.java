package dev.cinch.bag.storage.object;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Numbered;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.storage.Entered;
import dev.cinch.bag.storage.Entered.Mark;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.lease.Id;
import dev.cinch.lease.time.ManualTime;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.util.ArrayDeque;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Rules O2 to O4: what a writer makes of the answers to its puts, and of what its looks find. */
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
      boolean unused = store.publish(LOG.checkpoints().resolve(Numbered.name(1)), new byte[1]);
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

  /**
   * Whoever retires publishes the checkpoint before the mark goes, so a look goes the other way.
   */
  @Test
  void norIsOneThatIsRetiredWithinALook() throws Exception {
    var retiring = new Retiring();
    Entered entered = passed(store(retiring));
    store(objects).seal(BUCKET);
    entered.append(frame(2));
    retiring.at = "/checkpoints/";
    assertEquals(Mark.SEALED, entered.look());
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
}
