package dev.cinch.lease.sim;

import java.util.LinkedHashMap;
import java.util.Map;

/** How often what happened in worlds. */
public final class Counts {
  private final Map<String, Long> counts = new LinkedHashMap<>();

  public void add(String what, long times) {
    counts.merge(what, times, Long::sum);
  }

  public void add(Counts more) {
    more.counts.forEach(this::add);
  }

  public long of(String what) {
    return counts.getOrDefault(what, 0L);
  }

  @Override
  public String toString() {
    var text = new StringBuilder();
    counts.forEach((what, times) -> text.append("%,16d  %s%n".formatted(times, what)));
    return text.toString();
  }
}
