package dev.cinch.sim.fs;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Names that a local filesystem made or removed and may not have on its disk yet: those of a
 * directory are there for certain once it was forced. After a power cut any of the others may be as
 * they were before.
 */
final class Journal {
  /**
   * @param made whether the name was made, not removed
   */
  record Change(Path path, ServerNode node, boolean made) {}

  private final List<Change> changes = new ArrayList<>();

  void made(Path path, ServerNode node) {
    changes.add(new Change(path, node, true));
  }

  void removed(Path path, ServerNode node) {
    changes.add(new Change(path, node, false));
  }

  void forced(Path directory) {
    changes.removeIf(c -> directory.equals(c.path().getParent()));
  }

  /** Some of the changes that are not forced, the latest first; the others stay for good. */
  List<Change> lose(Rng rng) {
    var lost = new ArrayList<Change>();
    for (int i = changes.size() - 1; i >= 0; i--) {
      if (rng.oneIn(2)) {
        lost.add(changes.get(i));
      }
    }
    changes.clear();
    return lost;
  }
}
