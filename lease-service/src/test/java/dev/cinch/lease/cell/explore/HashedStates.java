package dev.cinch.lease.cell.explore;

import java.util.Arrays;

/** A set of states, each as a hash of 64 bits. */
final class HashedStates {
  private long[] slots = new long[1 << 16];
  private int size;

  int size() {
    return size;
  }

  /** A number that looks like chance, for each pair of numbers another one. */
  static long mix(long value, int place) {
    long hash = (value + 1) * 0x9E3779B97F4A7C15L + place * 0xC2B2AE3D27D4EB4FL;
    hash = (hash ^ (hash >>> 30)) * 0xBF58476D1CE4E5B9L;
    hash = (hash ^ (hash >>> 27)) * 0x94D049BB133111EBL;
    return hash ^ (hash >>> 31);
  }

  /** Whether it is new. */
  boolean add(long state) {
    long hash = state;
    hash = hash == 0 ? 1 : hash;
    if (!put(hash)) {
      return false;
    }
    size++;
    if (size * 2L > slots.length) {
      long[] old = slots;
      slots = new long[old.length * 2];
      Arrays.stream(old).filter(h -> h != 0).forEach(this::put);
    }
    return true;
  }

  private boolean put(long hash) {
    int i = (int) hash & (slots.length - 1);
    while (slots[i] != 0) {
      if (slots[i] == hash) {
        return false;
      }
      i = (i + 1) & (slots.length - 1);
    }
    slots[i] = hash;
    return true;
  }
}
