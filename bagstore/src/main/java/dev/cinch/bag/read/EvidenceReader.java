package dev.cinch.bag.read;

import static java.util.Objects.requireNonNull;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.close.Locks;
import dev.cinch.bag.close.UnrecordedLocks;
import dev.cinch.bag.file.Evidence;
import dev.cinch.bag.file.SegmentCursor;
import dev.cinch.bag.file.SegmentMarks;
import dev.cinch.bag.file.SegmentReader;
import dev.cinch.bag.format.ChainPlace;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Floor;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.storage.LogStorage.Freshness;
import dev.cinch.bag.store.CountingKeys;
import dev.cinch.bag.store.LogContext;
import dev.cinch.lease.witness.WitnessVerifier;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import org.jspecify.annotations.Nullable;

/**
 * Reads all settled messages of a log for an audit (section 8), whether a witness permits them or
 * not: behind the last checkpoint from segments, after it from buckets, both in the total order. So
 * it does not matter what was retired, or is while it reads. It goes on after damage. Used once, by
 * one thread; memory is bounded by the data files of one bucket.
 */
@CheckReturnValue
public final class EvidenceReader {
  private final LogContext log;
  private final HorizonChain chain;
  private final Locks locks;
  private final Sink sink;
  private CountingKeys keys;
  private long covered = Long.MIN_VALUE; // everything before was read
  private long segment; // the last one that was read
  private long began;
  private boolean unknown; // where that one ended: it is damaged
  private @Nullable Link tip;
  private @Nullable ChainPlace place; // what the next record must follow; null: unknown
  private @Nullable Link ahead; // was read for that
  private boolean unchecked = true; // whether that was not looked at yet

  /** Takes what there is. */
  public interface Sink {
    /**
     * @param settledBefore how far the log was settled when the record was linked that settles the
     *     message: its {@code from}
     */
    void message(Evidence message, long settledBefore);

    /** Something can't be read as it must; the rest of that bucket or segment is left out. */
    void damaged(DamagedException e);
  }

  public EvidenceReader(LogContext log, Sink sink) {
    this.log = log;
    this.chain = new HorizonChain(log);
    this.locks = new Locks(log);
    this.sink = sink;
    this.keys = CountingKeys.ofStore(log.store());
  }

  /** Reads everything that is settled when it begins. */
  public void read() throws IOException {
    Optional<Link> tip;
    try {
      tip = chain.knownTip();
      if (tip.isEmpty()) {
        new UnrecordedLocks(log).refuseAny();
      }
    } catch (DamagedException e) {
      sink.damaged(e); // nobody knows how far the log is settled
      return;
    }
    if (tip.isEmpty()) {
      return;
    }
    this.tip = tip.get();
    began = log.store().time().monotonicNanos(); // by then all was linked that is read
    keys = new CountingKeys(log.store(), tip.map(Link::record));
    long next = segments() + 1;
    while (next <= this.tip.record().number()) {
      Optional<Link> link;
      try {
        link = read(next);
      } catch (DamagedException | NoSuchFileException e) {
        sink.damaged(damage(e, log.layout().record(next++)));
        place = null;
        continue;
      }
      if (link.isEmpty()) {
        next = segments() + 1; // retired meanwhile
        continue;
      }
      HorizonRecord record = link.get().record();
      if (isLinked(link.get())) {
        Set<Long> there = null;
        for (ClosedBucket b : record.buckets()) {
          if (there != null && !there.contains(b.start())) {
            sink.damaged(missing(b));
          } else if (!bucket(record, b) && there == null) {
            there = there(record);
          }
        }
      }
      covered = record.to();
      next++;
    }
  }

  private Optional<Link> read(long number) throws IOException {
    Link known = ahead;
    ahead = null;
    if (known != null && known.record().number() == number) {
      return Optional.of(known);
    }
    return number == requireNonNull(tip).record().number()
        ? Optional.ofNullable(tip)
        : chain.readUnlessRetired(number);
  }

  /** Whether it follows the record before, and is the one that the next one follows (rule H2). */
  private boolean isLinked(Link link) throws IOException {
    HorizonRecord record = link.record();
    long number = record.number();
    Path path = log.layout().record(number);
    ChainPlace before = place;
    place = ChainPlace.of(record, link.digest());
    boolean linked = true;
    if (before != null && unchecked) {
      linked =
          holds(
              () ->
                  before.precedes(record, path, log.layout().record(Math.max(1, before.number()))));
    }
    unchecked = true;
    if (number < requireNonNull(tip).record().number()) {
      Optional<Link> next = Optional.empty();
      try {
        next = read(number + 1);
      } catch (DamagedException | NoSuchFileException e) {
        place = null; // told when it is its turn
      }
      if (next.isPresent()) {
        ahead = next.get();
        HorizonRecord n = next.get().record();
        ChainPlace mine = ChainPlace.of(record, link.digest());
        linked &= holds(() -> mine.precedes(n, log.layout().record(number + 1), path));
        unchecked = false;
      }
    }
    return linked;
  }

  private interface Check {
    void run() throws DamagedException;
  }

  private boolean holds(Check check) {
    try {
      check.run();
      return true;
    } catch (DamagedException e) {
      sink.damaged(e);
      return false;
    }
  }

  private static DamagedException damage(IOException e, Path record) {
    return e instanceof DamagedException damaged
        ? damaged
        : new DamagedException(record, 0, "a record", "no file");
  }

  /** Reads what lies behind the checkpoint; the number of the record there, 0 if there is none. */
  private long segments() throws IOException {
    Optional<Checkpoint> checkpoint = chain.checkpoint();
    ahead = null;
    unchecked = true;
    place = checkpoint.map(ChainPlace::of).orElse(ChainPlace.START);
    if (checkpoint.isEmpty()) {
      return 0;
    }
    if (checkpoint.get().number() < requireNonNull(tip).record().number()) {
      try {
        Optional<Link> unused = chain.readUnlessRetired(checkpoint.get().number());
      } catch (DamagedException e) {
        sink.damaged(e); // the one at the line, which stays
      }
    }
    var marks = new SegmentMarks(log, checkpoint);
    SortedSet<Long> listed = new Segments(log).listed();
    boolean unused = expired();
    while (segment < checkpoint.get().segment()) {
      segment++;
      boolean known = !unknown;
      unknown = true;
      try (SegmentReader in = SegmentReader.open(log, segment, marks)) {
        SegmentHeader h = in.header();
        long from = covered;
        if (h.from() > from && known) {
          sink.damaged(new DamagedException(in.path(), 72, "a range from " + from, "" + h.from()));
        }
        unknown = false;
        if (h.to() > from) {
          covered = h.to();
          messages(in.messages(from, Long.MAX_VALUE, keys), 0);
        }
      } catch (IOException e) {
        if (expired()) {
          continue;
        }
        if (!(e instanceof DamagedException damaged)) {
          throw e;
        }
        sink.damaged(damaged);
        if (!listed.contains(segment)) { // nor are those up to the next: told once
          listed = listed.tailSet(segment);
          segment = listed.isEmpty() ? checkpoint.get().segment() : listed.first() - 1;
        }
      }
    }
    covered = Math.max(covered, checkpoint.get().to());
    return checkpoint.get().number();
  }

  /** Whether the segment that is read expired, as of now; goes on behind what did. */
  private boolean expired() throws IOException {
    try {
      Floor floor = new Segments(log).floor();
      if (floor.isNone() || floor.segment() < segment) {
        return false;
      }
      segment = floor.segment();
      covered = Math.max(covered, floor.to());
      unknown = false;
      return true;
    } catch (DamagedException e) {
      if (segment == 0) {
        sink.damaged(e); // told once
      }
      return false;
    }
  }

  private void messages(SegmentCursor m, long skip) throws IOException {
    for (long n = 0; m.next(); n++) {
      if (n >= skip) {
        sink.message(m, m.bucket().settledBefore());
      }
    }
    m.lost().forEach(sink::damaged);
  }

  /**
   * Which buckets that a record lists are there or retired: asked once one was not, since a forged
   * record may list thousands.
   */
  private Set<Long> there(HorizonRecord record) throws IOException {
    var there = new HashSet<Long>();
    log.storage()
        .buckets(record.from(), record.to(), Freshness.PERMITTED)
        .forEach(b -> there.add(b.start()));
    long retired = chain.checkpoint().map(Checkpoint::to).orElse(Long.MIN_VALUE);
    for (ClosedBucket b : record.buckets()) {
      if (b.start() < retired) {
        there.add(b.start());
      }
    }
    return there;
  }

  private DamagedException missing(ClosedBucket listed) {
    var bucket = new Bucket(listed.start(), log.bucketWidth());
    return new DamagedException(
        LogLayout.lock(log.layout().bucket(bucket)), 0, "a lock", "no file");
  }

  /** Whether it could be read. */
  private boolean bucket(HorizonRecord record, ClosedBucket listed) throws IOException {
    long done = 0;
    try (SegmentReader lock = locks.open(listed, began)) {
      SegmentCursor m =
          lock.messages(
              Long.MIN_VALUE,
              Long.MAX_VALUE,
              new WitnessVerifier(keys.counted(record, chain.path(record.number()))),
              true);
      while (m.next()) {
        sink.message(m, record.from());
        done++;
      }
      m.lost().forEach(sink::damaged);
    } catch (IOException e) {
      var bucket = new Bucket(listed.start(), log.bucketWidth());
      Optional<Checkpoint> checkpoint = chain.checkpoint();
      if (checkpoint.isPresent() && bucket.end() <= checkpoint.get().to()) {
        retired(bucket, done);
      } else if (e instanceof DamagedException damaged) {
        sink.damaged(damaged);
      } else {
        throw e;
      }
      return false;
    }
    return true;
  }

  /** Reads on in a segment where the bucket went under our hands: the order is the same. */
  private void retired(Bucket bucket, long done) throws IOException {
    try (SegmentReader in = new Segments(log).covering(bucket)) {
      messages(in.messages(bucket.start(), bucket.end(), keys), done);
    } catch (DamagedException e) {
      if (new HorizonChain(log).floor().to() < bucket.end()) { // else it expired
        sink.damaged(e);
      }
    }
  }
}
