package dev.cinch.bag.storage.posix;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.layout.Numbered;
import dev.cinch.bag.layout.SealName;
import dev.cinch.bag.storage.Records;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/** Lists the end of a log's chain. Not thread-safe. */
@CheckReturnValue
public final class RecordListing {
  private final SortedMap<Long, SortedSet<String>> seals = new TreeMap<>();
  private long last;

  /** Lists a directory as fresh as its user needs it. */
  public interface Lister {
    List<String> list(Path directory) throws IOException;
  }

  /** Lists the groups from the last one down to the one that has a record. */
  public static Records of(LogLayout log, Lister lister) throws IOException {
    List<Long> groups =
        lister.list(log.records()).stream()
            .map(LogLayout::recordGroupNumber)
            .flatMapToLong(OptionalLong::stream)
            .sorted()
            .boxed()
            .toList();
    var listing = new RecordListing();
    // The last group may still be empty: its directory is made before its first record is linked.
    for (int i = groups.size() - 1; i >= 0 && listing.last == 0; i--) {
      try {
        listing.add(groups.get(i), lister.list(log.recordGroup(groups.get(i))));
      } catch (NoSuchFileException e) {
        // Retired since, with all that stood in it.
      }
    }
    return new Records(listing.last, listing.seals);
  }

  /**
   * Names are in the order of their numbers, so those of seals that count come after that of the
   * last record. Others are not looked at: a directory has a thousand of them. What stands in
   * another group than its number's is nobody's.
   */
  private void add(long group, List<String> names) {
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
  }
}
