package dev.cinch.backup;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.Log;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.close.Locks;
import dev.cinch.bag.close.Locks.Closed;
import dev.cinch.bag.file.SegmentMarks;
import dev.cinch.bag.file.SegmentReader;
import dev.cinch.bag.format.ChainPlace;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Floor;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Numbered;
import dev.cinch.bag.model.SealName;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.Storage;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Takes out of a copy of a log what is ahead of the rest (rule H10): records that list what the
 * copy lacks, what was made of such records, and locks that it has in part. What stands in its
 * buckets stays, and can be settled once more. One that stops anywhere is run again. Used once, by
 * one thread.
 */
@CheckReturnValue
public final class RestoredLog {
  private final LogContext log;
  private final LogLayout layout;
  private final Storage storage;
  private final HorizonChain chain;
  private final Locks locks;

  private final NavigableSet<Long> records = new TreeSet<>();
  private final NavigableSet<Long> checkpoints = new TreeSet<>();
  private final NavigableSet<Long> floors = new TreeSet<>();
  private final NavigableSet<Long> segments = new TreeSet<>();
  private final List<SealName> recordSeals = new ArrayList<>();

  /** Digests of the records of the chain, from that at the checkpoint on. */
  private final Map<Long, String> digests = new HashMap<>();

  /** How far the copy is whole. */
  private ChainPlace last = ChainPlace.START;

  private final List<Name> damagedLocks = new ArrayList<>();
  private long removed;
  private final Set<Name> places = new TreeSet<>();
  private @Nullable String why;

  /**
   * What was done.
   *
   * @param through the time through which the rest is settled, nanoseconds since the Unix epoch;
   *     {@link Long#MIN_VALUE} if nothing is
   * @param removed files of the horizon, segments and locks that went
   * @param why the first reason, for people; empty if there is none
   */
  public record Mended(long through, long removed, Optional<String> why) {}

  public RestoredLog(Log log) {
    this.log = log.context();
    this.layout = this.log.layout();
    this.storage = this.log.storage();
    this.chain = new HorizonChain(this.log);
    this.locks = new Locks(this.log);
  }

  /**
   * Mends it.
   *
   * @throws DamagedException if it lacks what nothing else in it says; nothing was changed
   */
  public Mended mend() throws IOException {
    boolean backup = log.store().identity().backup();
    if (!backup) {
      log.requireSame();
    }
    list();
    Optional<Checkpoint> base = base();
    long pinned = base.map(Checkpoint::segment).orElse(0L);
    last = base.map(ChainPlace::of).orElse(ChainPlace.START);
    ChainPlace covered = last;
    digests.put(last.number(), last.digest());
    follow();
    long kept = segments(pinned, covered);
    if (!backup) {
      for (long number : segments.tailSet(kept, false)) {
        refuseToLose(number);
      }
      findDamagedLocks();
    }
    for (long number : checkpoints) {
      go(number > base.map(Checkpoint::number).orElse(0L), layout.checkpoint(number));
    }
    for (long number : floors) {
      go(number >= pinned, layout.floor(number));
    }
    if (!backup) {
      publishFloor(base);
    }
    for (long number : segments.descendingSet()) {
      go(number > kept, layout.segment(number));
    }
    for (SealName seal : recordSeals) {
      go(seal.number() > last.number(), layout.recordSeal(seal.number(), seal.digest()));
    }
    for (long number : records.descendingSet()) {
      go(number > last.number(), layout.record(number));
    }
    for (Name lock : damagedLocks) {
      go(true, lock);
    }
    if (backup) {
      for (Bucket bucket : unsettled()) {
        remove(layout.bucket(bucket));
      }
      for (String name : names(layout.intents())) {
        go(true, layout.intents().resolve(name));
      }
    }
    for (Name place : places) { // before anybody goes on: a power cut must not bring them back
      storage.secure(place);
    }
    return new Mended(last.to(), removed, Optional.ofNullable(why));
  }

  private List<String> names(Name place) throws IOException {
    return storage.listIfThere(place, Freshness.PERMITTED);
  }

  private void list() throws IOException {
    for (String group : names(layout.records())) {
      if (LogLayout.recordGroupNumber(group).isPresent()) {
        for (String name : names(layout.records().resolve(group))) {
          Numbered.parse(name).ifPresent(records::add);
          SealName.parse(name).ifPresent(recordSeals::add);
        }
      }
    }
    for (String name : names(layout.checkpoints())) {
      Numbered.parse(name).ifPresent(checkpoints::add);
      LogLayout.floorNumber(name).ifPresent(floors::add);
    }
    for (String name : names(layout.segments())) {
      Numbered.parse(name).ifPresent(segments::add);
    }
  }

  private void tell(String reason) {
    why = why == null ? reason : why;
  }

  private void go(boolean ahead, Name file) throws IOException {
    if (ahead) {
      storage.remove(file);
      removed++;
      places.add(file.parent());
      tell(file + " is ahead of the rest");
    }
  }

  /** The last checkpoint whose record and segments are there; empty: the chain begins at 1. */
  private Optional<Checkpoint> base() throws IOException {
    @Nullable IOException lacks = null;
    for (long number : checkpoints.descendingSet()) {
      try {
        Checkpoint c = chain.readCheckpoint(number);
        Link link = chain.read(number);
        ChainPlace.of(c).is(link.record(), link.digest(), chain.path(number), "the checkpoint");
        var marks = new SegmentMarks(log, Optional.of(c));
        for (long n = firstKept(c); n <= c.segment(); n++) {
          SegmentReader.open(log, n, marks).close();
        }
        return Optional.of(c);
      } catch (DamagedException | NoSuchFileException e) {
        lacks = lacks == null ? e : lacks;
        tell(String.valueOf(e.getMessage()));
      }
    }
    if (records.isEmpty() && checkpoints.isEmpty() || records.contains(1L)) {
      return Optional.empty();
    }
    throw new DamagedException(
        layout.record(1),
        0,
        "record 1, or a checkpoint with its record and its segments",
        lacks == null
            ? "neither"
            : "neither (%s); salvage gets the messages out".formatted(lacks.getMessage()));
  }

  /**
   * The first segment behind the floor that a checkpoint allows. Where the first ones are not
   * there, they expired while the copy was made.
   */
  private long firstKept(Checkpoint c) {
    Long there = segments.higher(Math.max(0, floor(c)));
    return there == null ? 1 : Math.min(there, c.segment());
  }

  private long floor(Checkpoint c) {
    Long floor = floors.lower((long) c.segment());
    return floor == null ? 0 : floor;
  }

  private void publishFloor(Optional<Checkpoint> base) throws IOException {
    if (base.isEmpty()) {
      return;
    }
    Checkpoint c = base.get();
    long expired = firstKept(c) - 1;
    if (expired > floor(c)) {
      SegmentHeader first = SegmentReader.header(log, expired + 1, SegmentMarks.none(log));
      var floor =
          new Floor(
              log.id(),
              expired,
              first.from(),
              first.firstRecord() - 1,
              c.messagesThrough(expired).orElseThrow(),
              c.bytesThrough(expired).orElseThrow());
      tell(layout.segment(expired) + " is not there: it expired");
      log.publish(layout.floor(expired), floor.encode());
    }
  }

  /** Goes up the chain as long as all that a record lists is there. */
  private void follow() throws IOException {
    while (records.contains(last.number() + 1)) {
      long number = last.number() + 1;
      try {
        Link next = chain.read(number);
        last.precedes(next.record(), chain.path(number), chain.path(Math.max(1, number - 1)));
        for (ClosedBucket listed : next.record().buckets()) {
          var bucket = new Bucket(listed.start(), log.bucketWidth());
          Optional<Closed> closed = locks.readIfListed(bucket);
          if (closed.isEmpty() || !closed.get().digest().equals(listed.lockDigest())) {
            tell(chain.path(number) + " lists " + bucket + ", which the copy lacks");
            return;
          }
        }
        last = ChainPlace.of(next.record(), next.digest());
        digests.put(number, next.digest());
      } catch (DamagedException | NoSuchFileException e) {
        tell(String.valueOf(e.getMessage()));
        return;
      }
    }
  }

  /** A backup has nothing behind its last record, but for what a run that was killed left. */
  private void remove(Name bucket) throws IOException {
    for (String name : names(bucket)) {
      go(true, bucket.resolve(name));
    }
    storage.removePlace(bucket);
    places.remove(bucket);
    places.add(bucket.parent());
  }

  private List<Bucket> unsettled() throws IOException {
    return log.buckets().permitted(last.to(), Long.MAX_VALUE);
  }

  /**
   * Behind what is settled a lock that is not whole goes, and its bucket is closed once more: if
   * there is anything else that has its messages.
   */
  private void findDamagedLocks() throws IOException {
    for (Bucket bucket : unsettled()) {
      try {
        Optional<Closed> unused = locks.readIfListed(bucket);
      } catch (DamagedException e) {
        Name directory = layout.bucket(bucket);
        if (names(directory).stream().noneMatch(n -> DataFileName.parse(n).isPresent())) {
          throw new DamagedException(
              e.path(), e.offset(), e.expected(), e.actual() + "; salvage gets the messages out");
        }
        damagedLocks.add(LogLayout.lock(directory));
      }
    }
  }

  /**
   * The last segment that the chain reaches.
   *
   * @param pinned those that the checkpoint names
   * @param covered where these end
   */
  private long segments(long pinned, ChainPlace covered) throws IOException {
    long kept = pinned;
    ChainPlace end = covered;
    while (segments.contains(kept + 1)) {
      long number = kept + 1;
      try (SegmentReader segment = SegmentReader.open(log, number)) {
        SegmentHeader h = segment.header();
        if (h.firstRecord() != end.number() + 1
            || h.from() != end.to()
            || !h.lastDigest().equals(digests.get(h.lastRecord()))) {
          return kept;
        }
        end = ChainPlace.of(h);
        kept = number;
      } catch (DamagedException | NoSuchFileException e) {
        tell(String.valueOf(e.getMessage()));
        return kept;
      }
    }
    return kept;
  }

  /**
   * A segment that is ahead of the chain may hold what gc deleted while the copy was made: a bucket
   * that is not there, and later ones are. What was written after the buckets were copied may go.
   */
  private void refuseToLose(long number) throws IOException {
    List<Bucket> there = log.buckets().permitted(Long.MIN_VALUE, Long.MAX_VALUE);
    for (Bucket bucket : buckets(number)) {
      if (!there.isEmpty()
          && !there.contains(bucket)
          && bucket.compareTo(there.get(there.size() - 1)) < 0) {
        throw new DamagedException(
            layout.segment(number),
            0,
            "the bucket " + bucket + " beside it",
            "none: gc ran while the copy was made; salvage gets the messages out");
      }
    }
  }

  /** What a segment has buckets of; none if it is not whole. */
  private Set<Bucket> buckets(long number) throws IOException {
    var buckets = new TreeSet<Bucket>();
    try (SegmentReader segment = SegmentReader.open(log, number)) {
      for (int i : segment.index().buckets()) {
        buckets.add(new Bucket(segment.index().time(i), log.bucketWidth()));
      }
    } catch (DamagedException | NoSuchFileException e) {
      return Set.of();
    }
    return buckets;
  }
}
