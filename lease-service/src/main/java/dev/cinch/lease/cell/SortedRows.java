package dev.cinch.lease.cell;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Arrays of bytes in ascending order of a part of them, their key: one structure for looking up,
 * for listing pages and for forgetting bit by bit. Rows stand in chunks, so that an insertion moves
 * little: four bytes a row where chunks are full, some six as a rule. Not thread-safe.
 */
abstract class SortedRows {
  /** Rows in a full chunk. */
  static final int CHUNK = 256;

  private static final int SMALLEST = 8;

  /** What a row takes beside its bytes in steps of eight, about: the array's header, its slot. */
  private static final int OVERHEAD = 16 + 8;

  /** Where a sweep has ended that came to the last row. */
  static final int DONE = -1;

  private static final byte[] EMPTY = {};

  private byte[][][] chunks = {};
  private int[] sizes = {};
  private int used;
  private int count;
  private long bytes;

  /** Where the last key was looked for, and in which chunk: what was read is often put next. */
  private int at;

  private int in;

  /** The key of a row. */
  abstract byte[] key(byte[] row);

  /** Compares a row's key with another one, byte by byte and without a sign. */
  abstract int compare(byte[] row, byte[] key);

  final int size() {
    return count;
  }

  /** What all rows take in the heap, about. */
  final long bytes() {
    return bytes;
  }

  /** What a row takes in the heap, about. */
  static long bytesOf(byte[] row) {
    return (row.length + 7 & ~7) + OVERHEAD;
  }

  final byte @Nullable [] get(byte[] key) {
    return used > 0 && find(key) ? chunks[in][at] : null;
  }

  /** Adds a row, or puts it in the place of the one of the same key. */
  final void put(byte[] row) {
    if (used == 0) {
      insertChunk(0, SMALLEST);
    }
    boolean found = find(key(row));
    bytes += bytesOf(row);
    if (found) {
      bytes -= bytesOf(chunks[in][at]);
      chunks[in][at] = row;
      return;
    }
    if (sizes[in] == CHUNK) {
      // Keys that come in ascending order leave full chunks behind.
      int keep = at == CHUNK ? CHUNK : CHUNK / 2;
      split(in, keep);
      if (at >= keep) {
        in++;
        at -= keep;
      }
    } else if (sizes[in] == chunks[in].length) {
      chunks[in] = Arrays.copyOf(chunks[in], 2 * sizes[in]);
      Arrays.fill(chunks[in], sizes[in], chunks[in].length, EMPTY);
    }
    byte[][] rows = chunks[in];
    System.arraycopy(rows, at, rows, at + 1, sizes[in] - at);
    rows[at] = row;
    sizes[in]++;
    count++;
  }

  /** At most so many rows from a key on, or only above it, while they match. */
  final List<byte[]> from(byte[] key, boolean inclusive, int limit, Predicate<byte[]> matches) {
    var found = new ArrayList<byte[]>();
    if (used == 0) {
      return found;
    }
    int next = find(key) && !inclusive ? at + 1 : at;
    int chunk = in;
    while (chunk < used && found.size() < limit) {
      if (next == sizes[chunk]) {
        chunk++;
        next = 0;
        continue;
      }
      byte[] row = chunks[chunk][next++];
      if (!matches.test(row)) {
        break;
      }
      found.add(row);
    }
    return found;
  }

  /** All rows. */
  final List<byte[]> all() {
    return from(EMPTY, true, Integer.MAX_VALUE, row -> true);
  }

  /**
   * Looks at some rows and drops those that may go. Beginning again where it ended, it comes to
   * all.
   *
   * @param place where it begins: where the last one ended; {@link #DONE} or 0 at first
   * @param least at how many rows it looks at least, if there are as many from there on
   * @return where the next one goes on; {@link #DONE} after the last row
   */
  final int sweep(int place, long least, Predicate<byte[]> mayGo) {
    int chunk = place < 0 || place >= used ? 0 : place;
    for (long looked = 0; looked < least && chunk < used; ) {
      looked += sizes[chunk];
      sweep(chunk, mayGo);
      if (sizes[chunk] == 0) {
        removeChunk(chunk);
      } else if (chunk > 0 && sizes[chunk - 1] + sizes[chunk] <= CHUNK / 4 * 3) {
        chunks[chunk - 1] = Arrays.copyOf(chunks[chunk - 1], CHUNK);
        System.arraycopy(chunks[chunk], 0, chunks[chunk - 1], sizes[chunk - 1], sizes[chunk]);
        sizes[chunk - 1] += sizes[chunk];
        Arrays.fill(chunks[chunk - 1], sizes[chunk - 1], CHUNK, EMPTY);
        removeChunk(chunk);
      } else {
        chunk++;
      }
    }
    return chunk < used ? chunk : DONE;
  }

  /** Whatever {@code mayGo} throws, the chunk has all that it had. */
  private void sweep(int chunk, Predicate<byte[]> mayGo) {
    var left = new byte[chunks[chunk].length][];
    int kept = 0;
    long gone = 0;
    for (int i = 0; i < sizes[chunk]; i++) {
      byte[] row = chunks[chunk][i];
      if (mayGo.test(row)) {
        gone += bytesOf(row);
      } else {
        left[kept++] = row;
      }
    }
    if (kept < sizes[chunk]) {
      Arrays.fill(left, kept, left.length, EMPTY);
      chunks[chunk] = left;
      bytes -= gone;
      count -= sizes[chunk] - kept;
      sizes[chunk] = kept;
    }
  }

  /** Looks for a key, of which there is none or which is at {@link #at}; else it would be there. */
  private boolean find(byte[] key) {
    if (in < used && at < sizes[in]) {
      int order = compare(chunks[in][at], key);
      if (order == 0 || order > 0 && at > 0 && compare(chunks[in][at - 1], key) < 0) {
        return order == 0;
      }
    }
    in = chunkOf(key);
    int found = search(in, key);
    at = found < 0 ? -found - 1 : found;
    return found >= 0;
  }

  /** The last chunk that starts at or before a key, else the first. */
  private int chunkOf(byte[] key) {
    int low = 0;
    int high = used - 1;
    while (low < high) {
      int middle = low + high + 1 >>> 1;
      if (compare(chunks[middle][0], key) <= 0) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  /** Where a key is in a chunk; -(where it would be) - 1 if it is not. */
  private int search(int chunk, byte[] key) {
    byte[][] rows = chunks[chunk];
    int low = 0;
    int high = sizes[chunk] - 1;
    while (low <= high) {
      int middle = low + high >>> 1;
      int order = compare(rows[middle], key);
      if (order == 0) {
        return middle;
      }
      if (order < 0) {
        low = middle + 1;
      } else {
        high = middle - 1;
      }
    }
    return -low - 1;
  }

  private void split(int chunk, int keep) {
    insertChunk(chunk + 1, CHUNK);
    byte[][] from = chunks[chunk];
    int moved = sizes[chunk] - keep;
    System.arraycopy(from, keep, chunks[chunk + 1], 0, moved);
    // The moved ones must not stay reachable from here once they are replaced there.
    Arrays.fill(from, keep, from.length, EMPTY);
    sizes[chunk] = keep;
    sizes[chunk + 1] = moved;
  }

  private void insertChunk(int at, int length) {
    if (used == chunks.length) {
      int more = used + used / 2 + 1;
      chunks = Arrays.copyOf(chunks, more);
      sizes = Arrays.copyOf(sizes, more);
    }
    System.arraycopy(chunks, at, chunks, at + 1, used - at);
    System.arraycopy(sizes, at, sizes, at + 1, used - at);
    chunks[at] = new byte[length][];
    sizes[at] = 0;
    used++;
  }

  private void removeChunk(int at) {
    used--;
    System.arraycopy(chunks, at + 1, chunks, at, used - at);
    System.arraycopy(sizes, at + 1, sizes, at, used - at);
    chunks[used] = new byte[0][];
  }
}
