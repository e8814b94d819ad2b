package dev.cinch.bag.audit;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.file.SegmentMarks;
import dev.cinch.bag.file.SegmentReader;
import dev.cinch.bag.file.SegmentVerifier;
import dev.cinch.bag.format.ChainPlace;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Floor;
import dev.cinch.bag.format.SegmentBucket;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Numbered;
import dev.cinch.bag.read.SegmentFeed;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Checks a log's segments and checkpoints (section 10): each by itself, that the segments follow
 * one another from the first on, and that each is the one that checkpoints say. In a log in use
 * there may be more of them each time that somebody looks. Not thread-safe.
 */
@CheckReturnValue
final class SegmentsVerifier {
  private final LogContext log;
  private final KeysVerifier keys;
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

  /** The last one that expired. */
  private long floor;

  private long floorMessages;
  private long floorBytes;
  private boolean floorTold;
  private boolean looked;

  /** Whether one before the next is missing or damaged: what follows it can't be told. */
  private boolean gap;

  /** Of those that are whole. */
  private final Map<Long, String> digests = new HashMap<>();

  /** Messages in those that are whole. */
  private final SortedMap<Long, Long> messages = new TreeMap<>();

  /** Where those that are whole end. */
  private final Map<Long, ChainPlace> ends = new HashMap<>();

  /** What those that are whole say was lost, which is told once no lock does. */
  private final Map<Long, List<DamagedException>> lost = new HashMap<>();

  /** What the checkpoints say of the first ones. */
  private List<Checkpoint.Covered> pins = List.of();

  SegmentsVerifier(LogContext log, KeysVerifier keys, Tally tally) {
    this.log = log;
    this.keys = keys;
    this.tally = tally;
  }

  /** Checks what there is, or what there is more than last time. */
  void verify() throws IOException {
    look(Freshness.CACHED);
  }

  private List<String> list(Name directory, Freshness freshness) throws IOException {
    return log.storage().listIfThere(directory, freshness);
  }

  private void look(Freshness freshness) throws IOException {
    List<String> checkpoints = list(log.layout().checkpoints(), freshness);
    segments(freshness, !looked); // published before checkpoints
    looked = true;
    for (long number : numbers(checkpoints)) {
      if (number > lastCheckpoint) {
        checkpoint(number);
        lastCheckpoint = number;
      }
    }
  }

  private void segments(Freshness freshness, boolean tell) throws IOException {
    List<String> names = list(log.layout().segments(), freshness);
    if (tell) {
      for (String name : names) {
        if (Numbered.parse(name).isEmpty() && !Name.isTemporary(name)) {
          tally.found(Finding.foreign(log.layout().segments().resolve(name)));
        }
      }
    }
    boolean unused = expire();
    SortedSet<Long> listed = numbers(names);
    published(listed.isEmpty() ? 0 : listed.last());
  }

  /**
   * Checks the segments up to a number that was published, so that all of them must be there. A
   * long directory is listed piece by piece: of two that are published meanwhile a listing may show
   * the second alone.
   */
  private void published(long last) throws IOException {
    var marks = SegmentMarks.none(log);
    while (lastSegment < last) {
      long number = lastSegment + 1;
      lastSegment = number;
      if (SegmentReader.exists(log, number, marks)) {
        segment(number, marks);
        continue;
      }
      if (expire()) {
        continue;
      }
      SortedSet<Long> behind =
          numbers(list(log.layout().segments(), Freshness.PERMITTED)).tailSet(number + 1);
      lastSegment = (behind.isEmpty() ? last + 1 : Math.min(last + 1, behind.first())) - 1;
      gap = true;
      tally.bad(
          log.layout().segment(number),
          "a segment that was published (rule R1)",
          lastSegment == number ? "no file" : "no file, nor any up to number " + lastSegment);
    }
  }

  /**
   * Goes on behind what expired, as of now (rule R4): segments that still stand there mean nothing.
   *
   * @return whether it went on
   */
  private boolean expire() {
    try {
      Floor now = new HorizonChain(log).floor();
      if (now.segment() <= floor) {
        return false;
      }
      floor = now.segment();
      floorMessages = now.messages();
      floorBytes = now.bytes();
      tally.read(log.layout().floor(floor), now.encode().length);
      if (floor < lastSegment) {
        return false; // those were looked at before they went
      }
      lastSegment = floor;
      segments = floor;
      covered = now.to();
      lastRecord = now.record();
      gap = false;
      return true;
    } catch (DamagedException e) {
      if (!floorTold) {
        floorTold = true;
        tally.found(Finding.of(e));
      }
    } catch (IOException e) {
      if (!floorTold) {
        floorTold = true;
        tally.found(Finding.of(e, log.layout().checkpoints(), "a readable floor"));
      }
    }
    return false;
  }

  /** The last checkpoint, as far as was looked. */
  Optional<Checkpoint> checkpoint() {
    return checkpoint;
  }

  /** Messages of which only segments are read: those behind the last checkpoint. */
  long retiredMessages() {
    long all = 0;
    for (long n : messages.headMap(checkpoint.map(Checkpoint::segment).orElse(0L) + 1).values()) {
      all += n;
    }
    return all;
  }

  /** The number of the record that it names, which stays; 0 if there is none. */
  long line() {
    return checkpoint.map(Checkpoint::number).orElse(0L);
  }

  /** Whether a record may be gone, as of now: it is below the last checkpoint (rule R2). */
  boolean retiredRecord(long number) throws IOException {
    if (number >= firstKept) {
      look(Freshness.PERMITTED);
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
      look(Freshness.PERMITTED);
    }
    return retired(bucketEnd);
  }

  private static SortedSet<Long> numbers(List<String> names) {
    var numbers = new TreeSet<Long>();
    for (String name : names) {
      Numbered.parse(name).ifPresent(numbers::add);
    }
    return numbers;
  }

  private void segment(long number, SegmentMarks marks) {
    Name path = log.layout().segment(number);
    try (SegmentReader reader = SegmentReader.open(log, number, marks)) {
      SegmentHeader h = reader.header();
      if (!gap && (h.from() != covered || h.firstRecord() != lastRecord + 1)) {
        tally.bad(
            path,
            "segment %d from %d, record %d".formatted(number, covered, lastRecord + 1),
            "%d from %d, record %d".formatted(number, h.from(), h.firstRecord()));
      }
      gap = false;
      segments = number;
      covered = h.to();
      lastRecord = h.lastRecord();
      var verifier = new SegmentVerifier(reader);
      verifier.verify(bucket -> keys(bucket, path));
      messages.put(number, reader.trailer().messages());
      ends.put(number, ChainPlace.of(h));
      lost.put(number, verifier.lost());
      digests.put(number, reader.digest());
      tally.read(path, reader.size());
    } catch (IOException e) {
      if (expire()) {
        return; // under our hands
      }
      if (e instanceof DamagedException damaged) {
        tally.found(Finding.of(damaged));
        return;
      }
      gap = true;
      tally.found(Finding.of(e, path, "a readable segment"));
    }
  }

  /** Fewer keys than a bucket counts are damage (rule F3). */
  private void keys(SegmentBucket bucket, Name path) throws IOException {
    int there = keys.first(bucket.trustedKeys()).size();
    if (there < bucket.trustedKeys()) {
      tally.bad(path, "at most " + there + " trusted keys", "" + bucket.trustedKeys());
    }
  }

  private void checkpoint(long number) throws IOException {
    Name path = log.layout().checkpoint(number);
    try {
      Checkpoint c = new HorizonChain(log).readCheckpoint(number);
      tally.read(log.storage(), path);
      if (c.segment() > segments) {
        segments(Freshness.PERMITTED, false);
        published(c.segment());
      }
      pinned(c, path);
      if (c.segment() > segments && !gap || c.to() > covered && !gap) {
        tally.bad(path, "segments up to " + c.segment() + " (rule R1)", segments + " segments");
      }
      if (floor > 0 && floor >= c.segment() && !outlived(number)) {
        tally.bad(log.layout().floor(floor), "a segment below " + c.segment(), "" + floor);
      }
      firstKept = number;
      retired = c.to();
      checkpoint = Optional.of(c);
    } catch (DamagedException e) {
      tally.found(Finding.of(e));
    } catch (IOException e) {
      // Removed, it is missing, or stale where it was open already.
      if (e instanceof AccessDeniedException || !outlived(number)) {
        tally.found(Finding.of(e, path, "a readable checkpoint"));
      }
    }
  }

  /** Compares with what a checkpoint says of them. */
  private void pinned(Checkpoint c, Name path) throws IOException {
    int known = Math.min(pins.size(), c.segments().size());
    if (known < pins.size() || !pins.subList(0, known).equals(c.segments().subList(0, known))) {
      tally.bad(
          path,
          "what the checkpoint before says of segments 1 to %d".formatted(pins.size()),
          "otherwise");
    }
    for (int i = known; i < c.segments().size(); i++) {
      Checkpoint.Covered expected = c.segments().get(i);
      String found = digests.get(i + 1L);
      if (found != null && !found.equals(expected.digest())) {
        found = again(i + 1L); // rule N5
      }
      if (found != null && !found.equals(expected.digest())) {
        tally.bad(
            log.layout().segment(i + 1L),
            "header, index and trailer of SHA-256 %s (checkpoint %d says)"
                .formatted(expected.digest(), c.number()),
            found);
      } else if (messages.getOrDefault(i + 1L, expected.messages()) != expected.messages()) {
        tally.bad(
            path,
            messages.get(i + 1L) + " messages in segment " + (i + 1),
            "" + expected.messages());
      }
    }
    for (long n = known + 1L; n <= c.segment(); n++) {
      lost.getOrDefault(n, List.of()).forEach(e -> tally.found(Finding.of(e)));
    }
    ChainPlace end = ends.get(c.segment());
    if (end != null && !end.equals(ChainPlace.of(c))) {
      tally.bad(
          log.layout().segment(c.segment()),
          "the end that checkpoint %d names, %s".formatted(c.number(), ChainPlace.of(c)),
          "" + end);
    }
    pins = c.segments();
    checkFloor(c, c.messagesThrough(floor), floorMessages, "messages");
    checkFloor(c, c.bytesThrough(floor), floorBytes, "bytes");
  }

  private void checkFloor(Checkpoint c, OptionalLong expired, long sum, String what) {
    if (expired.isPresent() && expired.getAsLong() != sum) {
      tally.bad(
          log.layout().floor(floor),
          expired.getAsLong() + " " + what + ", as checkpoint " + c.number() + " says",
          "" + sum);
    }
  }

  private String again(long number) throws IOException {
    try (SegmentReader reader = SegmentReader.openUncached(log, number)) {
      new SegmentVerifier(reader).verify(bucket -> {});
      return reader.digest();
    }
  }

  /** The last record that a whole segment says it covers, which must be there. */
  long covers() {
    return lastRecord;
  }

  /**
   * Makes the segments that no checkpoint names once more, of the records and data files that still
   * stand: they must hold that. What is wrong with these themselves is told elsewhere.
   */
  void compareWithBuckets() throws IOException {
    if (floor > 0 && checkpoint.isEmpty()) {
      look(Freshness.PERMITTED); // the floor is newer than what was listed before it
    }
    if (floor > 0 && checkpoint.isEmpty()) {
      tally.bad(log.layout().floor(floor), "a checkpoint of a later segment (rule R4)", "none");
    }
    var feed = new SegmentFeed(log);
    Optional<Link> tip;
    try {
      tip = new HorizonChain(log).permittedTip();
    } catch (IOException e) {
      return; // told with the records
    }
    for (long number : new TreeSet<>(digests.keySet())) {
      if (number <= checkpoint.map(Checkpoint::segment).orElse(0L) || tip.isEmpty()) {
        continue;
      }
      tally.unlessRetired(
          () -> compareWithBuckets(feed, tip.get(), number), () -> isCoveredMeanwhile(number));
    }
  }

  /** Whether a checkpoint covers a segment, as of now, so that what it was made of may be gone. */
  private boolean isCoveredMeanwhile(long number) throws IOException {
    look(Freshness.PERMITTED);
    return number <= checkpoint.map(Checkpoint::segment).orElse(0L);
  }

  private void compareWithBuckets(SegmentFeed feed, Link tip, long number) {
    Name path = log.layout().segment(number);
    try (SegmentReader segment = SegmentReader.open(log, number)) {
      feed.check(segment, tip);
    } catch (DamagedException e) {
      if (path.equals(e.path()) || !tally.isDamaged()) {
        tally.found(Finding.of(e));
      }
    } catch (IOException e) {
      if (!tally.isDamaged()) {
        tally.found(Finding.of(e, path, "what it was made of"));
      }
    }
  }

  /** Whether there is a later one: then those before are removed at some time. */
  private boolean outlived(long number) throws IOException {
    return !numbers(list(log.layout().checkpoints(), Freshness.PERMITTED))
        .tailSet(number + 1)
        .isEmpty();
  }
}
