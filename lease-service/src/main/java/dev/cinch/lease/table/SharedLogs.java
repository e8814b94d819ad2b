package dev.cinch.lease.table;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LogSet;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Sets of logs that many leases have in common, and which are not written out with each: numbered
 * from 2 on and never forgotten. What comes after it is full gets no number and is kept with each
 * lease. Thread-safe.
 */
@CheckReturnValue
public final class SharedLogs {
  /** There are none. */
  public static final SharedLogs NONE = new SharedLogs(0);

  /** The most ids in all sets together, which take some 70 bytes each: 5 MB. */
  private static final int MAX_IDS = 65_536;

  private final int maxIds;
  private final Map<LogSet, Integer> numbers = new HashMap<>();
  private final List<LogSet> sets = new ArrayList<>();
  private int ids;

  public SharedLogs() {
    this(MAX_IDS);
  }

  /**
   * @param maxIds so many ids all sets together may have
   */
  public SharedLogs(int maxIds) {
    this.maxIds = maxIds;
  }

  /** The number of a set that is neither empty nor all logs, from 2; -1 if it has none. */
  public int numberOf(LogSet logs) {
    return maxIds == 0 ? -1 : numbered(logs);
  }

  private synchronized int numbered(LogSet logs) {
    Integer known = numbers.get(logs);
    if (known != null) {
      return known;
    }
    if (ids + logs.ids().size() > maxIds) {
      return -1;
    }
    ids += logs.ids().size();
    sets.add(logs);
    int number = sets.size() + 1;
    numbers.put(logs, number);
    return number;
  }

  /**
   * The set of a number.
   *
   * @throws IllegalArgumentException if {@link #numberOf} did not give it
   */
  public synchronized LogSet at(int number) {
    if (number < 2 || number > sets.size() + 1) {
      throw new IllegalArgumentException("no set of logs has number " + number);
    }
    return sets.get(number - 2);
  }
}
