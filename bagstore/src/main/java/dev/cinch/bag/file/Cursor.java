package dev.cinch.bag.file;

import dev.cinch.lease.SignedWitness;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What walks messages and is its own current message: that message's part. Not thread-safe.
 *
 * <p>Whoever extends it sets the fields at each step.
 */
abstract class Cursor implements Evidence {
  long timestamp = Long.MIN_VALUE;

  /** In the data file, from 0. */
  long position = -1;

  /** Where the payload begins in {@link #bytes()}. */
  int payload;

  /** Of the payload, bytes. */
  int length;

  /** Number in {@link #table()}; 0 for none. */
  int leaseSet;

  /** What holds the payload. */
  abstract byte[] bytes();

  /** What {@link #leaseSet} refers to. */
  abstract LeaseTable table();

  @Override
  public final @Nullable LeaseSet leaseSet() {
    return leaseSet == 0 ? null : table().set(leaseSet);
  }

  @Override
  public final List<byte[]> signedLeases() {
    return leaseSet == 0 ? List.of() : table().signed(leaseSet);
  }

  @Override
  public final long timestamp() {
    return timestamp;
  }

  @Override
  public final long position() {
    return position;
  }

  @Override
  public final int length() {
    return length;
  }

  @Override
  public final byte[] payload() {
    return Arrays.copyOfRange(bytes(), payload, payload + length);
  }

  @Override
  public final void writeTo(OutputStream out) throws IOException {
    out.write(bytes(), payload, length);
  }

  @Override
  public final List<SignedWitness> leases() {
    LeaseSet set = leaseSet();
    return set == null ? List.of() : set.witnesses();
  }

  @Override
  public final boolean permitted() {
    LeaseSet set = leaseSet();
    return set == null || set.objection(timestamp) == null;
  }
}
