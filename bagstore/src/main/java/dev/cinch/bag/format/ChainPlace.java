package dev.cinch.bag.format;

import dev.cinch.bag.model.Name;

/**
 * A place in a log's chain of records: what the next record must follow (rule H2). It is known from
 * the record that stands there, from the checkpoint that names that record, or from the segment
 * that ends with it.
 *
 * @param number of the record there; 0 before the first one
 * @param to of that record, nanoseconds since the Unix epoch
 * @param digest SHA-256 of that record's file, in hexadecimal; empty before the first one
 * @param trustedKeys that it counts; 0 where that is not known
 */
public record ChainPlace(long number, long to, String digest, int trustedKeys) {
  /** Before record 1. */
  public static final ChainPlace START = new ChainPlace(0, Long.MIN_VALUE, "", 0);

  /** Where a record stands that was read, with the digest of its file. */
  public static ChainPlace of(HorizonRecord record, String digest) {
    return new ChainPlace(record.number(), record.to(), digest, record.trustedKeys());
  }

  /** Where the record at a checkpoint's line stands. */
  public static ChainPlace of(Checkpoint checkpoint) {
    return new ChainPlace(checkpoint.number(), checkpoint.to(), checkpoint.digest(), 0);
  }

  /** Where the last record of a segment stands. */
  public static ChainPlace of(SegmentHeader header) {
    return new ChainPlace(header.lastRecord(), header.to(), header.lastDigest(), 0);
  }

  /**
   * Checks that a record follows this place.
   *
   * @param path of the record
   * @param mine of the record at this place; the one blamed if the next names another digest
   * @throws DamagedException if its number, range, {@code previous} or keys say otherwise
   */
  public void precedes(HorizonRecord next, Name path, Name mine) throws DamagedException {
    if (next.number() != number + 1) {
      throw new DamagedException(path, 0, "record " + (number + 1), "record " + next.number());
    }
    if (!isNamedBy(next)) {
      if (number == 0) {
        throw new DamagedException(path, 0, "an empty \"previous\"", next.previous());
      }
      throw new DamagedException(
          mine,
          0,
          "SHA-256 \"" + next.previous() + "\", as record " + next.number() + " says",
          digest);
    }
    if (next.from() != to) {
      throw new DamagedException(path, 0, "a range from " + to, "" + next.from());
    }
    if (next.trustedKeys() < trustedKeys) {
      throw new DamagedException(
          path, 0, trustedKeys + " trusted keys, as before, or more", "" + next.trustedKeys());
    }
  }

  /** Whether the record that comes next names the one at this place. */
  public boolean isNamedBy(HorizonRecord next) {
    return next.previous().equals(digest);
  }

  /**
   * Checks that a record is the one at this place.
   *
   * @param path of the record
   * @param named what names it, for people
   */
  public void is(HorizonRecord record, String itsDigest, Name path, String named)
      throws DamagedException {
    if (!itsDigest.equals(digest)) {
      throw new DamagedException(
          path, 0, "SHA-256 " + digest + ", as " + named + " says", itsDigest);
    }
    if (record.number() != number || record.to() != to) {
      throw new DamagedException(
          path,
          0,
          "record %d up to %d, as %s says".formatted(number, to, named),
          "record %d up to %d".formatted(record.number(), record.to()));
    }
  }
}
