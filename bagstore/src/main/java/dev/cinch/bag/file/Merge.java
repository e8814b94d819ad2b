package dev.cinch.bag.file;

import java.io.IOException;
import java.util.List;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * Merges the data files of one bucket into the total order: timestamp, then the file's name
 * bytewise, then position (section 1). A binary heap whose top advances in place; as long as one
 * file runs ahead of all others nothing is moved. A file of which the lock says when it begins is
 * not read before its turn. Not thread-safe.
 */
final class Merge {
  private final DataFileCursor[] heap;

  /** The timestamps of the cursors in the heap, side by side: most comparisons need no cursor. */
  private final long[] keys;

  private int size;
  private boolean started;

  /**
   * @param cursors each before its first message
   */
  Merge(List<DataFileCursor> cursors) throws IOException {
    heap = new DataFileCursor[cursors.size()];
    keys = new long[cursors.size()];
    for (DataFileCursor c : cursors) {
      OptionalLong first = c.firstExpected();
      if (first.isPresent()) {
        heap[size] = c;
        keys[size++] = first.getAsLong();
      } else if (c.next()) {
        heap[size] = c;
        keys[size++] = c.timestamp();
      }
    }
    for (int i = size / 2 - 1; i >= 0; i--) {
      sink(i, heap[i], keys[i]);
    }
  }

  /** The next message in order; null at the end. */
  @Nullable DataFileCursor next() throws IOException {
    if (started && size > 0) {
      advance();
    }
    started = true;
    while (size > 0 && heap[0].firstExpected().isPresent()) {
      advance();
    }
    if (size == 0) {
      return null;
    }
    heap[0].load();
    return heap[0];
  }

  private void advance() throws IOException {
    DataFileCursor top = heap[0];
    if (top.next()) {
      sink(0, top, top.timestamp());
    } else {
      size--;
      sink(0, heap[size], keys[size]);
    }
  }

  /** Puts a cursor where it belongs at or below an index, moving up what comes before it. */
  private void sink(int index, DataFileCursor cursor, long key) {
    int i = index;
    while (true) {
      int child = 2 * i + 1;
      if (child >= size) {
        break;
      }
      if (child + 1 < size && before(child + 1, heap[child], keys[child])) {
        child++;
      }
      if (!before(child, cursor, key)) {
        break;
      }
      heap[i] = heap[child];
      keys[i] = keys[child];
      i = child;
    }
    heap[i] = cursor;
    keys[i] = key;
  }

  /** Whether what stands at an index of the heap comes before a cursor. */
  private boolean before(int index, DataFileCursor cursor, long key) {
    long other = keys[index];
    return other != key ? other < key : heap[index].sortName().compareTo(cursor.sortName()) < 0;
  }
}
