package dev.cinch.bag.storage;

import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Numbered;
import dev.cinch.bag.model.SealName;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * What a listing shows at the end of a log's chain: the last record, and the seals of it and above.
 *
 * @param lastName the number of the last record that is named; 0 if there is none
 * @param seals by number, the digests that seals name: one, or none where its closer left none
 */
public record Records(long lastName, SortedMap<Long, SortedSet<String>> seals) {
  /**
   * Lists the groups from the last one down to the one that has a record.
   *
   * @throws NoSuchFileException if there is no place for records any more
   */
  public static Records list(Storage store, LogLayout log, Freshness freshness) throws IOException {
    List<Long> groups =
        store.list(log.records(), freshness).stream()
            .map(LogLayout::recordGroupNumber)
            .flatMapToLong(OptionalLong::stream)
            .sorted()
            .boxed()
            .toList();
    var listed = new Records(0, new TreeMap<>());
    // The last group may still be empty: its directory is made before its first record is linked.
    for (int i = groups.size() - 1; i >= 0 && listed.lastName == 0; i--) {
      try {
        listed = listed.with(groups.get(i), store.list(log.recordGroup(groups.get(i)), freshness));
      } catch (NoSuchFileException e) {
        // Retired since, with all that stood in it.
      }
    }
    return listed;
  }

  /**
   * Names are in the order of their numbers, so those of seals that count come after that of the
   * last record. Others are not looked at: a directory has a thousand of them. What stands in
   * another group than its number's is nobody's.
   */
  private Records with(long group, List<String> names) {
    long last = lastName;
    String before = "";
    for (String name : names) {
      OptionalLong number = Numbered.parse(name);
      if (number.orElse(0) > last && LogLayout.groupOfRecord(number.getAsLong()) == group) {
        last = number.getAsLong();
        before = name;
      }
    }
    for (String name : names) {
      Optional<SealName> seal =
          name.compareTo(before) > 0 ? SealName.parse(name) : Optional.empty();
      if (seal.isPresent() && LogLayout.groupOfRecord(seal.get().number()) == group) {
        seals.computeIfAbsent(seal.get().number(), n -> new TreeSet<>()).add(seal.get().digest());
      }
    }
    return new Records(last, seals);
  }

  /** The number of the last record of which there is a name or a seal; 0 if there is none. */
  public long last() {
    return Math.max(lastName, seals.isEmpty() ? 0 : seals.lastKey());
  }

  /** The digests that seals of a record name; of the last one, or one above. */
  public SortedSet<String> seals(long number) {
    return seals.getOrDefault(number, Collections.emptySortedSet());
  }
}
