package dev.cinch.bag.storage;

import java.util.Collections;
import java.util.SortedMap;
import java.util.SortedSet;

/**
 * What a listing shows at the end of a log's chain: the last record, and the seals of it and above.
 *
 * @param lastName the number of the last record that is named; 0 if there is none
 * @param seals by number, the digests that seals name: one, or none where its closer left none
 */
public record Records(long lastName, SortedMap<Long, SortedSet<String>> seals) {
  /** The number of the last record of which there is a name or a seal; 0 if there is none. */
  public long last() {
    return Math.max(lastName, seals.isEmpty() ? 0 : seals.lastKey());
  }

  /** The digests that seals of a record name; of the last one, or one above. */
  public SortedSet<String> seals(long number) {
    return seals.getOrDefault(number, Collections.emptySortedSet());
  }
}
