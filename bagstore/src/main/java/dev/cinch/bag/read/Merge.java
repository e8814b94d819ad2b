package dev.cinch.bag.read;

import java.io.IOException;
import java.util.List;

/**
 * Merges the data files of one bucket into the total order: timestamp, then the file's name
 * bytewise, then position (section 1). A binary heap whose top advances in place; as long as one
 * file runs ahead of all others nothing is moved. Not thread-safe.
 */
final class Merge {
  private final DataFileCursor[] heap;
  private int size;
  private boolean started;

  /**
   * @param cursors each before its first message
   */
  Merge(List<DataFileCursor> cursors) throws IOException {
    heap = new DataFileCursor[cursors.size()];
    for (DataFileCursor c : cursors) {
      if (c.next()) {
        heap[size++] = c;
      }
    }
    for (int i = size / 2 - 1; i >= 0; i--) {
      sink(i);
    }
  }

  /** The next message in order; null at the end. */
  @org.jspecify.annotations.Nullable
  DataFileCursor next() throws IOException {
    if (started && size > 0) {
      if (!heap[0].next()) {
        heap[0] = heap[--size];
      }
      sink(0);
    }
    started = true;
    return size == 0 ? null : heap[0];
  }

  private void sink(int index) {
    int i = index;
    while (true) {
      int child = 2 * i + 1;
      if (child >= size) {
        return;
      }
      if (child + 1 < size && before(heap[child + 1], heap[child])) {
        child++;
      }
      if (!before(heap[child], heap[i])) {
        return;
      }
      DataFileCursor moved = heap[i];
      heap[i] = heap[child];
      heap[child] = moved;
      i = child;
    }
  }

  private static boolean before(DataFileCursor a, DataFileCursor b) {
    int order = Long.compare(a.timestamp(), b.timestamp());
    return order != 0 ? order < 0 : a.sortName().compareTo(b.sortName()) < 0;
  }
}
