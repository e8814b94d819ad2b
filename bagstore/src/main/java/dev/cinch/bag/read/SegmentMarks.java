package dev.cinch.bag.read;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.SegmentDigests;
import dev.cinch.bag.layout.SegmentSeal;
import dev.cinch.bag.storage.LogStorage.Freshness;
import dev.cinch.bag.storage.Patience;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * What says of a log's segments, besides themselves, how they begin and end: the last checkpoint,
 * and the seals beside those that it does not cover. Of segments that were published before it was
 * made. Not thread-safe.
 */
@CheckReturnValue
public final class SegmentMarks {
  private final LogContext log;
  private final Optional<Checkpoint> checkpoint;
  private @Nullable SortedMap<Long, Set<SegmentDigests>> seals;
  private final Patience wait;

  /**
   * @param checkpoint the last one
   */
  public SegmentMarks(LogContext log, Optional<Checkpoint> checkpoint) {
    this.log = log;
    this.checkpoint = checkpoint;
    this.wait = log.documents().patience(log.layout().segments());
  }

  /** Seals by number, of the names in the directory of segments. */
  public static SortedMap<Long, Set<SegmentDigests>> seals(List<String> names) {
    var seals = new TreeMap<Long, Set<SegmentDigests>>();
    for (String name : names) {
      Optional<SegmentSeal> seal = SegmentSeal.parse(name);
      if (seal.isPresent()) {
        seals
            .computeIfAbsent(seal.get().number(), n -> new LinkedHashSet<>())
            .add(new SegmentDigests(seal.get().sha256(), seal.get().index()));
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

  /**
   * What is known of a segment's bytes; nothing is, if there are no digests.
   *
   * @param digests one, or several that contradict one another
   * @param by who says so
   */
  public record Known(Set<SegmentDigests> digests, String by) {

    /** What a segment's seals say. */
    public static Known sealed(Set<SegmentDigests> seals) {
      return new Known(seals, "its seal says");
    }

    /** Whether a segment all of which was read may be that one. */
    public boolean fits(SegmentDigests found) {
      return digests.isEmpty() || digests.equals(Set.of(found));
    }

    /**
     * @param index of a segment that was opened: what {@link SegmentReader#indexDigest} gives
     * @throws DamagedException if it is another one
     */
    public void checkIndex(String index, Path path) throws DamagedException {
      check(SegmentDigests::index, index, path, "header, index and trailer of ");
    }

    /**
     * @param found of a segment all of which was read
     * @throws DamagedException if it is another one
     */
    public void check(SegmentDigests found, Path path) throws DamagedException {
      checkIndex(found.index(), path);
      check(SegmentDigests::sha256, found.sha256(), path, "");
    }

    private void check(Function<SegmentDigests, String> part, String found, Path path, String what)
        throws DamagedException {
      for (SegmentDigests d : digests) {
        if (!part.apply(d).equals(found)) {
          String expected = what + "SHA-256 " + part.apply(d) + " (" + by + ")";
          throw new DamagedException(path, 0, expected, found);
        }
      }
    }
  }

  /** Whether the checkpoint covers a segment: then that is all there is of its records. */
  boolean names(long number) {
    return checkpoint.filter(c -> number <= c.segment()).isPresent();
  }

  /** See {@link Checkpoint#messagesThrough}; empty if there is no checkpoint. */
  OptionalLong messagesThrough(long number) {
    return checkpoint.map(c -> c.messagesThrough(number)).orElse(OptionalLong.empty());
  }

  /**
   * @throws DamagedException if the checkpoint says that a segment has another number of messages
   */
  void checkMessages(long number, long messages, Path path) throws DamagedException {
    OptionalLong through = messagesThrough(number);
    long before = messagesThrough(number - 1).orElse(0);
    if (through.isPresent() && through.getAsLong() - before != messages) {
      throw new DamagedException(
          path,
          0,
          through.getAsLong() - before + " messages, as the checkpoint says",
          "" + messages);
    }
  }

  Known of(long number) throws IOException {
    Optional<SegmentDigests> pinned = checkpoint.flatMap(c -> c.digests(number));
    return pinned.isPresent()
        ? new Known(Set.of(pinned.get()), "the checkpoint says")
        : Known.sealed(sealsOf(number));
  }

  /** As this machine knows them: where one is not seen yet, nothing is known. */
  private Set<SegmentDigests> sealsOf(long number) throws IOException {
    SortedMap<Long, Set<SegmentDigests>> known = seals;
    if (known == null) {
      try {
        known = seals(Segments.names(log, Freshness.CACHED));
      } catch (NoSuchFileException e) {
        known = new TreeMap<>(); // of a segment that is there: an old "no" of the directory
      }
      seals = known;
    }
    return known.getOrDefault(number, Set.of());
  }

  /**
   * Patience with a segment that looks missing. All wait together: they were published before this
   * was made.
   */
  Patience patience() {
    return wait;
  }
}
