package dev.cinch.bag.audit;

/**
 * A message whose checksum is right.
 *
 * @param timestamp nanoseconds since the Unix epoch
 * @param file name of the data file that it was written to
 * @param position in that file, from 0
 * @param payload its bytes; not to be changed
 * @param state what is known of its existence
 */
@SuppressWarnings("ArrayRecordComponent") // handed on once and never kept
public record Salvaged(long timestamp, String file, long position, byte[] payload, State state) {
  /** What the undamaged part of the store says of a message. */
  public enum State {
    /** A record lists its bucket, and the bucket's lock or a segment covers it: it exists. */
    SETTLED,
    /** Its bucket is not closed yet. */
    UNSETTLED,
    /**
     * The lock or the record that decides is damaged or missing: the message is whole, and whether
     * readers ever saw it can't be told.
     */
    UNPROVEN
  }

  /** The total order of a log (section 1). */
  int compareTo(Salvaged other) {
    int order = Long.compare(timestamp, other.timestamp);
    if (order == 0) {
      order = file.compareTo(other.file);
    }
    return order == 0 ? Long.compare(position, other.position) : order;
  }
}
