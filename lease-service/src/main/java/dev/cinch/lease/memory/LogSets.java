package dev.cinch.lease.memory;

import dev.cinch.lease.LogSet;
import dev.cinch.lease.table.SharedLogs;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Sets of logs that many leases have in common, numbered from 2 on and never forgotten. What comes
 * after it is full gets no number and is kept with each lease. Thread-safe.
 */
final class LogSets implements SharedLogs {
  /** The most ids in all sets together, which take some 70 bytes each: 5 MB. */
  private static final int MAX_IDS = 65_536;

  private final int maxIds;
  private final Map<LogSet, Integer> numbers = new HashMap<>();
  private final List<LogSet> sets = new ArrayList<>();
  private int ids;

  LogSets() {
    this(MAX_IDS);
  }

  LogSets(int maxIds) {
    this.maxIds = maxIds;
  }

  @Override
  public synchronized int numberOf(LogSet logs) {
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

  @Override
  public synchronized LogSet at(int number) {
    return sets.get(number - 2);
  }
}
