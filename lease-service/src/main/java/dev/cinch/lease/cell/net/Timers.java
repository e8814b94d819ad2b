package dev.cinch.lease.cell.net;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** Timers by their time, as a binary heap in which each knows its place. Not thread-safe. */
final class Timers {
  private static final int SMALLEST = 16;

  private @Nullable Timer[] heap = new Timer[SMALLEST];
  private int size;

  int size() {
    return size;
  }

  /** The time of the first one; {@link Long#MAX_VALUE} if there is none. */
  long next() {
    Timer first = heap[0];
    return first == null ? Long.MAX_VALUE : first.at;
  }

  /** Sets a timer, which may be set already. */
  void set(Timer timer, long at) {
    if (timer.index < 0) {
      if (size == heap.length) {
        heap = Arrays.copyOf(heap, 2 * size);
      }
      timer.at = at;
      up(size++, timer);
    } else if (at < timer.at) {
      timer.at = at;
      up(timer.index, timer);
    } else if (at > timer.at) {
      timer.at = at;
      down(timer.index, timer);
    }
  }

  /** Takes a timer out; nothing if it isn't in. */
  void cancel(Timer timer) {
    int gap = timer.index;
    if (gap < 0) {
      return;
    }
    timer.index = -1;
    Timer last = at(--size);
    heap[size] = null;
    if (last != timer) {
      if (gap > 0 && last.at < at((gap - 1) / 2).at) {
        up(gap, last);
      } else {
        down(gap, last);
      }
    }
    if (heap.length > SMALLEST && size * 4L < heap.length) {
      heap = Arrays.copyOf(heap, heap.length / 2);
    }
  }

  /** Takes out the first timer, if its time has come. */
  @Nullable Timer due(long now) {
    Timer first = heap[0];
    if (first == null || first.at > now) {
      return null;
    }
    cancel(first);
    return first;
  }

  @SuppressWarnings("NullAway") // below size there is one in each place
  private Timer at(int index) {
    return heap[index];
  }

  private void put(int index, Timer timer) {
    heap[index] = timer;
    timer.index = index;
  }

  private void up(int from, Timer timer) {
    int i = from;
    while (i > 0) {
      int parent = (i - 1) / 2;
      Timer above = at(parent);
      if (above.at <= timer.at) {
        break;
      }
      put(i, above);
      i = parent;
    }
    put(i, timer);
  }

  private void down(int from, Timer timer) {
    int i = from;
    while (true) {
      int child = 2 * i + 1;
      if (child >= size) {
        break;
      }
      if (child + 1 < size && at(child + 1).at < at(child).at) {
        child++;
      }
      Timer below = at(child);
      if (below.at >= timer.at) {
        break;
      }
      put(i, below);
      i = child;
    }
    put(i, timer);
  }

  /** Something that is due at a time. It is in at most one {@link Timers}. */
  abstract static class Timer {
    long at;

    /** Its place in the heap, or -1. */
    int index = -1;
  }
}
