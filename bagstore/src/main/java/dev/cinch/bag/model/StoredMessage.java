package dev.cinch.bag.model;

import dev.cinch.lease.LeaseName;
import java.time.Instant;
import java.util.List;

/**
 * A message that was read. Its place in the order is (timestamp, file bytewise by name, position);
 * of several logs (timestamp, log, file, position).
 *
 * @param log the log that it is of
 * @param timestamp nanoseconds since the Unix epoch
 * @param file the data file
 * @param position counted in the file from 0
 * @param payload the message's bytes, which are the receiver's to keep
 * @param leases the names of the leases that it was written under; empty if none
 */
@SuppressWarnings("ArrayRecordComponent") // compared by nobody
public record StoredMessage(
    LogName log,
    long timestamp,
    DataFileName file,
    long position,
    byte[] payload,
    List<LeaseName> leases) {

  /** The timestamp, to the nanosecond. */
  public Instant time() {
    return Instant.ofEpochSecond(
        Math.floorDiv(timestamp, 1_000_000_000L), Math.floorMod(timestamp, 1_000_000_000L));
  }
}
