package dev.cinch.bag.audit;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.SegmentBucket;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.layout.Numbered;
import dev.cinch.bag.read.SegmentReader;
import dev.cinch.bag.read.SegmentVerifier;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Checks a log's segments and checkpoints (section 10): each by itself, and that the segments
 * follow one another from the first on. In a log in use there may be more of them each time that
 * somebody looks. Not thread-safe.
 */
@CheckReturnValue
final class SegmentsVerifier {
  private final LogContext log;
  private final Tally tally;

  /** The last one whose header is whole, and what it says. */
  private long segments;

  private long covered = Long.MIN_VALUE;
  private long lastRecord;
  private long retired = Long.MIN_VALUE;
  private long firstKept = 1;
  private Optional<Checkpoint> checkpoint = Optional.empty();

  /** What was looked at so far, whole or damaged. */
  private long lastSegment;

  private long lastCheckpoint;
  private boolean looked;

  SegmentsVerifier(LogContext log, Tally tally) {
    this.log = log;
    this.tally = tally;
  }

  /** Checks what there is, or what there is more than last time. */
  void verify() throws IOException {
    look(this::list);
  }

  private interface Lister {
    List<String> list(Path directory) throws IOException;
  }

  private void look(Lister lister) throws IOException {
    List<Long> checkpoints = numbers(lister, log.layout().checkpoints(), false);
    segments(lister, !looked); // published before checkpoints
    looked = true;
    for (long number : checkpoints) {
      if (number > lastCheckpoint) {
        checkpoint(number);
        lastCheckpoint = number;
      }
    }
  }

  private void segments(Lister lister, boolean tell) throws IOException {
    for (long number : numbers(lister, log.layout().segments(), tell)) {
      // A long directory is listed piece by piece: of two segments that are published meanwhile it
      // may show the second alone.
      long next = lastSegment + 1;
      while (next < number && log.store().fresh().exists(log.layout().segment(next))) {
        segment(next);
        lastSegment = next++;
      }
      if (number > lastSegment) {
        segment(number);
        lastSegment = number;
      }
    }
  }

  /** The last checkpoint, as far as was looked. */
  Optional<Checkpoint> checkpoint() {
    return checkpoint;
  }

  /** The number of the record that it names, which stays; 0 if there is none. */
  long line() {
    return checkpoint.map(Checkpoint::number).orElse(0L);
  }

  /** Whether a record may be gone, as of now: it is below the last checkpoint (rule R2). */
  boolean retiredRecord(long number) throws IOException {
    if (number >= firstKept) {
      look(this::freshList);
    }
    return number < firstKept;
  }

  /**
   * Whether a bucket that ends then is behind the last checkpoint: what is left of it means
   * nothing, the segments count.
   */
  boolean retired(long bucketEnd) {
    return bucketEnd <= retired;
  }

  /** As {@link #retired}, as of now. */
  boolean retiredMeanwhile(long bucketEnd) throws IOException {
    if (!retired(bucketEnd)) {
      look(this::freshList);
    }
    return retired(bucketEnd);
  }

  private List<Long> numbers(Lister lister, Path directory, boolean tell) throws IOException {
    var numbers = new ArrayList<Long>();
    for (String name : lister.list(directory)) {
      OptionalLong n = Numbered.parse(name);
      if (n.isPresent()) {
        numbers.add(n.getAsLong());
      } else if (tell && !LogLayout.isTemporary(name)) {
        tally.found(Finding.foreign(directory.resolve(name)));
      }
    }
    return numbers;
  }

  private List<String> list(Path directory) throws IOException {
    try {
      return log.store().fs().list(directory).stream().sorted().toList();
    } catch (NoSuchFileException e) {
      return List.of(); // a copy of a store may lack its empty directories
    }
  }

  /** Past caches, if this user may make an entry: for who would call something damaged else. */
  private List<String> freshList(Path directory) throws IOException {
    try {
      return log.store().fresh().listAsPermitted(directory).stream().sorted().toList();
    } catch (NoSuchFileException e) {
      return List.of();
    }
  }

  private void segment(long number) {
    Path path = log.layout().segment(number);
    try (SegmentReader reader = SegmentReader.open(log, number)) {
      SegmentHeader h = reader.header();
      if (number != segments + 1 || h.from() != covered || h.firstRecord() != lastRecord + 1) {
        bad(
            path,
            "segment %d from %d, record %d".formatted(segments + 1, covered, lastRecord + 1),
            "%d from %d, record %d".formatted(number, h.from(), h.firstRecord()));
      }
      segments = number;
      covered = h.to();
      lastRecord = h.lastRecord();
      new SegmentVerifier(reader).verify(SegmentsVerifier::ignore);
      tally.read(path, reader.size());
    } catch (DamagedException e) {
      tally.found(Finding.of(e));
    } catch (IOException e) {
      tally.found(Finding.of(e, path, "a readable segment"));
    }
  }

  private static void ignore(SegmentBucket bucket) {}

  private void checkpoint(long number) throws IOException {
    Path path = log.layout().checkpoint(number);
    try {
      Checkpoint c = new HorizonChain(log).readCheckpoint(number);
      tally.read(path, log.store().fs().status(path).size());
      if (c.segment() > segments) {
        segments(this::freshList, false);
      }
      if (c.segment() > segments || c.to() > covered) {
        bad(path, "segments up to " + c.segment() + " (rule R1)", segments + " segments");
      }
      firstKept = number;
      retired = c.to();
      checkpoint = Optional.of(c);
    } catch (DamagedException e) {
      tally.found(Finding.of(e));
    } catch (IOException e) {
      if (!(e instanceof NoSuchFileException) || !outlived(number)) {
        tally.found(Finding.of(e, path, "a readable checkpoint"));
      }
    }
  }

  /** Whether there is a later one: then those before are removed at some time. */
  private boolean outlived(long number) throws IOException {
    return numbers(this::freshList, log.layout().checkpoints(), false).stream()
        .anyMatch(n -> n > number);
  }

  private void bad(Path path, String expected, String actual) {
    tally.found(Finding.damage(path, 0, expected, actual));
  }
}
