package dev.cinch.bag.registry;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Rig;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.model.Numbered;
import dev.cinch.bag.registry.ServiceNames.SignedName;
import dev.cinch.bag.storage.posix.PosixStore;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.lease.Share;
import dev.cinch.lease.witness.SigningKey;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Rule L9, while instances remove what earlier ones left: at any file operation of one, others
 * start, publish and remove, and listings begin and end. What a listing shows in the worst case,
 * which is what stands there from its begin to its end, has to have a number that counted at its
 * begin and was the highest, or a later one. No number is taken twice.
 */
@Tag("share")
final class NumberWorldsTest {
  private static final SigningKey KEY = SigningKey.ofSeed(new byte[32]);
  private static final int WORLDS = Integer.getInteger("cinch.numbers", Share.of(1_000, 20));
  private static final int HOSTS = 4;
  private static final int STEPS = 60;

  /** Deeper than a host's operation in another's, in another's. */
  private static final int DEEPEST = 4;

  private record Look(long began, TreeSet<Long> shown) {}

  private static final class World {
    final Random random;
    final Rig rig;
    final StoreContext look;
    final FaultyFs[] hosts = new FaultyFs[HOSTS];
    final boolean[] busy = new boolean[HOSTS];
    final Set<Long> taken = new HashSet<>();
    final ArrayDeque<Look> looks = new ArrayDeque<>();
    int depth;
    int slow;

    World(long seed) throws IOException {
      random = new Random(seed);
      rig = Rig.memory(seed);
      look = rig.open(rig.disk.view(Rig.ALICE), rig.time).context().store();
      for (int i = 0; i < HOSTS; i++) {
        hosts[i] = new FaultyFs(rig.disk.view(Rig.ALICE));
        hosts[i].before(op -> meanwhile());
      }
    }

    /** Between two operations of somebody else. */
    void meanwhile() throws IOException {
      if (depth < DEEPEST && random.nextInt(8) == 0) {
        step();
      }
    }

    void step() throws IOException {
      depth++;
      if (random.nextInt(3) == 0) {
        rig.time.advanceMs(random.nextInt(60_000));
      }
      switch (random.nextInt(4)) {
        case 0 -> looks.add(new Look(rig.time.monotonicNanos(), counted()));
        case 1 -> end();
        default -> start(random.nextInt(HOSTS));
      }
      depth--;
    }

    void start(int host) throws IOException {
      if (busy[host]) {
        return;
      }
      busy[host] = true;
      try {
        var instance = new StoreInstances(rig.open(hosts[host], rig.time).context().store(), KEY);
        long number = instance.takeNumber();
        assertTrue(taken.add(number), () -> number + " was taken twice");
        if (random.nextBoolean()) {
          boolean unused = instance.publishCeiling(rig.time.wallNanos());
        }
      } catch (IOException e) {
        slow++; // each of its looks took too long
      } finally {
        busy[host] = false;
      }
    }

    void end() throws IOException {
      Look ended = looks.poll();
      if (ended != null
          && rig.time.monotonicNanos() - ended.began() <= StoreShards.LONGEST_LOOK
          && !ended.shown().isEmpty()) {
        long highest = ended.shown().last();
        var shown = new TreeSet<>(ended.shown());
        shown.retainAll(counted());
        assertTrue(
            !shown.isEmpty() && shown.last() >= highest,
            () -> "instance " + highest + " was there, and of " + ended.shown() + " is " + shown);
      }
    }

    TreeSet<Long> counted() throws IOException {
      return PosixStore.of(look.storage()).fs().list(look.layout().instances().path()).stream()
          .flatMap(name -> SignedName.parse(name).stream())
          .map(signed -> Numbered.parse(signed.base()).orElseThrow())
          .collect(Collectors.toCollection(TreeSet::new));
    }
  }

  @Test
  void l9_aListingShowsTheHighestNumberOfItsBeginAndNoneIsTakenTwice() throws IOException {
    for (long seed = 1; seed <= WORLDS; seed++) {
      try {
        var world = new World(seed);
        for (int i = 0; i < STEPS; i++) {
          world.step();
        }
      } catch (AssertionError e) {
        throw new AssertionError("world " + seed + ": " + e.getMessage(), e);
      }
    }
  }
}
