package dev.cinch.lease.memory;

import dev.cinch.lease.table.LeaseState;
import org.jspecify.annotations.Nullable;

/**
 * The last lease of one name, unpacked to work on; the table keeps it as a {@link LeaseRow} and
 * replaces that when all is done. Not thread-safe.
 */
final class LeaseEntry extends LeaseState {
  /** What it was unpacked from; null if it is the first of its name. */
  byte @Nullable [] row;

  LeaseEntry(String name) {
    super(name);
  }
}
