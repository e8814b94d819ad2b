package dev.cinch.bag.storage.object;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.OwnPaths;
import dev.cinch.lease.time.ManualTime;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Each fake breaks one promise, and one probe tells. */
class ObjectProbeTest {
  private static final Name ROOT = new Name("s3://bucket/p");
  private static final long SECOND = 1_000_000_000;
  private static final int FIRST = 32; // a later writer wins against so many

  private final ManualTime time = new ManualTime();
  private final FakeObjects good = new FakeObjects(time);

  /** Passes all on; a test changes one thing. */
  private abstract class Passing extends PassingObjects {
    Passing() {
      super(good);
    }
  }

  private interface Step {
    void of(ObjectProbe probe) throws IOException;
  }

  private static void race(ObjectProbe probe) throws IOException {
    probe.race(2);
  }

  private void run(Objects objects, Step step) throws IOException {
    try (var probe = new ObjectProbe(objects, ROOT, "p/", time, new Random(1))) {
      step.of(probe);
    }
  }

  private void runAll(Objects objects) throws IOException {
    for (Step step :
        List.<Step>of(
            ObjectProbeTest::race,
            ObjectProbe::reads,
            ObjectProbe::parts,
            ObjectProbe::names,
            ObjectProbe::listings)) {
      run(objects, step);
    }
    run(
        objects,
        probe -> {
          long there = probe.clock();
          assertEquals(time.wallNanos() / SECOND * SECOND + SECOND / 2, there);
        });
  }

  private void broken(String seen, Step step, Objects objects) {
    var e = assertThrows(BrokenPromiseException.class, () -> run(objects, step));
    assertTrue(e.seen().matches(seen), e.seen());
    assertTrue(e.getMessage().endsWith("; take another server"), e.getMessage());
    assertEquals(List.of(), left());
  }

  private List<Objects.Listed> left() {
    return good.list("", "", false).objects();
  }

  @Test
  void aGoodServerKeepsAllAndNothingIsLeft() throws Exception {
    var put = Collections.synchronizedList(new ArrayList<String>());
    runAll(
        new Passing() {
          @Override
          public boolean put(String key, ByteBuffer... body) {
            put.add(key);
            return good.put(key, body);
          }
        });
    assertEquals(List.of(), left());
    for (String key : put) {
      assertTrue(key.startsWith("p/") && OwnPaths.has(key.substring(2), false), key);
    }
  }

  /** Whoever is not answered knows nothing, and that breaks no promise. */
  @Test
  void unknownAnswersBreakNothing() throws Exception {
    for (int seed = 0; seed < 3; seed++) {
      var faulty = new FaultyObjects(good, seed, false);
      runAll(
          new Passing() {
            @Override
            public boolean put(String key, ByteBuffer... body) throws IOException {
              return faulty.put(key, body);
            }

            @Override
            public Got get(String key, long from, int most) throws IOException {
              return faulty.get(key, from, most);
            }

            @Override
            public Listing list(String prefix, String after, boolean places) throws IOException {
              return faulty.list(prefix, after, places);
            }
          });
      assertEquals(List.of(), left());
    }
  }

  @Test
  void theLastOneMustNotWin() {
    broken(
        "[0-9]+ of 32 writers were told that they made the same object",
        ObjectProbeTest::race,
        new Passing() {
          @Override
          public boolean put(String key, ByteBuffer... body) {
            good.delete(key);
            return good.put(key, body);
          }
        });
  }

  @Test
  void twoMustNotBeToldThatTheyWon() {
    var puts = new AtomicInteger();
    broken(
        "2 of 32 writers were told that they made the same object",
        ObjectProbeTest::race,
        new Passing() {
          @Override
          public boolean put(String key, ByteBuffer... body) {
            boolean made = good.put(key, body);
            return puts.incrementAndGet() == 32 || made && puts.get() > 0;
          }
        });
  }

  @Test
  void aLaterOneMustNotBeToldSo() {
    var puts = new AtomicInteger();
    broken(
        "a later writer was told that it made an object that was there",
        ObjectProbeTest::race,
        new Passing() {
          @Override
          public boolean put(String key, ByteBuffer... body) {
            return puts.incrementAndGet() > FIRST | good.put(key, body);
          }
        });
  }

  /** It is told the truth, and has overwritten the object all the same. */
  @Test
  void aLaterOneMustNotChangeIt() {
    var puts = new AtomicInteger();
    broken(
        "32 of 32 readers saw other bytes than those of the writer that made the object",
        ObjectProbeTest::race,
        new Passing() {
          @Override
          public boolean put(String key, ByteBuffer... body) {
            if (puts.incrementAndGet() > FIRST) {
              good.delete(key);
              boolean unused = good.put(key, body);
              return false;
            }
            return good.put(key, body);
          }
        });
  }

  @Test
  void somebodyMustBeToldThatItWon() {
    broken(
        "of 32 writers none was told that it made the object, in 2 rounds",
        ObjectProbeTest::race,
        new Passing() {
          @Override
          public boolean put(String key, ByteBuffer... body) {
            boolean unused = good.put(key, body);
            return false;
          }
        });
  }

  /** What somebody missed is missing to whoever asks once more. */
  private final class Remembering extends Passing {
    private final Map<String, Integer> missing = new ConcurrentHashMap<>();
    private final int most;

    Remembering(int most) {
      this.most = most;
    }

    @Override
    public Got get(String key, long from, int length) throws IOException {
      if (missing.containsKey(key) && missing.merge(key, 1, Integer::sum) > most) {
        throw new NoSuchFileException(key);
      }
      try {
        return good.get(key, from, length);
      } catch (NoSuchFileException e) {
        int unused = missing.merge(key, 1, Integer::sum);
        throw e;
      }
    }
  }

  @Test
  void whatWasMissingMustNotBeRemembered() {
    broken(
        "[0-9]+ of 32 readers were told that an object is not there, which had been put",
        ObjectProbeTest::race,
        new Remembering(32));
    broken(
        "an object that was put is missing in a get after that",
        ObjectProbe::reads,
        new Remembering(1));
  }

  @Test
  void nothingMustBeThereThatNobodyPut() {
    Objects full =
        new Passing() {
          @Override
          public Got get(String key, long from, int most) {
            return new Got(new byte[0], 0, 0, 0);
          }
        };
    broken(".* is there, and nobody put it", ObjectProbeTest::race, full);
    broken("an object is there that nobody put", ObjectProbe::reads, full);
  }

  @Test
  void aPartMustBeTheOneThatWasAskedFor() {
    broken(
        "of 10 bytes 4 from byte 3 on were asked for, and 10 of 10 came, or others",
        ObjectProbe::parts,
        new Passing() {
          @Override
          public Got get(String key, long from, int most) throws IOException {
            return good.get(key, 0, most == 0 ? 0 : 100);
          }
        });
    broken(
        "of 0 bytes .*",
        ObjectProbe::parts,
        new Passing() {
          @Override
          public boolean put(String key, ByteBuffer... body) {
            return good.put(key, body[0].hasRemaining() ? body[0] : ByteBuffer.allocate(1));
          }
        });
  }

  /** As a filesystem does that takes two letters for one. */
  @Test
  void namesMustNotBeFolded() {
    broken(
        "the bytes of .*/tmp-a0 are those of another object",
        ObjectProbe::names,
        new Passing() {
          @Override
          public boolean put(String key, ByteBuffer... body) {
            return good.put(key.replace('T', 'a'), body);
          }

          @Override
          public Got get(String key, long from, int most) throws IOException {
            return good.get(key.replace('T', 'a'), from, most);
          }

          @Override
          public void delete(String key) {
            good.delete(key.replace('T', 'a'));
          }
        });
  }

  @Test
  void listingsMustHaveAllAtOnce() {
    var late = new ConcurrentHashMap<String, Boolean>();
    broken(
        "a listing of 1024 objects lacks 1 that were put, like tmp-00/tmp-07",
        ObjectProbe::listings,
        new Passing() {
          @Override
          public Listing list(String prefix, String after, boolean places) {
            Listing page = good.list(prefix, after, places);
            return new Listing(
                page.objects().stream()
                    .filter(
                        o -> !o.key().endsWith("tmp-00/tmp-07") || late.put(o.key(), true) != null)
                    .toList(),
                page.prefixes(),
                page.continuation());
          }
        });
  }

  @Test
  void listingsMustGoOn() {
    broken(
        "a listing of 1024 objects lacks 1021 that were put, like tmp-00/tmp-03",
        ObjectProbe::listings,
        new Passing() {
          @Override
          public Listing list(String prefix, String after, boolean places) {
            Listing page = good.list(prefix, after, places);
            return new Listing(page.objects(), page.prefixes(), Optional.empty());
          }
        });
  }

  @Test
  void listingsMustHaveAnOrder() {
    broken(
        "a listing of 11 objects with all characters of names has another order, or some twice",
        ObjectProbe::names,
        new Passing() {
          @Override
          public Listing list(String prefix, String after, boolean places) {
            Listing page = good.list(prefix, after, places);
            var turned = new ArrayList<>(page.objects());
            Collections.reverse(turned);
            return new Listing(turned, page.prefixes(), page.continuation());
          }
        });
  }

  @Test
  void listingsMustTellPlaces() {
    broken(
        "a listing of 32 places .*",
        ObjectProbe::listings,
        new Passing() {
          @Override
          public Listing list(String prefix, String after, boolean places) {
            return good.list(prefix, after, false);
          }
        });
  }

  @Test
  void whatWasDeletedMustNotBeListed() {
    var gone = new ConcurrentHashMap<String, Boolean>();
    var e =
        assertThrows(
            BrokenPromiseException.class,
            () ->
                run(
                    new Passing() {
                      @Override
                      public void delete(String key) {
                        if (!key.endsWith("tmp-31/tmp-31") || gone.put(key, true) != null) {
                          good.delete(key);
                        }
                      }
                    },
                    ObjectProbe::listings));
    assertEquals("a listing of 32 objects has 1 more, like tmp-31/tmp-31", e.seen());
    assertEquals(List.of(), left());
  }

  @Test
  void whatWasDeletedMustNotBeGot() {
    var all = new FakeObjects(time);
    broken(
        "an object that was deleted is there in a get after that",
        ObjectProbe::listings,
        new Passing() {
          @Override
          public boolean put(String key, ByteBuffer... body) {
            return all.put(key, body) & good.put(key, body);
          }

          @Override
          public Got get(String key, long from, int most) throws IOException {
            return all.get(key, from, most);
          }
        });
  }

  @Test
  void timesMustBeThoseOfOneClock() {
    for (long off : new long[] {-60, 60}) {
      broken(
          "an object that was put just now changed -?60 s ago, as the server says",
          ObjectProbe::clock,
          new Passing() {
            @Override
            public Got get(String key, long from, int most) throws IOException {
              Got got = good.get(key, from, most);
              return new Got(got.bytes(), got.size(), got.changedAt() + off * SECOND, got.now());
            }
          });
    }
  }
}
