package dev.cinch.bag.read;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.layout.Bucket;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;

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
  private final LogReader reader;
  private final SegmentFeed locks;
  private final Sink sink;
  private long covered = Long.MIN_VALUE; // everything before was read
  private long segment; // the last one that was read
  private boolean unknown; // where that one ended: it is damaged

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
    this.reader = new LogReader(log);
    this.locks = new SegmentFeed(log);
    this.sink = sink;
  }

  /** Reads everything that is settled when it begins. */
  public void read() throws IOException {
    Optional<Link> tip;
    try {
      tip = chain.knownTip();
    } catch (DamagedException e) {
      sink.damaged(e); // nobody knows how far the log is settled
      return;
    }
    if (tip.isEmpty()) {
      return;
    }
    long last = tip.get().record().number();
    long next = segments() + 1;
    while (next <= last) {
      Optional<Link> link;
      try {
        link = next == last ? tip : chain.readUnlessRetired(next);
      } catch (DamagedException | NoSuchFileException e) {
        sink.damaged(damage(e, log.layout().record(next++)));
        continue;
      }
      if (link.isEmpty()) {
        next = segments() + 1; // retired meanwhile
        continue;
      }
      for (ClosedBucket b : link.get().record().buckets()) {
        bucket(link.get().record(), b);
      }
      covered = link.get().record().to();
      next++;
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
    if (checkpoint.isEmpty()) {
      return 0;
    }
    while (segment < checkpoint.get().segment()) {
      segment++;
      boolean known = !unknown;
      unknown = true;
      try (SegmentReader in = SegmentReader.open(log, segment)) {
        SegmentHeader h = in.header();
        long from = covered;
        if (h.from() > from && known) {
          sink.damaged(new DamagedException(in.path(), 72, "a range from " + from, "" + h.from()));
        }
        unknown = false;
        if (h.to() > from) {
          covered = h.to();
          messages(in.messages(from, Long.MAX_VALUE), 0);
        }
      } catch (DamagedException e) {
        sink.damaged(e);
      }
    }
    covered = Math.max(covered, checkpoint.get().to());
    return checkpoint.get().number();
  }

  private void messages(SegmentCursor m, long skip) throws IOException {
    for (long n = 0; m.next(); n++) {
      if (n >= skip) {
        sink.message(m, m.bucket().settledBefore());
      }
    }
  }

  private void bucket(HorizonRecord record, ClosedBucket listed) throws IOException {
    long done = 0;
    try {
      var cursors = reader.open(locks.lock(listed).lock(), record.trustedKeys());
      try {
        var merge = new Merge(cursors);
        for (DataFileCursor m = merge.next(); m != null; m = merge.next()) {
          sink.message(m, record.from());
          done++;
        }
      } finally {
        for (DataFileCursor c : cursors) {
          c.close();
        }
      }
    } catch (IOException e) {
      var bucket = new Bucket(listed.start(), log.bucketWidth());
      Optional<Checkpoint> checkpoint = chain.checkpoint();
      if (checkpoint.isPresent() && bucket.end() <= checkpoint.get().to()) {
        retired(bucket, checkpoint.get(), done);
      } else if (e instanceof DamagedException damaged) {
        sink.damaged(damaged);
      } else {
        throw e;
      }
    }
  }

  /** Reads on in a segment where the bucket went under our hands: the order is the same. */
  private void retired(Bucket bucket, Checkpoint checkpoint, long done) throws IOException {
    try (SegmentReader in = new Segments(log).covering(bucket, checkpoint.segment())) {
      messages(in.messages(bucket.start(), bucket.end()), done);
    } catch (DamagedException e) {
      sink.damaged(e);
    }
  }
}
