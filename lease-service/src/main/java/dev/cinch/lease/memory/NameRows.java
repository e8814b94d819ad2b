package dev.cinch.lease.memory;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Rows in ascending order of their names, which serves looking one up and listing a page alike. In
 * chunks, so that an insertion moves little; four bytes a row where chunks are full, some six else.
 * Not thread-safe.
 *
 * <p>A row that got lost would be a lease that is granted twice. So whatever may fail for want of
 * memory comes before the first change.
 */
final class NameRows {
  /** Rows in a full chunk. */
  private static final int CHUNK = 256;

  private static final byte[] EMPTY = {};

  private byte[][][] chunks = {};
  private int[] sizes = {};
  private int used;
  private int count;
  private long bytes;

  /** What all rows take in the heap, index included; about. */
  long bytes() {
    return bytes;
  }

  /** An array's header, its bytes in steps of eight, and its slots here and in {@link Grants}. */
  static long bytesOf(byte[] row) {
    return (16 + row.length + 7 & ~7) + 16;
  }

  int size() {
    return count;
  }

  byte @Nullable [] get(String name) {
    if (used == 0) {
      return null;
    }
    byte[] key = LeaseRow.key(name);
    int chunk = chunkOf(key);
    int at = search(chunk, key);
    return at < 0 ? null : chunks[chunk][at];
  }

  /**
   * Puts a row in the place of that of the same name, or its bytes there if it is of the same
   * request and as long: of leases that are renewed the collector then sees nothing new. Only with
   * the monitor of the request's grants held, which share the row.
   *
   * @param before the row that there is; null if there is none
   * @return the row that is there now
   */
  byte[] renew(byte @Nullable [] before, byte[] row) {
    if (before != null
        && before.length == row.length
        && LeaseRow.isCurrent(before)
        && LeaseRow.haveOneId(before, row)) {
      System.arraycopy(row, 0, before, 0, row.length);
      return before;
    }
    put(row);
    return row;
  }

  /** Adds a row, or puts it in the place of the one of the same name. */
  void put(byte[] row) {
    if (used == 0) {
      insertChunk(0);
    }
    byte[] key = LeaseRow.keyOf(row);
    int chunk = chunkOf(key);
    int at = search(chunk, key);
    if (at >= 0) {
      bytes += bytesOf(row) - bytesOf(chunks[chunk][at]);
      LeaseRow.replaced(chunks[chunk][at]);
      chunks[chunk][at] = row;
      return;
    }
    at = -at - 1;
    if (sizes[chunk] == CHUNK) {
      // Names that come in ascending order leave full chunks behind.
      int keep = at == CHUNK ? CHUNK : CHUNK / 2;
      split(chunk, keep);
      if (at >= keep) {
        chunk++;
        at -= keep;
      }
    }
    byte[][] rows = chunks[chunk];
    System.arraycopy(rows, at, rows, at + 1, sizes[chunk] - at);
    rows[at] = row;
    sizes[chunk]++;
    count++;
    bytes += bytesOf(row);
  }

  /** At most so many rows from a key on, or only above it, while they match. */
  List<byte[]> from(String start, boolean inclusive, int limit, Predicate<byte[]> matches) {
    var found = new ArrayList<byte[]>();
    if (used == 0) {
      return found;
    }
    byte[] key = LeaseRow.key(start);
    int chunk = chunkOf(key);
    int at = search(chunk, key);
    at = at < 0 ? -at - 1 : inclusive ? at : at + 1;
    while (chunk < used && found.size() < limit) {
      if (at == sizes[chunk]) {
        chunk++;
        at = 0;
        continue;
      }
      byte[] row = chunks[chunk][at++];
      if (!matches.test(row)) {
        break;
      }
      found.add(row);
    }
    return found;
  }

  /**
   * Takes those out, in ascending order, that may go, until so many and so many bytes are left.
   * Whatever {@code mayGo} throws, all are there as before, though some may be looked up by name.
   */
  void removeUntil(int downTo, long downToBytes, Predicate<byte[]> mayGo) {
    var kept = new NameRows();
    int left = count;
    long leftBytes = bytes;
    for (int c = 0; c < used; c++) {
      for (int i = 0; i < sizes[c]; i++) {
        byte[] row = chunks[c][i];
        if ((left > downTo || leftBytes > downToBytes) && mayGo.test(row)) {
          LeaseRow.replaced(row);
          left--;
          leftBytes -= bytesOf(row);
        } else {
          kept.append(row);
        }
      }
    }
    chunks = kept.chunks;
    sizes = kept.sizes;
    used = kept.used;
    count = left;
    bytes = leftBytes;
  }

  /** With a quarter of each chunk free, so that the next insertions split none. */
  private void append(byte[] row) {
    if (used == 0 || sizes[used - 1] >= CHUNK / 4 * 3) {
      insertChunk(used);
    }
    chunks[used - 1][sizes[used - 1]++] = row;
  }

  /** The last chunk that starts at or before a key, else the first. */
  private int chunkOf(byte[] key) {
    int low = 0;
    int high = used - 1;
    while (low < high) {
      int middle = low + high + 1 >>> 1;
      if (sizes[middle] > 0 && LeaseRow.compare(chunks[middle][0], key) <= 0) {
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
      int order = LeaseRow.compare(rows[middle], key);
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
    insertChunk(chunk + 1);
    byte[][] from = chunks[chunk];
    int moved = sizes[chunk] - keep;
    System.arraycopy(from, keep, chunks[chunk + 1], 0, moved);
    // The moved ones must not stay reachable from here once they are replaced there.
    Arrays.fill(from, keep, from.length, EMPTY);
    sizes[chunk] = keep;
    sizes[chunk + 1] = moved;
  }

  private void insertChunk(int at) {
    var chunk = new byte[CHUNK][];
    if (used == chunks.length) {
      int more = used + used / 2 + 1;
      byte[][][] longer = Arrays.copyOf(chunks, more);
      sizes = Arrays.copyOf(sizes, more);
      chunks = longer;
    }
    System.arraycopy(chunks, at, chunks, at + 1, used - at);
    System.arraycopy(sizes, at, sizes, at + 1, used - at);
    chunks[at] = chunk;
    sizes[at] = 0;
    used++;
  }
}
