package dev.cinch.view;

import static dev.cinch.view.Retiring.open;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.Rig;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Fault;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.Share;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Worlds drawn from seeds on a local filesystem that loses power: writers of both durabilities,
 * closers, aggregators and retention, each of which dies or is told an error at some operation. Of
 * what was not forced, a part that depends on the world survives a cut, in any order. {@code
 * -Dcinch.power.runs=N} worlds of each part, {@code -Dcinch.power.from=SEED} others.
 */
class PowerCutWorldsTest {
  private static final int RUNS = Integer.getInteger("cinch.power.runs", Share.of(200, 25));
  private static final int FROM = Integer.getInteger("cinch.power.from", Share.from());

  @ParameterizedTest
  @Tag("share")
  @ValueSource(ints = {0, 30, 50, 70, 90})
  void whatWasSettledOrToldStays(int percent) throws Exception {
    for (int seed = FROM; seed < FROM + RUNS; seed++) {
      try {
        new World(seed, percent).run();
      } catch (Exception | AssertionError e) {
        throw new AssertionError("seed " + seed + ", " + percent + " % survive", e);
      }
    }
  }

  private interface Job {
    void run(Log log) throws Exception;
  }

  private static final class World {
    private final Random random;
    private final int percent;
    private final Rig rig;
    private final Set<String> submitted = new HashSet<>();
    private final Set<String> durable = new HashSet<>();
    private final Set<String> rejected = new HashSet<>();
    private List<String> settled = List.of();

    World(int seed, int percent) throws IOException {
      this.random = new Random(seed * 100L + percent);
      this.percent = percent;
      this.rig = Rig.memory(seed);
    }

    void run() throws Exception {
      int steps = 4 + random.nextInt(14);
      for (int i = 0; i < steps; i++) {
        step();
        if (random.nextInt(3) == 0) {
          look();
        }
        if (random.nextInt(4) == 0) {
          cut();
        }
      }
      cut();
      rig.settle(open(rig));
      look();
      checkTold();
      var unused = new Aggregator(open(rig)).run();
      new Retention(open(rig), Duration.ZERO).run();
      List<String> before = settled;
      look();
      assertEquals(before, settled);
    }

    private void step() throws Exception {
      switch (random.nextInt(7)) {
        case 0, 1, 2 -> failing(this::append);
        case 3 -> rig.time.advanceMs(random.nextInt(3_000));
        case 4 -> failing(rig::settle);
        case 5 -> {
          var limits = new Aggregator.Limits(1 + random.nextInt(3), Long.MAX_VALUE);
          failing(log -> merge(log, limits));
        }
        default -> failing(log -> new Retention(log, Duration.ZERO).run());
      }
    }

    /** Ends at some operation, or is told there that it failed although it did not. */
    private void failing(Job job) throws Exception {
      var faulty = new FaultyFs(rig.disk.view(Rig.ALICE));
      Log log = rig.open(faulty);
      boolean dies = random.nextInt(4) > 0;
      int at = 1 + random.nextInt(random.nextBoolean() ? 30 : 120);
      faulty.arm(at, dies ? Fault.CRASH_AFTER : Fault.ERROR_AFTER);
      try {
        job.run(log);
      } catch (FaultyFs.Crash e) {
        // As meant.
      } catch (IOException e) {
        if (dies) {
          throw e;
        }
      }
    }

    private void append(Log log) throws Exception {
      boolean forces = random.nextBoolean();
      LogWriter writer = log.writer(forces ? Durability.SYNC : Durability.CLOSE);
      int count = 1 + random.nextInt(4);
      for (int i = 0; i < count; i++) {
        String text = "m" + submitted.size() + " ";
        submitted.add(text.strip());
        rig.time.advanceMs(random.nextInt(400));
        byte[] payload = text.getBytes(StandardCharsets.UTF_8);
        // Some are so large that they are written in two steps.
        Receipt told =
            writer.append(random.nextInt(3) == 0 ? Arrays.copyOf(payload, 30_000) : payload);
        if (told instanceof Receipt.Committed && forces) {
          durable.add(text.strip());
        } else if (told instanceof Receipt.Rejected) {
          rejected.add(text.strip());
        }
      }
      if (random.nextBoolean()) {
        writer.close();
      }
    }

    private static void merge(Log log, Aggregator.Limits limits) throws IOException {
      var unused = new Aggregator(log, limits).run();
    }

    private void cut() throws IOException {
      rig.disk.powerCut(() -> random.nextInt(100) < percent);
      look();
    }

    /** What was settled before is so still, and in its place. */
    private void look() throws IOException {
      List<String> now = Lines.settled(open(rig));
      assertEquals(settled, now.subList(0, Math.min(now.size(), settled.size())));
      settled = now;
    }

    private void checkTold() {
      List<String> texts = settled.stream().map(line -> line.split(" ", -1)[5]).toList();
      var once = new HashSet<>(texts);
      assertEquals(texts.size(), once.size(), "doubled: " + texts);
      assertTrue(submitted.containsAll(once), "from nowhere: " + texts);
      assertTrue(once.containsAll(durable), "lost: " + durable + " in " + texts);
      assertTrue(rejected.stream().noneMatch(once::contains), rejected + " in " + texts);
    }
  }
}
