package dev.cinch.lease;

import java.util.Collection;
import java.util.SortedSet;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The logs that a lease permits its holder to write to, or that a fence concerns.
 *
 * <p>Either every log there is ({@link #ALL}) or a finite, possibly empty set. Immutable and
 * thread-safe.
 *
 * @param all whether every log belongs to it; then {@code ids} is empty
 * @param ids the logs, in ascending order
 */
public record LogSet(boolean all, SortedSet<Id> ids) {
  /** Every log of the store, also those that do not exist yet. */
  public static final LogSet ALL = new LogSet(true, new TreeSet<>());

  /** No log at all. */
  public static final LogSet NONE = new LogSet(false, new TreeSet<>());

  public LogSet {
    ids = java.util.Collections.unmodifiableSortedSet(new TreeSet<>(ids));
    if (all && !ids.isEmpty()) {
      throw new IllegalArgumentException("the set of all logs names none");
    }
  }

  /** The set of exactly these logs. */
  public static LogSet of(Collection<Id> ids) {
    return ids.isEmpty() ? NONE : new LogSet(false, new TreeSet<>(ids));
  }

  public boolean contains(Id log) {
    return all || ids.contains(log);
  }

  public boolean isEmpty() {
    return this == NONE || (!all && ids.isEmpty());
  }

  /** Every log that is in this set or in the other. */
  public LogSet union(LogSet other) {
    if (all || other.all) {
      return ALL;
    }
    if (other.ids.isEmpty()) {
      return this;
    }
    var both = new TreeSet<>(ids);
    both.addAll(other.ids);
    return new LogSet(false, both);
  }

  /** By hand, as that of {@link Witness}. */
  @Override
  public boolean equals(@Nullable Object o) {
    return o == this || (o instanceof LogSet set && all == set.all && ids.equals(set.ids));
  }

  @Override
  public int hashCode() {
    return 31 * Boolean.hashCode(all) + ids.hashCode();
  }
}
