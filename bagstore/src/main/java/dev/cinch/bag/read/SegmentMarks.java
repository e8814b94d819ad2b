package dev.cinch.bag.read;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.CacheWait;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.SegmentDigests;
import dev.cinch.bag.layout.SealName;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * What says of a log's segments, besides themselves, how they begin and end: the last checkpoint,
 * if it has their digests, and the seals beside those that it does not cover. Of segments that were
 * published before it was made. Not thread-safe.
 */
@CheckReturnValue
public final class SegmentMarks {
  private final LogContext log;
  private final Optional<Checkpoint> checkpoint;
  private @Nullable SortedMap<Long, SortedSet<String>> seals;
  private @Nullable CacheWait wait;

  /**
   * @param checkpoint the last one
   */
  public SegmentMarks(LogContext log, Optional<Checkpoint> checkpoint) {
    this.log = log;
    this.checkpoint = checkpoint;
  }

  /** Seals by number, of the names in the directory of segments. */
  public static SortedMap<Long, SortedSet<String>> seals(List<String> names) {
    var seals = new TreeMap<Long, SortedSet<String>>();
    for (String name : names) {
      Optional<SealName> seal = SealName.parse(name);
      if (seal.isPresent()) {
        seals.computeIfAbsent(seal.get().number(), n -> new TreeSet<>()).add(seal.get().digest());
      }
    }
    return seals;
  }

  /** Of segments of which nothing else is known, or is to be compared by the caller. */
  public static SegmentMarks none(LogContext log) {
    var marks = new SegmentMarks(log, Optional.empty());
    marks.seals = new TreeMap<>();
    return marks;
  }

  /** SHA-256 of the whole file, if the checkpoint has it. */
  Optional<String> sha256(long number) {
    return checkpoint.flatMap(c -> c.digests(number)).map(SegmentDigests::sha256);
  }

  /**
   * @param index what {@link SegmentReader#indexDigest} gives
   * @throws DamagedException if something says otherwise
   */
  void check(long number, String index, Path path) throws IOException {
    Optional<SegmentDigests> known = checkpoint.flatMap(c -> c.digests(number));
    if (known.isPresent()) {
      String by = "the checkpoint says";
      check(Set.of(known.get().index()), index, path, by);
    } else {
      check(sealsOf(number), index, path, "its seal says");
    }
  }

  /**
   * @param expected digests, none if nothing is known
   * @throws DamagedException unless all are the one that there is
   */
  public static void check(Set<String> expected, String index, Path path, String by)
      throws DamagedException {
    if (!expected.isEmpty() && !expected.equals(Set.of(index))) {
      throw new DamagedException(
          path,
          0,
          "header, index and trailer of SHA-256 "
              + String.join(" and ", expected)
              + " ("
              + by
              + ")",
          index);
    }
  }

  /** As this machine knows them: where one is not seen yet, nothing is known. */
  private Set<String> sealsOf(long number) throws IOException {
    SortedMap<Long, SortedSet<String>> known = seals;
    if (known == null) {
      try {
        known = seals(log.store().fs().list(log.layout().segments()));
      } catch (NoSuchFileException e) {
        known = new TreeMap<>(); // of a segment that is there: an old "no" of the directory
      }
      seals = known;
    }
    return known.getOrDefault(number, new TreeSet<>());
  }

  /**
   * Patience with a segment that looks missing. All wait together: they were published before this
   * was made.
   */
  CacheWait patience() {
    CacheWait known = wait;
    if (known == null) {
      known = new CacheWait(log, log.layout().segments());
      wait = known;
    }
    return known;
  }
}
