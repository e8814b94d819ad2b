package dev.cinch.bag.close;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.storage.Patience;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Optional;

/**
 * Tells from locks that records are missing (rule H7): a bucket is closed under an intent that
 * reaches it, and that goes only after a record has reached it. So a lock that neither reaches had
 * a record once. Only for locks that say they were made so. Thread-safe.
 */
@CheckReturnValue
public final class UnrecordedLocks {
  private final LogContext log;
  private final HorizonChain chain;
  private final Intents intents;

  public UnrecordedLocks(LogContext log) {
    this.log = log;
    this.chain = new HorizonChain(log);
    this.intents = new Intents(log);
  }

  /**
   * Looks at intents, and after that at the last record: whoever removes an intent has a record.
   * Who may only read looks again until every cache has expired, once for all these buckets.
   *
   * @param locked buckets that have locks, all seen before this
   * @return what is missing, if anything is
   */
  public Optional<DamagedException> missing(Collection<Bucket> locked) throws IOException {
    long last = locked.stream().mapToLong(Bucket::end).max().orElse(Long.MIN_VALUE);
    Patience wait = log.storage().patience(log.layout().root());
    Optional<Reach> found = wait.find(() -> Optional.of(reach()).filter(r -> r.to() >= last));
    if (found.isPresent()) {
      return Optional.empty();
    }
    Reach reach = reach();
    return locked.stream()
        .filter(b -> b.end() > reach.to())
        .min(Bucket::compareTo)
        .map(b -> missing(b, reach.number() + 1));
  }

  /** How far intents and the last record reach, and the number of that. */
  private record Reach(long to, long number) {}

  private Reach reach() throws IOException {
    long announced = intents.furthest();
    Optional<HorizonRecord> last = chain.permittedTip().map(Link::record);
    return new Reach(
        Math.max(announced, last.map(HorizonRecord::to).orElse(Long.MIN_VALUE)),
        last.map(HorizonRecord::number).orElse(0L));
  }

  private DamagedException missing(Bucket locked, long number) {
    return new DamagedException(
        new Locks(log).path(locked),
        0,
        "a record or an intent that reaches this lock",
        "neither: the records from number "
            + number
            + " on are missing; restore them, or go on with close --restored where this is a copy");
  }

  /**
   * Refuses to say that nothing is settled where buckets are closed: then all records are missing.
   * To be asked where there is no record.
   */
  public void refuseAny() throws IOException {
    refuse(Long.MIN_VALUE, Long.MAX_VALUE);
  }

  /**
   * Refuses to settle {@code [from, to)} over what was settled before. To be asked before an intent
   * is left, which would look like the one that the lock was made under.
   */
  void refuse(long from, long to) throws IOException {
    var locks = new Locks(log);
    var locked = new ArrayList<Bucket>();
    for (Bucket bucket : log.buckets().known(from, to)) {
      try {
        if (locks.readIfListed(bucket).isPresent()) {
          locked.add(bucket);
        }
      } catch (IOException e) {
        // Whoever closes it tells.
      }
    }
    if (!locked.isEmpty()) {
      Optional<DamagedException> missing = missing(locked);
      if (missing.isPresent()) {
        throw missing.get();
      }
    }
  }
}
