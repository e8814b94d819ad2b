package dev.cinch.bag.read;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.ChainWalk;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.close.Locks;
import dev.cinch.bag.close.UnrecordedLocks;
import dev.cinch.bag.file.SegmentReader;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.Message;
import dev.cinch.bag.store.CountingKeys;
import dev.cinch.bag.store.LogContext;
import dev.cinch.lease.witness.WitnessVerifier;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * Reads a log in order: the settled part, the same for everyone and for ever, or also what is not
 * settled yet (rule H4). Thread-safe. Memory is bounded by the number of data files in one bucket,
 * or in 32 that are not settled, and not by the log.
 */
@CheckReturnValue
public final class LogReader {
  /**
   * How many records are read before one look at the checkpoints, and how many of their buckets.
   */
  private static final int READ_AHEAD_RECORDS = 64;

  private static final int READ_AHEAD_BUCKETS = 2_000;

  private final LogContext log;
  private final HorizonChain chain;
  private final OpenBuckets buckets;
  private final Locks locks;
  private final Segments segments;
  private volatile @Nullable Judge judge;

  public LogReader(LogContext log) {
    this.log = log;
    this.chain = new HorizonChain(log);
    this.buckets = new OpenBuckets(log);
    this.locks = new Locks(log);
    this.segments = new Segments(log);
  }

  /** Why a message does not exist that was written without a lease. */
  public static final String NAMES_NO_LEASE = "it names no lease";

  /** Told of every message that does not exist because no valid witness permits it (rule F3). */
  @FunctionalInterface
  public interface Objection {
    void ignored(Message message, Path file, String why);

    /**
     * Whether the read fails with {@link ExpiredException} also where messages from its beginning
     * on expired before it gave any: it goes on with an earlier read, and would leave a hole. Else
     * it then begins later than it was asked to (rule R4).
     */
    default boolean needsAll() {
      return false;
    }
  }

  /**
   * Reads settled messages with timestamps in {@code [from, to)}.
   *
   * @param fresh whether to look past every cache for the newest record, as a reader must after an
   *     acquire (rule H3)
   * @return the time through which the log is settled, {@link Long#MIN_VALUE} if nothing is
   * @throws ExpiredException if messages expired after others before them were given, as every read
   *     may; see also {@link Objection#needsAll}
   * @throws DamagedException also at the end, when all else was delivered, if messages were lost
   *     before their bucket was closed (rule C4)
   */
  @CanIgnoreReturnValue
  public long settled(long from, long to, boolean fresh, MessageSink sink, Objection objection)
      throws IOException {
    return unlessReplaced(
        () -> settled(fresh ? chain.freshTip() : chain.knownTip(), from, to, sink, objection));
  }

  /**
   * As {@link #settled(long, long, boolean, MessageSink, Objection)}, as fresh as this user may
   * look: who may not create files in the store gets what this machine knows, which may be old,
   * never wrong. Not for reads after an acquire (rule H3).
   */
  @CanIgnoreReturnValue
  public long settled(long from, long to, MessageSink sink, Objection objection)
      throws IOException {
    return unlessReplaced(() -> settled(chain.permittedTip(), from, to, sink, objection));
  }

  @FunctionalInterface
  private interface Read {
    long run() throws IOException;
  }

  private long unlessReplaced(Read read) throws IOException {
    try {
      return read.run();
    } catch (DamagedException | NoSuchFileException e) {
      throw log.unlessReplaced(e);
    }
  }

  /** The time through which the log is settled, as fresh as this user may look. */
  public long settledThrough() throws IOException {
    return chain.permittedTip().map(tip -> tip.record().to()).orElse(Long.MIN_VALUE);
  }

  /**
   * A time from which on there are as many settled messages before {@code to}, found by counts and
   * without reading messages. Messages that no valid lease permits count.
   *
   * @param messages above 0
   * @return the start of a bucket; {@link Long#MIN_VALUE} if there are fewer
   */
  public long startOfLast(long messages, long to) throws IOException {
    Optional<Link> tip = chain.permittedTip();
    return tip.isEmpty()
        ? Long.MIN_VALUE
        : new Counts(log, chain).startOfLast(messages, to, tip.get());
  }

  private long settled(
      Optional<Link> tip, long from, long to, MessageSink sink, Objection objection)
      throws IOException {
    if (tip.isEmpty()) {
      new UnrecordedLocks(log).refuseAny();
      return Long.MIN_VALUE;
    }
    var delivery = new Delivery(log, from, to, sink, objection);
    chain.durable(tip.get());
    boolean unused = readSettled(tip.get(), from, to, delivery);
    delivery.end();
    return tip.get().record().to();
  }

  /**
   * The time before which messages expired (rule R4), {@link Long#MIN_VALUE} if none did. A read
   * begins there, whatever it asks for; asked after a read, it tells what that may lack.
   */
  public long expired() throws IOException {
    return segments.expired();
  }

  /** The keys that count for whoever goes by a record; a few that follow use one object. */
  CountingKeys keys(Link tip) {
    Judge known = judge;
    if (known != null && known.tip().equals(tip)) {
      return known.keys();
    }
    CountingKeys keys = new CountingKeys(log.store(), Optional.of(tip.record()));
    judge = new Judge(tip, keys);
    return keys;
  }

  private record Judge(Link tip, CountingKeys keys) {}

  /**
   * Reads from segments what lies behind a checkpoint, then from buckets; true if the sink wants
   * more. Both give the same answer, so it does not matter when somebody retires what is being
   * read.
   */
  boolean readSettled(Link tip, long from, long to, Delivery delivery) throws IOException {
    long end = Math.min(to, tip.record().to());
    long at = from;
    long number = 0; // of the record that follows, once known
    ChainWalk walk = null;
    while (at < end) {
      Optional<Checkpoint> checkpoint = chain.checkpoint();
      if (checkpoint.isPresent() && at < checkpoint.get().to()) {
        long retired = Math.min(end, checkpoint.get().to());
        if (!segments.read(at, retired, checkpoint.get(), keys(tip), delivery)) {
          return false;
        }
        at = retired;
        number = checkpoint.get().number() + 1;
        walk = null;
        continue;
      }
      if (number == 0 && at == Long.MIN_VALUE) {
        number = 1;
      } else if (number == 0) {
        OptionalLong settling = chain.numberSettling(at, tip);
        if (settling.isEmpty()) {
          continue; // retired meanwhile
        }
        number = settling.getAsLong();
      }
      if (walk == null) {
        walk = new ChainWalk(chain, tip, number);
      }
      List<HorizonRecord> records = records(walk, number, end);
      if (records.isEmpty() && !retiredAfter(at)) {
        throw noneSettles(at);
      }
      for (HorizonRecord record : records) {
        if (!record.settles(at)) {
          throw noneSettles(at);
        }
        if (!readRecord(record, keys(tip), delivery, at, end)) {
          return false;
        }
        at = record.to();
        number = record.number() + 1;
      }
    }
    return true;
  }

  private DamagedException noneSettles(long time) {
    Path path = log.layout().records();
    return new DamagedException(path, 0, "a record that goes on from " + time, "none");
  }

  /** Whether the checkpoint has moved past a time. */
  boolean retiredAfter(long time) throws IOException {
    return chain.checkpoint().filter(c -> c.to() > time).isPresent();
  }

  /**
   * The next records, each checked against those beside it, none of which is retired; empty if some
   * of them are. One look at the checkpoints, after reading them, serves all (rule R2), and the one
   * before the first of them, too.
   */
  private List<HorizonRecord> records(ChainWalk walk, long first, long end) throws IOException {
    var records = new ArrayList<HorizonRecord>();
    int buckets = 0;
    IOException failure = null;
    try {
      while (records.size() < READ_AHEAD_RECORDS && buckets < READ_AHEAD_BUCKETS) {
        Optional<Link> link = walk.next();
        if (link.isEmpty()) {
          break;
        }
        HorizonRecord record = link.get().record();
        records.add(record);
        buckets += record.buckets().size();
        if (record.to() >= end) {
          break;
        }
      }
    } catch (IOException e) { // of a file that is removed: none, a stale handle, or another's bytes
      failure = e;
    }
    Optional<Checkpoint> checkpoint = chain.checkpoint();
    if (checkpoint.isPresent() && checkpoint.get().number() >= first) {
      return List.of();
    }
    if (failure != null) {
      throw failure;
    }
    return records;
  }

  private boolean readRecord(
      HorizonRecord record, CountingKeys counting, Delivery delivery, long from, long end)
      throws IOException {
    WitnessVerifier keys = null;
    for (ClosedBucket b : record.buckets()) {
      var bucket = new Bucket(b.start(), log.bucketWidth());
      if (bucket.end() <= from || bucket.start() >= end) {
        continue;
      }
      if (keys == null) {
        keys = verifier(record, counting);
      }
      boolean more;
      try (SegmentReader lock = locks.open(b)) {
        more = delivery.acceptAll(lock.messages(from, end, keys, true));
      } catch (IOException e) {
        Optional<Checkpoint> checkpoint = chain.checkpoint();
        if (delivery.sinkFailed() || checkpoint.isEmpty() || checkpoint.get().to() < bucket.end()) {
          throw e;
        }
        delivery.again(); // retired under our hands
        more = segments.read(bucket.start(), bucket.end(), checkpoint.get(), counting, delivery);
      }
      if (!more) {
        return false;
      }
    }
    return true;
  }

  /**
   * Reads settled messages, then those that are not settled yet, marked so; locks are honoured
   * where they exist, and unlisted buckets in settled time are ignored (rule H4). A message that is
   * not settled may be REJECTED after it was delivered. For a user who may only read, what counts
   * as settled may be old.
   *
   * @return the time to go on from later, if the sink took everything: of what lies before it all
   *     that exists was delivered, marked as settled, and nothing else. What was delivered from it
   *     on may lack messages that were written meanwhile, and may be REJECTED yet unless it was
   *     marked as settled. {@link Long#MIN_VALUE} if nothing was settled
   * @throws dev.cinch.bag.storage.ForeignEntryException at the end, when all else was delivered, if
   *     something in an open bucket, or for one, is neither file nor directory (rule N7)
   */
  @CanIgnoreReturnValue
  public long live(long from, long to, MessageSink sink, Objection objection) throws IOException {
    var delivery = new Delivery(log, from, to, sink, objection);
    return unlessReplaced(new LiveRead(log, this, chain, buckets, to, delivery)::run);
  }

  WitnessVerifier verifier(HorizonRecord record, CountingKeys keys) throws IOException {
    return new WitnessVerifier(keys.counted(record, log.layout().record(record.number())));
  }
}
