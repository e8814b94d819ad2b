package dev.cinch.lease.memory;

import static dev.cinch.lease.table.LeaseLayout.EXPIRY;
import static dev.cinch.lease.table.LeaseLayout.FLAGS;
import static dev.cinch.lease.table.LeaseLayout.NAME;

import dev.cinch.lease.Id;
import dev.cinch.lease.table.LeaseLayout;
import dev.cinch.lease.table.LeaseState;
import dev.cinch.lease.table.SortedRows;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * What can be read of a lease without unpacking it, from the bytes that the table keeps ({@link
 * LeaseLayout}). See docs/decisions/lease-memory.md.
 *
 * <p>A stub is what is left of a request: its id, the time of the end in the place of the expiry,
 * and flags of its own. It ends before the name.
 */
final class LeaseRow {
  /** In a stub: the request was given back before it was granted. */
  private static final int GIVEN_UP = 0x1;

  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

  private LeaseRow() {}

  /** The rows of leases, by name. */
  static final class ByName extends SortedRows {
    @Override
    protected byte[] key(byte[] row) {
      return Arrays.copyOfRange(row, NAME + 1, nameEnd(row));
    }

    @Override
    protected int compare(byte[] row, byte[] key) {
      return Arrays.compareUnsigned(row, NAME + 1, nameEnd(row), key, 0, key.length);
    }
  }

  /** The rows of leases by the ids of their requests, and by name; and stubs. */
  static final class ById extends SortedRows {
    @Override
    protected byte[] key(byte[] row) {
      return isStub(row)
          ? Arrays.copyOf(row, Id.BYTES)
          : ByteBuffer.allocate(Id.BYTES + (row[NAME] & 0xFF))
              .put(row, 0, Id.BYTES)
              .put(row, NAME + 1, row[NAME] & 0xFF)
              .array();
    }

    @Override
    protected int compare(byte[] row, byte[] key) {
      int order = Long.compareUnsigned((long) LONG.get(row, 0), (long) LONG.get(key, 0));
      if (order == 0) {
        order = Arrays.compareUnsigned(row, 0, Id.BYTES, key, 0, Id.BYTES);
      }
      if (order != 0 || isStub(row)) {
        return order != 0 ? order : Integer.compare(Id.BYTES, key.length);
      }
      return Arrays.compareUnsigned(row, NAME + 1, nameEnd(row), key, Id.BYTES, key.length);
    }
  }

  private static int nameEnd(byte[] row) {
    return NAME + 1 + (row[NAME] & 0xFF);
  }

  /** What is left of a request that ended, so that a late copy is not granted. */
  static byte[] stub(Id id, long endedAt, boolean givenUp) {
    return ByteBuffer.allocate(NAME)
        .put(key(id))
        .putLong(endedAt)
        .putShort((short) (givenUp ? GIVEN_UP : 0))
        .array();
  }

  static boolean isStub(byte[] row) {
    return row.length == NAME;
  }

  /** Of a stub: whether the request was given back before it was granted. */
  static boolean isGivenUp(byte[] row) {
    return (row[FLAGS + 1] & GIVEN_UP) != 0;
  }

  /** Whether its leases are full: asked for so, or upgraded. */
  static boolean isFull(byte[] row) {
    return state(row) == LeaseState.State.FULL.ordinal();
  }

  static boolean isReleased(byte[] row) {
    return state(row) == LeaseState.State.RELEASED.ordinal();
  }

  private static int state(byte[] row) {
    return row[FLAGS + 1] & LeaseLayout.STATE;
  }

  static boolean hasId(byte[] row, byte[] id) {
    return Arrays.equals(row, 0, Id.BYTES, id, 0, Id.BYTES);
  }

  /** The lease's expiry; a stub's time of the end. */
  static long expiry(byte[] row) {
    return (long) LONG.get(row, EXPIRY);
  }

  static String name(byte[] row) {
    return new String(row, NAME + 1, row[NAME] & 0xFF, StandardCharsets.US_ASCII);
  }

  /** A name, or what one may start with, as rows have it. */
  static byte[] key(String name) {
    return name.getBytes(StandardCharsets.UTF_8);
  }

  /** An id, as rows have it. */
  static byte[] key(Id id) {
    return ByteBuffer.allocate(Id.BYTES).putLong(id.high()).putLong(id.low()).array();
  }
}
