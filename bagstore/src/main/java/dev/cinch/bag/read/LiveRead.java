package dev.cinch.bag.read;

import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.close.UnrecordedLocks;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.read.OpenBuckets.Found;
import dev.cinch.bag.storage.ForeignEntryException;
import dev.cinch.bag.storage.Patience;
import dev.cinch.bag.store.CountingKeys;
import dev.cinch.bag.store.LogContext;
import dev.cinch.lease.witness.WitnessVerifier;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One live read: what is settled, and then what is not settled yet (rule H4). Not thread-safe.
 *
 * <p>Others settle and retire meanwhile. What they retired is missing in listings, of the tree and
 * of a bucket, without a word; and a bucket that was made in settled time is listed though it does
 * not exist, and its writer was told so. So nothing is delivered of what listings say before a look
 * at the chain that comes after them. What is settled by then is read as such, and of the listings
 * counts what lies behind it. One look serves some buckets.
 */
final class LiveRead {
  private static final Logger LOG = LoggerFactory.getLogger(LiveRead.class);

  /** How many open buckets are listed before one look at the chain. */
  private static final int READ_AHEAD = 32;

  private final LogContext log;
  private final LogReader reader;
  private final HorizonChain chain;
  private final OpenBuckets buckets;
  private final long to;
  private final Delivery delivery;

  /** What the last look at the chain said. */
  private long settled = Long.MIN_VALUE;

  /** What the last look before the first open bucket said: all below was delivered as settled. */
  private long whole = Long.MIN_VALUE;

  private boolean beyond;

  private Optional<Link> tip = Optional.empty();

  /** What the tree listed, of what was not looked at yet; and what was found in the next few. */
  private final Queue<Bucket> open = new ArrayDeque<>();

  private final List<Found> found = new ArrayList<>();

  /** What stands in open buckets, or for them, and is neither file nor directory. */
  private final Map<Path, ForeignEntryException> foreign = new LinkedHashMap<>();

  private boolean listed;
  private boolean done;

  LiveRead(
      LogContext log,
      LogReader reader,
      HorizonChain chain,
      OpenBuckets buckets,
      long to,
      Delivery delivery) {
    this.log = log;
    this.reader = reader;
    this.chain = chain;
    this.buckets = buckets;
    this.to = to;
    this.delivery = delivery;
  }

  /** Reads, and gives the time below which all that was delivered is settled, and all of it. */
  long run() throws IOException {
    read();
    delivery.end();
    for (ForeignEntryException e : foreign.values()) {
      throw e; // at the end: it keeps nothing else from being read
    }
    return whole;
  }

  private void read() throws IOException {
    settle();
    while (!done) {
      boolean whole = unlessSettled(this::find);
      settle();
      if (!whole || !unlessSettled(this::deliver)) {
        listed = false; // the tree has less now, and segments have it
        delivery.again();
      }
    }
  }

  /** What is there can't be read, and there may have been something (rule N7). */
  private void leaveOut(ForeignEntryException e) {
    if (foreign.putIfAbsent(e.path(), e) == null && foreign.size() > 1) {
      LOG.warn("{}", e.getMessage()); // the first one is thrown
    }
  }

  private interface Step {
    void run() throws IOException;
  }

  /** False if it failed since what it looks at was settled, and went, under its hands. */
  private boolean unlessSettled(Step step) throws IOException {
    try {
      step.run();
      return true;
    } catch (IOException e) {
      if (delivery.sinkFailed()) {
        throw e;
      }
      Patience wait = log.documents().patience(log.layout().records());
      while (!isSettledFurther()) { // or its record is in no cache of this machine yet
        if (!wait.again()) {
          throw e;
        }
      }
      return false;
    }
  }

  private boolean isSettledFurther() throws IOException {
    return reader.settledThrough() > settled || reader.retiredAfter(settled);
  }

  /** Looks at the chain, and delivers what is settled since the last look. */
  private void settle() throws IOException {
    Optional<Link> found = chain.permittedTip();
    if (done || found.isEmpty() || found.get().record().to() <= settled) {
      return;
    }
    chain.durable(found.get());
    delivery.again(); // some of it may have been delivered before it was settled
    done = !reader.readSettled(found.get(), behind(settled), to, delivery);
    settled = found.get().record().to();
    if (!beyond) { // else it was behind some of this already, and did not deliver it
      whole = settled;
    }
    tip = found;
  }

  /** Where to go on: not before a time, nor before what was delivered last. */
  private long behind(long time) {
    return Math.max(time, delivery.reached());
  }

  /** Looks what there is of the next few buckets. */
  private void find() throws IOException {
    if (!listed) {
      open.clear();
      open.addAll(openBuckets(behind(settled), to));
      listed = true;
    }
    found.clear();
    while (!open.isEmpty() && found.size() < READ_AHEAD) {
      Bucket bucket = open.remove();
      if (bucket.start() >= settled) {
        try {
          found.add(buckets.find(bucket));
        } catch (ForeignEntryException e) {
          leaveOut(e);
        }
      }
    }
  }

  /** Delivers what was found, but for what is settled now. */
  private void deliver() throws IOException {
    found.removeIf(f -> f.bucket().start() < settled);
    if (!done && !found.isEmpty()) {
      missNoRecord();
      beyond = true;
      // Listed after the files: a key is trusted before anything is written under it.
      var keys = new WitnessVerifier(new CountingKeys(log.store(), tip.map(Link::record)).now());
      for (Found f : found) {
        try {
          if (!buckets.deliver(f, keys, delivery, this::leaveOut)) {
            done = true;
            return;
          }
        } catch (ForeignEntryException e) {
          if (delivery.sinkFailed()) {
            throw e;
          }
          leaveOut(e);
        }
      }
    }
    done |= open.isEmpty();
  }

  /** A lock that no record and no intent reaches had a record, which is missing (rule H7). */
  private void missNoRecord() throws IOException {
    List<Bucket> locked = found.stream().filter(Found::locked).map(Found::bucket).toList();
    if (!locked.isEmpty()) {
      Optional<DamagedException> missing = new UnrecordedLocks(log).missing(locked);
      if (missing.isPresent()) {
        throw missing.get();
      }
    }
  }

  /**
   * Names past every cache: whoever has just taken a lease must find all that its last holder wrote
   * (rules N2, H3).
   */
  private List<Bucket> openBuckets(long from, long to) throws IOException {
    return log.storage().buckets(from, to, this::leaveOut);
  }
}
