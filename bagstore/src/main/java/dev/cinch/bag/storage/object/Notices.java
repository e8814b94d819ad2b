package dev.cinch.bag.storage.object;

import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Numbered;
import dev.cinch.lease.Id;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.OptionalLong;
import java.util.TreeSet;

/**
 * Says how often buckets of a log were about to be retired (rules O3 and O4): by documents whose
 * numbers have no gap, and which stay for ever. So one request tells whether there is a further
 * one. Their names count down, so a listing begins with the last. Thread-safe.
 */
final class Notices {
  private static final long BEFORE_FIRST = 9_999_999_999L;
  private static final int DIGITS = 10;
  private static final long UNKNOWN = -1;

  /** That many may have been given by a store that was destroyed; each is put now. */
  private static final long MOST_MISSING = 1_000_000;

  private final Requests requests;
  private final Name place;

  /** So many there are at least. */
  private volatile long seen = UNKNOWN;

  Notices(Requests requests, LogLayout log) {
    this.requests = requests;
    this.place = log.notices();
  }

  private Name name(long number) {
    return place.resolve(Numbered.padded(BEFORE_FIRST - number, DIGITS));
  }

  boolean isThere(long number) throws IOException {
    return requests.isThere(name(number));
  }

  /** The number of the last one; 0 if there is none. */
  long last() throws IOException {
    long number = seen == UNKNOWN ? listed() : seen;
    while (isThere(number + 1)) {
      number++;
    }
    seen = number;
    return number;
  }

  private long listed() throws IOException {
    for (String name : requests.firstNames(place)) {
      OptionalLong left = Numbered.parse(name, DIGITS);
      if (left.isPresent()) {
        return BEFORE_FIRST - left.getAsLong();
      }
    }
    return 0;
  }

  /**
   * Gives one more, and what is missing below.
   *
   * @param id of this one alone, since others may give theirs at the same time
   */
  void give(Id id) throws IOException {
    byte[] mine = id.toString().getBytes(StandardCharsets.US_ASCII);
    var there = new TreeSet<Long>();
    for (String name : requests.names(place)) {
      Numbered.parse(name, DIGITS).ifPresent(left -> there.add(BEFORE_FIRST - left));
    }
    there.remove(0L);
    long number = there.isEmpty() ? 1 : there.last() + 1;
    long missing = number - 1 - there.size();
    if (missing > MOST_MISSING) {
      throw new IOException(
          "%s: %d notices are missing below it, so it is none of Cinch's; end all writers, then remove it"
              .formatted(name(number - 1), missing));
    }
    for (long gap = 1; there.size() < number - 1; gap++) {
      if (there.add(gap)) { // else one that came late, of a store that was destroyed, made it
        boolean unused = requests.put(name(gap), ByteBuffer.wrap(mine));
      }
    }
    while (!requests.put(name(number), ByteBuffer.wrap(mine))
        && !Arrays.equals(mine, requests.get(name(number), 0, mine.length + 1).bytes())) {
      number++;
    }
    seen = number;
  }
}
