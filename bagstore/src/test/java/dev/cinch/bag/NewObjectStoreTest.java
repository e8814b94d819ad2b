package dev.cinch.bag;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.storage.object.BrokenPromiseException;
import dev.cinch.bag.storage.object.FakeObjects;
import dev.cinch.bag.storage.object.Objects;
import dev.cinch.lease.time.ManualTime;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import org.junit.jupiter.api.Test;

/** How a store is made among objects. */
class NewObjectStoreTest {
  private static final Name ROOT = new Name("s3://bucket/p");

  private final ManualTime time = new ManualTime();
  private final FakeObjects objects = new FakeObjects(time);

  private NewObjectStore at(Objects there) {
    var environment = Store.Environment.of(new MachineName("m1"), time);
    return new NewObjectStore(there, ROOT, "p/", environment);
  }

  private List<String> keys() {
    return objects.list("", "", false).objects().stream().map(Objects.Listed::key).toList();
  }

  @Test
  void isMadeWhereTheServerKeepsItsPromises() throws Exception {
    at(objects).make(StoreSettings.OF_OBJECTS, null);
    assertEquals(List.of("p/store.json"), keys());
    assertEquals(StoreSettings.OF_OBJECTS, at(objects).open().identity().settings());
  }

  /** And nothing of it is there where the server does not, not even a key. */
  @Test
  void isNotMadeWhereTwoWritersWin() {
    var overwriting =
        new Objects() {
          @Override
          public synchronized boolean put(String key, ByteBuffer... body) {
            objects.delete(key);
            return objects.put(key, body);
          }

          @Override
          public Got get(String key, long from, int most) throws IOException {
            return objects.get(key, from, most);
          }

          @Override
          public Listing list(String prefix, String after, boolean places) {
            return objects.list(prefix, after, places);
          }

          @Override
          public void delete(String key) {
            objects.delete(key);
          }
        };
    var e =
        assertThrows(
            BrokenPromiseException.class,
            () ->
                at(overwriting)
                    .make(
                        StoreSettings.OF_OBJECTS,
                        () -> {
                          throw new AssertionError("no key is made for it");
                        }));
    assertEquals(
        "s3://bucket/p: 32 of 32 writers were told that they made the same object: this server does"
            + " not keep If-None-Match, so messages would be lost; take another server",
        e.getMessage());
    assertEquals(List.of(), keys());
  }

  /** Whoever tried out the server may have been killed, or be at it. */
  @Test
  void whatTriedOutTheServerIsNotInTheWay() throws Exception {
    boolean unused = objects.put("p/tmp-0123456789abcdef0123456789abcdef/tmp-race-0");
    at(objects).make(StoreSettings.OF_OBJECTS, null);
    assertEquals(2, keys().size());
    unused = objects.put("q/something");
    var other =
        new NewObjectStore(objects, new Name("s3://bucket/q"), "q/", at(objects).environment());
    assertThrows(StoreExistsException.class, () -> other.make(StoreSettings.OF_OBJECTS, null));
  }
}
