package dev.cinch.sim.fs;

import dev.cinch.lease.sim.Rng;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Names that a local filesystem made or removed and may not have on its disk yet: those of a
 * directory are there for certain once it was forced. After a power cut any of the others may be as
 * they were before.
 */
final class Journal {
  /**
   * @param made whether the name was made, not removed
   */
  record Change(long number, Path path, ServerNode node, boolean made) {}

  /** By directory, since most are forced soon. */
  private final Map<Path, List<Change>> changes = new HashMap<>();

  private long number;

  void made(Path path, ServerNode node) {
    add(path, node, true);
  }

  void removed(Path path, ServerNode node) {
    add(path, node, false);
  }

  private void add(Path path, ServerNode node, boolean made) {
    changes
        .computeIfAbsent(path.getParent(), directory -> new ArrayList<>())
        .add(new Change(number++, path, node, made));
  }

  void forced(Path directory) {
    changes.remove(directory);
  }

  /** Some of the changes that are not forced, the latest first; the others stay for good. */
  List<Change> lose(Rng rng) {
    var lost = new ArrayList<Change>();
    changes.values().forEach(lost::addAll);
    lost.sort(Comparator.comparingLong(Change::number).reversed());
    lost.removeIf(change -> !rng.oneIn(2));
    changes.clear();
    return lost;
  }
}
