package dev.cinch.bag.close;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.close.Intents.Intent;
import dev.cinch.bag.close.Locks.Closed;
import dev.cinch.bag.format.ForeignEntryException;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.format.HorizonRecord.Sums;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.store.CountingKeys;
import dev.cinch.bag.store.CountingKeys.KeyCount;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Advances a log's horizon (section 4): closing by cron, fencing a lease and helping a late append
 * are all this operation (rule H3). Thread-safe, and any number of processes may do it at once.
 */
@CheckReturnValue
public final class HorizonAdvance {
  private static final Logger LOG = LoggerFactory.getLogger(HorizonAdvance.class);

  /**
   * Settling more than this past the newest bucket and the last record needs a third opinion
   * (section 5).
   */
  public static final long UNQUESTIONED_NANOS = 3_600_000_000_000L;

  /** How long {@link #await} sleeps at most before it looks whether somebody else was here. */
  private static final long LONGEST_PAUSE_NANOS = 1_000_000_000L;

  /** Buckets that one record lists at most, so that no record grows without bound. */
  static final int MAX_BUCKETS_PER_RECORD = 10_000; // HorizonRecord.MAX_BUCKETS, or fewer in a test

  private final LogContext log;
  private final HorizonChain chain;
  private final BucketCloser closer;
  private final Intents intents;
  private final LongConsumer progress;
  private volatile boolean restored;

  public HorizonAdvance(LogContext log) {
    this(log, buckets -> {}, new BucketCloser(log));
  }

  /**
   * @param progress told the number of buckets closed so far in an advance, after each
   * @param leftOut told of every entry of a bucket that is left out since it is not a file (rule
   *     N7)
   */
  public HorizonAdvance(
      LogContext log, LongConsumer progress, Consumer<ForeignEntryException> leftOut) {
    this(log, progress, new BucketCloser(log, leftOut));
  }

  private HorizonAdvance(LogContext log, LongConsumer progress, BucketCloser closer) {
    this.log = log;
    this.progress = progress;
    this.chain = new HorizonChain(log);
    this.closer = closer;
    this.intents = new Intents(log);
  }

  /**
   * From now on settles also what locks say that neither a record nor an intent reaches (rule H7):
   * only for a copy of a store, mended before (rule H10). In a store that has lost its records it
   * makes another history than the one that others may know.
   */
  public void settleRestored() {
    restored = true;
  }

  /** The last boundary through which the horizon may advance now, by the filesystem's clock. */
  public long reachable() throws IOException {
    long now = log.store().now();
    return Bucket.floor(now - log.store().settings().graceNanos(), log.bucketWidth());
  }

  /**
   * Advances to a boundary at or above {@code time}, rounding up (rule H5); does nothing if the
   * horizon is there already.
   *
   * @param time nanoseconds since the Unix epoch
   * @param opinion somebody else's present time, of the lease service or the operator, if there is
   *     one
   * @return the last record
   * @throws dev.cinch.bag.store.ClockException if this machine's clock is too far from the
   *     filesystem's; no mark was left
   * @throws TooEarlyException if the grace period is not over; no mark was left
   * @throws OpinionNeededException if the advance is so long that an opinion is needed; what needs
   *     none was settled
   */
  @CanIgnoreReturnValue
  public Link advance(long time, OptionalLong opinion) throws IOException, InterruptedException {
    return advance(time, opinion, log.store()::checkedNow);
  }

  /**
   * The boundary behind all that was committed before this was called, past every cache: once the
   * log is settled through there, whoever reads finds it. Buckets say it, so that a message counts
   * whoever wrote it and whatever the time was there.
   *
   * @return nanoseconds since the Unix epoch; where the log is settled to, if nothing stands behind
   *     that; {@link Long#MIN_VALUE} if nothing was ever written or settled
   */
  public long written() throws IOException {
    long settled = chain.freshTip().map(t -> t.record().to()).orElse(Long.MIN_VALUE);
    List<Bucket> open = log.buckets().all(settled, Long.MAX_VALUE, this::isSettled);
    return open.isEmpty() ? settled : open.get(open.size() - 1).end();
  }

  /**
   * As {@link #advance}, as soon as the grace period is over, or somebody else was here.
   *
   * @param waiting told before each pause, of a second at most, how long it is until then;
   *     nanoseconds
   * @throws InterruptedException if the store's {@link dev.cinch.lease.time.TimeSource} no longer
   *     sleeps; what is settled stays so
   */
  @CanIgnoreReturnValue
  public Link await(long time, OptionalLong opinion, LongConsumer waiting)
      throws IOException, InterruptedException {
    while (true) {
      try {
        return advance(time, opinion);
      } catch (TooEarlyException e) {
        waiting.accept(e.waitNanos());
        log.store().time().sleepNanos(Math.min(LONGEST_PAUSE_NANOS, e.waitNanos()));
      }
    }
  }

  /**
   * As {@link #advance}, for a writer that needs the verdict of a batch in the bucket. It goes by
   * the filesystem's clock alone: its own is compared before it writes, and one that went wrong
   * since may not leave a message without a verdict (rule A1).
   */
  public Link help(Bucket bucket) throws IOException, InterruptedException {
    return advance(bucket.end(), OptionalLong.empty(), log.store()::now);
  }

  /** The filesystem's now, with or without a comparison. */
  private interface Clock {
    long now() throws IOException;
  }

  private Link advance(long time, OptionalLong opinion, Clock clock)
      throws IOException, InterruptedException {
    long to = boundary(time);
    log.requireSame(); // else the records are those of another log
    Optional<Link> tip = chain.closersTip();
    if (reaches(tip, to)) {
      return chain.durable(tip.orElseThrow());
    }
    long now = clock.now(); // step 1: look at the clock before leaving a mark
    long reachable = now - log.store().settings().graceNanos();
    if (to > reachable) {
      throw new TooEarlyException(to, to - reachable);
    }
    try {
      questionLongAdvance(tip, to, opinion);
    } catch (OpinionNeededException e) {
      if (e.vouched().isPresent() && !reaches(tip, e.vouched().getAsLong())) {
        Link unused = announced(tip, e.vouched().getAsLong(), now);
      }
      throw e;
    }
    return announced(tip, to, now);
  }

  private Link announced(Optional<Link> tip, long to, long now)
      throws IOException, InterruptedException {
    long from = tip.map(t -> t.record().to()).orElse(Long.MIN_VALUE);
    if (!restored) {
      new UnrecordedLocks(log).refuse(from, to);
    }
    Intent intent;
    try {
      intent = intents.leave(to); // step 2
    } catch (NoSuchFileException e) {
      // Swept before it had its mode, by somebody who got there meanwhile.
      Optional<Link> swept = chain.freshTip();
      if (reaches(swept, to)) {
        return chain.durable(swept.orElseThrow());
      }
      throw e;
    }
    Link last = chain.durable(settle(intent, now)); // or a lock could be left with neither
    intents.withdraw(intent); // step 5
    intents.sweep(last.record().to(), now);
    return last;
  }

  /** Rounds up; the outermost times, which have no boundary beyond, to the last there is. */
  private long boundary(long time) {
    long width = log.bucketWidth();
    long outermost = Long.MAX_VALUE - width;
    return Bucket.ceiling(Math.max(-outermost, Math.min(outermost, time)), width);
  }

  /**
   * Settles the log to the end of time, so that nothing is ever committed in it again (rule H8).
   * What is open is closed early; an append that is under way is REJECTED, or was committed before.
   *
   * @return the last record there will be
   */
  public Link end() throws IOException, InterruptedException {
    long to = boundary(Long.MAX_VALUE);
    log.requireSame();
    Optional<Link> tip = chain.freshTip();
    if (reaches(tip, to)) {
      return chain.durable(tip.orElseThrow());
    }
    long now = log.store().checkedNow();
    long from = tip.map(t -> t.record().to()).orElse(Long.MIN_VALUE);
    new UnrecordedLocks(log).refuse(from, to);
    Intent intent = intents.leaveLast(to);
    Link last = chain.durable(settle(intent, now));
    intents.withdraw(intent);
    return last;
  }

  private static boolean reaches(Optional<Link> tip, long to) {
    return tip.isPresent() && tip.get().record().to() >= to;
  }

  /**
   * A clock that jumped to 2036 would end the log (section 5). What a bucket vouches for goes by
   * the newest bucket alone, and not by the last record: or closers would walk there hour by hour.
   */
  private void questionLongAdvance(Optional<Link> tip, long to, OptionalLong opinion)
      throws IOException {
    long since = tip.map(t -> t.record().to()).orElse(log.created());
    if (to - since <= UNQUESTIONED_NANOS) {
      return;
    }
    List<Bucket> buckets = log.buckets().all(since, to, this::isSettled);
    OptionalLong vouched = OptionalLong.empty();
    if (!buckets.isEmpty()) {
      since = buckets.get(buckets.size() - 1).end();
      long grace = Math.min(log.store().settings().graceNanos(), UNQUESTIONED_NANOS);
      vouched = OptionalLong.of(Bucket.floor(since + grace, log.bucketWidth()));
    }
    if (to - since <= UNQUESTIONED_NANOS) {
      return;
    }
    if (opinion.isEmpty()) {
      throw new OpinionNeededException(
          to - since, vouched, "name a lease server, or confirm the present time yourself");
    }
    long doubt = opinion.getAsLong() - to;
    if (doubt < 0) {
      throw new OpinionNeededException(
          to - since,
          vouched,
          "it says the present is %.3f s before the time to settle".formatted(-doubt / 1e9));
    }
  }

  private Link settle(Intent intent, long now) throws IOException, InterruptedException {
    long to = intent.to();
    Optional<Link> tip = chain.closersTip();
    if (reaches(tip, to)) {
      return chain.durable(tip.orElseThrow());
    }
    if (tip.isPresent()) {
      chain.durable(tip.get()); // or the next record could outlive it
    } else {
      log.storage().secure(log.layout().root()); // or the first one the log's identity
    }
    long from = tip.map(t -> t.record().to()).orElse(Long.MIN_VALUE);
    var buckets = new ArrayList<>(log.buckets().all(from, to, this::isSettled)); // step 3
    // Each closer in an order of its own, so that two of them don't copy everything twice.
    Collections.shuffle(buckets, new Random(intent.closer().hashCode()));
    var closed = new ArrayList<Mine>();
    for (Bucket bucket : buckets) {
      Optional<Closed> it = closer.close(bucket, this::isSettled);
      if (it.isEmpty()) {
        return settle(intent, now); // we slept while others settled it, and retired it
      }
      closed.add(new Mine(new ClosedBucket(bucket.start(), it.get().digest()), it.get().sums()));
      progress.accept(closed.size());
    }
    closed.sort(Comparator.comparingLong(b -> b.listed().start()));
    // After the buckets are closed: a key is trusted before anything is written under it, so that
    // what is in them needs no other.
    KeyCount keys = new CountingKeys(log.store(), tip.map(Link::record)).next();
    while (!reaches(tip, to)) { // step 4; who loses links what is left after the winner
      tip = Optional.of(linkNext(tip, intent, closed, keys, now));
      HorizonRecord winner = tip.get().record();
      if (!reaches(tip, to)
          && !keys.equals(new KeyCount(winner.trustedKeys(), winner.keysDigest()))) {
        // We were slow, and counted before a key was added that the winner names.
        keys = new CountingKeys(log.store(), tip.map(Link::record)).next();
      }
    }
    return tip.orElseThrow();
  }

  private boolean isSettled(long end) throws IOException {
    return reaches(chain.freshTip(), end);
  }

  /** A closed bucket, as a record lists and counts it. */
  private record Mine(ClosedBucket listed, Sums sums) {}

  private Link linkNext(
      Optional<Link> tip, Intent intent, List<Mine> closed, KeyCount keys, long now)
      throws IOException {
    long from = tip.map(t -> t.record().to()).orElse(Long.MIN_VALUE);
    List<Mine> mine = closed.stream().filter(b -> b.listed().start() >= from).toList();
    long reach = intent.to();
    if (mine.size() > MAX_BUCKETS_PER_RECORD) {
      mine = mine.subList(0, MAX_BUCKETS_PER_RECORD);
      reach = mine.get(mine.size() - 1).listed().start() + log.bucketWidth();
    }
    Sums before = tip.map(t -> t.record().sums()).orElse(Sums.NONE);
    long number = tip.map(t -> t.record().number()).orElse(0L) + 1;
    var record =
        new HorizonRecord(
            log.id(),
            number,
            from,
            reach,
            tip.map(Link::digest).orElse(""),
            keys.keys(),
            keys.digest(),
            mine.stream().map(Mine::listed).toList(),
            mine.stream().map(Mine::sums).reduce(before, Sums::plus),
            log.store().machine() + "-" + intent.closer(),
            now);
    try {
      if (number % LogLayout.RECORDS_PER_GROUP == 1) {
        log.storage().prepare(log.layout().recordGroup(LogLayout.groupOfRecord(number)));
      }
      log.publish(chain.path(number), record.encode());
    } catch (NoSuchFileException e) {
      Optional<Link> passed = chain.freshTip();
      if (passed.isPresent() && passed.get().record().number() >= number) {
        // We slept, and the directory was retired with what stood in it.
        return chain.durable(passed.get());
      }
      throw e;
    }
    Optional<Link> winner = chain.readUnlessRetired(number);
    if (winner.isEmpty()) {
      // We slept so long that the record of this number was retired: what we linked does not count
      // (rule R2).
      return chain.durable(
          chain.freshTip().orElseThrow(() -> new NoSuchFileException("horizon records")));
    }
    if (winner.get().record().equals(record)) {
      chain.seal(winner.get());
    } else {
      LOG.debug(
          "record {} of {} was linked by {}",
          number,
          log.layout().name(),
          winner.get().record().closer());
    }
    return winner.get();
  }

  /**
   * Whether an intent or a record reaches past the bucket, past every cache: append, step 4.
   * Intents first: see the model.
   */
  public boolean marked(Bucket bucket) throws IOException {
    if (intents.reachPast(bucket)) {
      return true;
    }
    Optional<Link> tip = chain.freshTip();
    return tip.isPresent() && tip.get().record().to() > bucket.start();
  }

  /** The chain that it advances. */
  public HorizonChain chain() {
    return chain;
  }
}
