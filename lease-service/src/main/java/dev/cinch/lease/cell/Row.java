package dev.cinch.lease.cell;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * What an acceptor keeps of a name, as one array of bytes: one object for an entry, changed in
 * place unless its value changes in length.
 *
 * <pre>
 *   0  promised: counter (8), boot (4), node (4)
 *  16  accepted: counter (8), boot (4), node (4); zeros if none
 *  32  deadline: until when the accepted lease excludes others; when released, the time of that (8)
 *  40  keep: until when the entry is kept (8)
 *  48  1 if the accepted lease was released (1)
 *  49  length of the name (1), name, value up to the end
 * </pre>
 */
final class Row {
  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);
  private static final VarHandle INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);

  static final int PROMISED = 0;
  static final int ACCEPTED = 16;
  private static final int DEADLINE = 32;
  private static final int KEEP = 40;
  private static final int RELEASED = 48;
  private static final int LENGTH = 49;
  private static final int NAME = 50;

  private Row() {}

  /** The rows of an acceptor. */
  static final class ByName extends SortedRows {
    @Override
    byte[] key(byte[] row) {
      return Arrays.copyOfRange(row, NAME, valueAt(row));
    }

    @Override
    int compare(byte[] row, byte[] key) {
      return Arrays.compareUnsigned(row, NAME, valueAt(row), key, 0, key.length);
    }
  }

  static byte[] of(Bytes name, Ballot promised) {
    var row = new byte[NAME + name.size()];
    row[LENGTH] = (byte) name.size();
    name.copyTo(row, NAME);
    put(row, PROMISED, promised);
    return row;
  }

  static Bytes name(byte[] row) {
    return Bytes.of(row, NAME, valueAt(row));
  }

  private static int valueAt(byte[] row) {
    return NAME + (row[LENGTH] & 0xFF);
  }

  static Ballot ballot(byte[] row, int at) {
    return new Ballot(
        (long) LONG.get(row, at), (int) INT.get(row, at + 8), (int) INT.get(row, at + 12));
  }

  private static void put(byte[] row, int at, Ballot ballot) {
    LONG.set(row, at, ballot.counter());
    INT.set(row, at + 8, ballot.boot());
    INT.set(row, at + 12, ballot.node());
  }

  /** As {@code ballot(row, at).compareTo(other)}, without an object. */
  static int compare(byte[] row, int at, Ballot other) {
    long counter = (long) LONG.get(row, at);
    if (counter != other.counter()) {
      return counter < other.counter() ? -1 : 1;
    }
    int boot = (int) INT.get(row, at + 8);
    return boot != other.boot()
        ? Integer.compare(boot, other.boot())
        : Integer.compare((int) INT.get(row, at + 12), other.node());
  }

  static void promise(byte[] row, Ballot ballot) {
    put(row, PROMISED, ballot);
  }

  static boolean hasAccepted(byte[] row) {
    return (long) LONG.get(row, ACCEPTED) != 0;
  }

  static boolean acceptedFrom(byte[] row, Ballot owner) {
    return (int) INT.get(row, ACCEPTED + 8) == owner.boot()
        && (int) INT.get(row, ACCEPTED + 12) == owner.node();
  }

  static long deadline(byte[] row) {
    return (long) LONG.get(row, DEADLINE);
  }

  static boolean released(byte[] row) {
    return row[RELEASED] != 0;
  }

  /** Whether the accepted lease excludes others. Exactly at its deadline it doesn't (rule P8). */
  static boolean live(byte[] row, long now) {
    return hasAccepted(row) && !released(row) && now < deadline(row);
  }

  static long keep(byte[] row) {
    return (long) LONG.get(row, KEEP);
  }

  static void keepUntil(byte[] row, long time) {
    LONG.set(row, KEEP, Math.max(keep(row), time));
  }

  static Bytes value(byte[] row) {
    return Bytes.of(row, valueAt(row), row.length);
  }

  static void release(byte[] row, long now) {
    row[RELEASED] = 1;
    LONG.set(row, DEADLINE, now);
  }

  /** The row to keep from now on: the same one, unless the value has another length. */
  static byte[] accept(byte[] row, Ballot ballot, long deadline, Bytes value) {
    byte[] result = row;
    if (row.length - valueAt(row) != value.size()) {
      result = new byte[valueAt(row) + value.size()];
      System.arraycopy(row, 0, result, 0, valueAt(row));
    }
    put(result, PROMISED, ballot);
    put(result, ACCEPTED, ballot);
    LONG.set(result, DEADLINE, deadline);
    result[RELEASED] = 0;
    value.copyTo(result, valueAt(result));
    return result;
  }

  static String show(byte[] row) {
    return "promised %s, accepted %s, deadline %d%s, keep %d, value %s"
        .formatted(
            ballot(row, PROMISED),
            ballot(row, ACCEPTED),
            deadline(row),
            released(row) ? " (released)" : "",
            keep(row),
            value(row));
  }
}
