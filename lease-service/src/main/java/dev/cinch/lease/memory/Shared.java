package dev.cinch.lease.memory;

import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Values that many entries have in common, kept once; forgets them all when there are many.
 * Thread-safe.
 */
final class Shared<T> {
  private static final int MAX = 4_096;
  private final ConcurrentHashMap<T, T> values = new ConcurrentHashMap<>();

  T of(T value) {
    if (values.size() > MAX) {
      values.clear();
    }
    @Nullable T first = values.putIfAbsent(value, value);
    return first == null ? value : first;
  }
}
