package dev.cinch.view;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.Rig;
import dev.cinch.bag.storage.posix.PosixStore;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** What tests of retention begin with. */
final class Retiring {
  static final Duration HOUR = Duration.ofHours(1);

  /** Some records, one segment each. */
  static Rig rig(long seed, int records) throws Exception {
    Rig rig = Rig.memory(seed);
    for (int i = 0; i < records; i++) {
      Lines.write(rig, 5, 5);
    }
    return rig;
  }

  static Log open(Rig rig) throws IOException {
    return rig.open(rig.disk.view(Rig.ALICE));
  }

  static void aggregate(Rig rig) throws IOException {
    var limits = new Aggregator.Limits(1, Long.MAX_VALUE);
    assertTrue(new Aggregator(open(rig), limits).run().published() > 0);
    rig.disk.forceAll();
  }

  static List<Path> files(Log log, Path directory) throws IOException {
    var found = new ArrayList<Path>();
    for (String name : PosixStore.of(log.context().store().storage()).fs().list(directory)) {
      Path path = directory.resolve(name);
      try {
        found.addAll(files(log, path));
      } catch (java.nio.file.NotDirectoryException e) {
        found.add(path);
      }
    }
    return found;
  }

  private Retiring() {}
}
