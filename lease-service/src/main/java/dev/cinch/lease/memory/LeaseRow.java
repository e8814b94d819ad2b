package dev.cinch.lease.memory;

import static dev.cinch.lease.table.LeaseLayout.EXPIRY;
import static dev.cinch.lease.table.LeaseLayout.FLAGS;
import static dev.cinch.lease.table.LeaseLayout.NAME;

import dev.cinch.lease.Id;
import dev.cinch.lease.table.LeaseLayout;
import dev.cinch.lease.table.LeaseState;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * A {@link LeaseEntry} as one array of bytes ({@link LeaseLayout}), which is how the table keeps
 * it: what a lease lacks takes no room, and a row costs one object. A row is replaced by the next
 * one of its name; where only the same request's leases are prolonged, and as many bytes say so,
 * they are put in its place ({@link NameRows#renew}): its name and id stay what they are.
 *
 * <p>A stub is what is left of a request: its id, the time of the end in the place of the expiry,
 * and flags of its own. It ends before the name. See docs/decisions/lease-memory.md.
 */
final class LeaseRow {
  /** It may not be its name's any more; the only flag that is set later. */
  private static final int REPLACED = 0x4000;

  /** In a stub: the request was given back before it was granted. */
  private static final int GIVEN_UP = 0x1;

  private LeaseRow() {}

  /** What is left of a request whose leases were released, so that a late copy is not granted. */
  static byte[] stub(Id id, long endedAt) {
    return stub(id, endedAt, 0);
  }

  /** The same for a request that was not granted yet. */
  static byte[] givenUp(Id id, long at) {
    return stub(id, at, GIVEN_UP);
  }

  private static byte[] stub(Id id, long endedAt, int flags) {
    return ByteBuffer.allocate(NAME)
        .putLong(id.high())
        .putLong(id.low())
        .putLong(endedAt)
        .putShort((short) flags)
        .array();
  }

  static boolean isStub(byte[] row) {
    return row.length == NAME;
  }

  /** Whether it is what the partition has for its name; if not, that is to be looked up. */
  static boolean isCurrent(byte[] row) {
    return (ByteBuffer.wrap(row).getShort(FLAGS) & REPLACED) == 0;
  }

  /** Tells those who have the row from elsewhere to look its name up. */
  static void replaced(byte[] row) {
    row[FLAGS] |= REPLACED >> 8;
  }

  /** Whether its leases are full: asked for so, or upgraded. */
  static boolean isFull(byte[] row) {
    return state(row) == LeaseState.State.FULL.ordinal();
  }

  /** Of a stub. */
  static boolean isGivenUp(byte[] row) {
    return (ByteBuffer.wrap(row).getShort(FLAGS) & GIVEN_UP) != 0;
  }

  static boolean isReleased(byte[] row) {
    return state(row) == LeaseState.State.RELEASED.ordinal();
  }

  private static int state(byte[] row) {
    return ByteBuffer.wrap(row).getShort(FLAGS) & LeaseLayout.STATE;
  }

  static boolean hasId(byte[] row, Id id) {
    ByteBuffer in = ByteBuffer.wrap(row);
    return in.getLong(0) == id.high() && in.getLong(8) == id.low();
  }

  static boolean haveOneId(byte[] a, byte[] b) {
    return Arrays.equals(a, 0, Id.BYTES, b, 0, Id.BYTES);
  }

  static Id id(byte[] row) {
    ByteBuffer in = ByteBuffer.wrap(row);
    return new Id(in.getLong(0), in.getLong(8));
  }

  /** The lease's expiry; a stub's time of the end. */
  static long expiry(byte[] row) {
    return ByteBuffer.wrap(row).getLong(EXPIRY);
  }

  static String name(byte[] row) {
    return new String(row, NAME + 1, row[NAME] & 0xFF, StandardCharsets.US_ASCII);
  }

  /** A name, or what one may start with, as {@link #compare} wants it. */
  static byte[] key(String name) {
    return name.getBytes(StandardCharsets.UTF_8);
  }

  static byte[] keyOf(byte[] row) {
    return Arrays.copyOfRange(row, NAME + 1, NAME + 1 + (row[NAME] & 0xFF));
  }

  /** Compares a row's name with a key, in the order of strings. */
  static int compare(byte[] row, byte[] key) {
    int to = NAME + 1 + (row[NAME] & 0xFF);
    return Arrays.compareUnsigned(row, NAME + 1, to, key, 0, key.length);
  }

  static int compareNames(byte[] a, byte[] b) {
    return Arrays.compareUnsigned(
        a, NAME + 1, NAME + 1 + (a[NAME] & 0xFF), b, NAME + 1, NAME + 1 + (b[NAME] & 0xFF));
  }

  static byte[] pack(LeaseEntry lease, LogSets logSets) {
    return LeaseLayout.pack(lease, logSets);
  }

  /** Of a row that is no stub. */
  static LeaseEntry unpack(byte[] row, LogSets logSets) {
    LeaseEntry lease = LeaseLayout.unpack(row, LeaseEntry::new, logSets);
    lease.row = row;
    return lease;
  }
}
