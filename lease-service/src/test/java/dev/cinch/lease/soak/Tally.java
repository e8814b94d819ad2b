package dev.cinch.lease.soak;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;

/** How often what was done. Thread-safe. */
final class Tally {
  private final ConcurrentMap<String, LongAdder> counts = new ConcurrentHashMap<>();

  void count(String what) {
    counts.computeIfAbsent(what, unused -> new LongAdder()).increment();
  }

  long of(String what) {
    LongAdder count = counts.get(what);
    return count == null ? 0 : count.sum();
  }

  /** All together. */
  long sum() {
    return counts.values().stream().mapToLong(LongAdder::sum).sum();
  }

  @Override
  public String toString() {
    return counts.entrySet().stream()
        .sorted(Map.Entry.comparingByKey())
        .map(e -> e.getKey() + " " + e.getValue().sum())
        .collect(Collectors.joining(", "));
  }
}
