package dev.cinch.bag.registry;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Rig;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.registry.ServiceNames.CeilingName;
import dev.cinch.bag.registry.ServiceNames.SignedName;
import dev.cinch.bag.storage.posix.PosixStore;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.lease.Share;
import dev.cinch.lease.witness.SigningKey;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Rule L3, for nodes that publish under one number: at any file operation of one, others publish
 * and start again, and a later instance takes its number and lists. What it finds in the worst
 * case, which is what stands there from the begin of its listing to the end, has to be as high as
 * all that any node may sign.
 */
@Tag("share")
final class CellCeilingsTest {
  private static final SigningKey KEY = SigningKey.ofSeed(new byte[32]);
  private static final int WORLDS = Integer.getInteger("cinch.cell.ceilings", Share.of(3_000, 30));
  private static final int NODES = 5;
  private static final int STEPS = 60;

  /** Deeper than a node's operation in another's, in another's. */
  private static final int DEEPEST = 4;

  private static final class World {
    final Random random;
    final Rig rig;
    final List<Node> nodes = new ArrayList<>();
    final StoreContext look;
    final long number;
    final int takesAt;
    long highestPermitted = Long.MIN_VALUE;
    long now = 1_000;
    int steps;
    int depth;

    /** How far the later instance is. */
    int later;

    Set<String> stood = Set.of();

    World(long seed) throws IOException {
      random = new Random(seed);
      rig = Rig.memory(seed);
      look = rig.open(rig.disk.view(Rig.ALICE), rig.time).context().store();
      number = new StoreInstances(look, KEY).takeNumber();
      takesAt = 10 + random.nextInt(STEPS);
      for (int i = 0; i < NODES; i++) {
        nodes.add(new Node());
      }
    }

    final class Node {
      final FaultyFs fs = new FaultyFs(rig.disk.view(Rig.ALICE));
      final StoreContext store;
      StoreInstances instances;
      long highest = Long.MIN_VALUE;
      boolean busy;

      Node() throws IOException {
        store = rig.open(fs, rig.time).context().store();
        instances = StoreInstances.ofCell(store, number, KEY);
        fs.before(op -> meanwhile());
      }

      void act() throws IOException {
        busy = true;
        if (random.nextInt(8) == 0) {
          instances = StoreInstances.ofCell(store, number, KEY);
          highest = Long.MIN_VALUE;
        }
        long ceiling = Math.max(highest + 1, now + random.nextInt(6));
        highest = ceiling;
        if (instances.publishCeiling(ceiling)) {
          highestPermitted = Math.max(highestPermitted, ceiling);
        }
        busy = false;
      }
    }

    /** Between two operations of somebody else. */
    void meanwhile() throws IOException {
      if (depth < DEEPEST && random.nextInt(3) == 0) {
        step();
      }
    }

    void step() throws IOException {
      depth++;
      steps++;
      now += random.nextInt(3);
      if (later < 3 && steps >= takesAt && random.nextInt(4) == 0) {
        later();
      }
      Node node = nodes.get(random.nextInt(NODES));
      if (!node.busy) {
        node.act();
      }
      depth--;
    }

    void later() throws IOException {
      later++;
      if (later == 1) {
        assertTrue(new StoreInstances(look, KEY).takeNumber() > number);
      } else if (later == 2) {
        stood = listed();
      } else {
        stood.retainAll(listed());
      }
    }

    Set<String> listed() throws IOException {
      return new HashSet<>(
          PosixStore.of(look.storage()).fs().list(look.layout().ceilings().path()));
    }

    void run() throws IOException {
      while (later < 3) {
        step();
      }
      for (int i = 0; i < 10; i++) {
        step();
      }
      long found =
          stood.stream()
              .flatMap(
                  name -> SignedName.parse(name).flatMap(s -> CeilingName.parse(s.base())).stream())
              .mapToLong(CeilingName::ceiling)
              .max()
              .orElse(Long.MIN_VALUE);
      assertTrue(
          highestPermitted <= found,
          () -> highestPermitted + " may be signed, and " + found + " is what was found");
    }
  }

  @Test
  void l3_noNodeSignsAboveWhatALaterInstanceFinds() throws IOException {
    for (long seed = 1; seed <= WORLDS; seed++) {
      try {
        new World(seed).run();
      } catch (AssertionError e) {
        throw new AssertionError("world " + seed + ": " + e.getMessage(), e);
      }
    }
  }
}
