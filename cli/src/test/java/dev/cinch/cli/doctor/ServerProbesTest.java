package dev.cinch.cli.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.storage.object.FakeObjects;
import dev.cinch.bag.storage.object.ObjectProbe;
import dev.cinch.bag.storage.object.Objects;
import dev.cinch.bag.storage.object.RefusedException;
import dev.cinch.lease.time.ManualTime;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class ServerProbesTest {
  private static final long SECOND = 1_000_000_000;

  private final ManualTime time = new ManualTime();
  private final FakeObjects objects = new FakeObjects(time);
  private final Diagnosed diagnosed = new Diagnosed();

  private void run(Objects there, TimeSource machine) throws IOException {
    var root = new Name("s3://bucket/p");
    try (var probe = new ObjectProbe(there, root, "p/", time, new Random(1))) {
      new ServerProbes(probe, StoreSettings.OF_OBJECTS, machine, diagnosed.diagnosis).run();
    }
  }

  /** Another server, whose puts are as a test says. */
  private class Putting implements Objects {
    @Override
    public synchronized boolean put(String key, ByteBuffer... body) throws IOException {
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
  }

  @Test
  void whatIsKeptIsTold() throws Exception {
    run(objects, time);
    assertTrue(diagnosed.lines().stream().allMatch(l -> l.startsWith("ok   ")));
    diagnosed.has("ok   32 writers at once, 32 times: one made the object", "published once");
    diagnosed.has("ok   reads after writes", "missing");
    diagnosed.has("ok   parts of objects", "read");
    diagnosed.has("ok   all characters of names", "own");
    diagnosed.has("ok   listings of 1,024 objects", "closers");
    diagnosed.has("ok   server's clock", "2.000 s ahead to 2.000 s behind are allowed");
    assertEquals(6, diagnosed.lines().size());
    assertEquals(0, objects.list("", "", false).objects().size());
  }

  @Test
  void whatIsBrokenIsToldAndTheRestIsTried() throws Exception {
    run(new Putting(), time);
    diagnosed.has("FAIL 32 of 32 writers were told", "messages would be lost; take another server");
    diagnosed.has("ok   listings of 1,024 objects", "closers");
    assertTrue(diagnosed.diagnosis.failed());
  }

  @Test
  void whoMayNotPutIsToldSoOnce() throws Exception {
    run(
        new Putting() {
          @Override
          public boolean put(String key, ByteBuffer... body) throws IOException {
            throw new RefusedException("PUT: no");
          }
        },
        time);
    diagnosed.has("FAIL put: PUT: no", "Cinch can't work there");
    diagnosed.has("note nothing else was tried", "run this again");
    assertEquals(2, diagnosed.lines().size());
  }

  /** The time there is taken as the middle of its second. */
  @Test
  void aClockThatIsOffIs() throws Exception {
    for (long off : new long[] {-1, 2}) {
      run(objects, time.skewed(new AtomicLong(off * SECOND)));
      assertFalse(diagnosed.diagnosis.failed());
    }
    run(objects, time.skewed(new AtomicLong(-10 * SECOND)));
    diagnosed.has("FAIL server's clock +10.5 s from this machine's", "set the clock (NTP)");
  }
}
