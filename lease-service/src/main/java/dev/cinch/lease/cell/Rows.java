package dev.cinch.lease.cell;

import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The rows of an acceptor by name: open addressing with linear probing, at most two thirds full, so
 * that an entry costs its array and 6 to 12 bytes. Not thread-safe.
 */
final class Rows {
  private static final int SMALLEST = 16;

  /** What a row takes beside its bytes: the array's header, and its part of the slots. */
  static final int OVERHEAD = 28;

  private byte[] @Nullable [] slots = new byte[SMALLEST][];
  private int size;
  private long bytes;

  /** Where the next sweep looks. */
  private int hand;

  int size() {
    return size;
  }

  /** What all rows take in the heap, about. */
  long bytes() {
    return bytes;
  }

  private int home(int hash) {
    int h = hash * 0x9E3779B9;
    return (h ^ (h >>> 15)) & (slots.length - 1);
  }

  private int find(Bytes name) {
    int i = home(name.hashCode());
    for (byte[] row = slots[i]; row != null; row = slots[i]) {
      if (Row.isOf(row, name)) {
        return i;
      }
      i = (i + 1) & (slots.length - 1);
    }
    return i;
  }

  byte @Nullable [] get(Bytes name) {
    return slots[find(name)];
  }

  void each(Consumer<byte[]> visitor) {
    for (byte[] row : slots) {
      if (row != null) {
        visitor.accept(row);
      }
    }
  }

  /** Puts a row in the place of one of the same name, or adds it. */
  void put(Bytes name, byte[] row) {
    int i = find(name);
    byte[] before = slots[i];
    if (before == null) {
      size++;
      bytes += OVERHEAD;
    } else {
      bytes -= before.length;
    }
    bytes += row.length;
    slots[i] = row;
    if (size * 3L > slots.length * 2L) {
      resize(slots.length * 2);
    }
  }

  /** Looks at some slots, in turn, and drops the rows whose time to be kept is over. */
  int sweep(long now, int count) {
    return sweep(count, row -> Row.keep(row) <= now);
  }

  /** Drops rows, wherever they are; returns how many. */
  int drop(Predicate<byte[]> which) {
    // Twice, since a removal moves rows from behind the hand to the end of the first round.
    return sweep(slots.length, which) + sweep(slots.length, which);
  }

  private int sweep(int count, Predicate<byte[]> which) {
    int dropped = 0;
    for (int n = Math.min(count, slots.length); n > 0; n--) {
      hand &= slots.length - 1;
      byte[] row = slots[hand];
      if (row != null && which.test(row)) {
        remove(hand); // which may move another row here
        dropped++;
      } else {
        hand++;
      }
    }
    if (slots.length > SMALLEST && size * 8L < slots.length) {
      resize(slots.length / 2);
    }
    return dropped;
  }

  private void remove(int at) {
    int gap = at;
    int i = at;
    byte[] gone = slots[gap];
    bytes -= OVERHEAD + (gone == null ? 0 : gone.length);
    slots[gap] = null;
    size--;
    while (true) {
      i = (i + 1) & (slots.length - 1);
      byte[] row = slots[i];
      if (row == null) {
        return;
      }
      int home = home(Row.hash(row));
      if (((i - home) & (slots.length - 1)) >= ((i - gap) & (slots.length - 1))) {
        slots[gap] = row;
        slots[i] = null;
        gap = i;
      }
    }
  }

  private void resize(int length) {
    byte[] @Nullable [] old = slots;
    slots = new byte[length][];
    for (byte[] row : old) {
      if (row != null) {
        int i = home(Row.hash(row));
        while (slots[i] != null) {
          i = (i + 1) & (length - 1);
        }
        slots[i] = row;
      }
    }
  }

  @Override
  public String toString() {
    var text = new StringBuilder();
    for (byte[] row : slots) {
      if (row != null) {
        text.append('[').append(Row.show(row)).append(']');
      }
    }
    return text.toString();
  }
}
