package dev.cinch.bag;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.bag.write.MessageRefusedException;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * What messages of a session are written under: made anew whenever one of its leases was renewed,
 * and the same until then. Thread-safe.
 */
@CheckReturnValue
final class Stamps {
  /** How often a stamp is made whose leases, as far as it goes, ran out meanwhile. */
  private static final int MOST_TRIES = 8;

  private final StoreContext store;
  private final WitnessCheck check;
  private final Holdings holdings;
  private volatile Stamped stamped = new Stamped(LeaseStamp.NONE, List.of(), List.of());

  /** A stamp, the holdings that it is of, and the grants that they had. */
  record Stamped(LeaseStamp stamp, List<Holding> holdings, List<Grant> grants) {
    /** Whether all leases that it names permit to write to a log. */
    boolean permits(Id log) {
      for (SignedWitness w : stamp.witnesses()) {
        if (!w.witness().logs().contains(log)) {
          return false;
        }
      }
      return true;
    }
  }

  /**
   * @param holdings of the session, which adds and removes some at any time; iterators go through
   *     those of one moment
   */
  Stamps(StoreContext store, WitnessCheck check, Holdings holdings) {
    this.store = store;
    this.check = check;
    this.holdings = holdings;
  }

  /**
   * A stamp under all leases as they stood at some moment after this was called.
   *
   * @throws MessageRefusedException if a renewal can't be relied on, or the filesystem answers so
   *     slowly that each stamp is over when it is made
   */
  Stamped current() throws MessageRefusedException {
    Stamped now = stamped;
    if (isCurrent(now)) {
      return now;
    }
    // Making one asks the filesystem, which may take longer than what was left of the leases; if
    // they were renewed meanwhile, what it says is no longer so. One that has time left is good,
    // whatever was renewed meanwhile: a filesystem that is slower than the renewals would never
    // let anybody have the newest.
    for (int tries = 0; tries < MOST_TRIES; tries++) {
      now = makeStamp();
      if (isCurrent(now) || now.stamp().upperBound() > store.time().wallNanos()) {
        return now;
      }
    }
    throw new MessageRefusedException(
        "the storage takes longer to answer than the leases last: take longer leases, or look at"
            + " the file server");
  }

  private synchronized Stamped makeStamp() throws MessageRefusedException {
    List<Holding> held = holdings.now();
    List<Grant> grants = held.stream().map(h -> h.lease().grant()).toList();
    var witnesses = new ArrayList<SignedWitness>();
    long lower = Long.MIN_VALUE;
    long upper = Long.MAX_VALUE;
    try {
      long clock = store.now();
      for (int i = 0; i < grants.size(); i++) {
        Grant grant = grants.get(i);
        lower = Math.max(lower, held.get(i).lowerBound());
        upper = Math.min(upper, grant.expiry() - store.settings().leaseMarginNanos());
        if (!stamped.grants().contains(grant)) {
          // An old renewal is no fault: its signed time need only not be ahead of the
          // filesystem's.
          Witness first = grant.witnesses().get(0).witness();
          check.check(grant, Math.min(clock, first.issuedAt()), held.get(i).instance());
          held.get(i).goesBy(first.instance());
        }
        for (SignedWitness w : grant.witnesses()) {
          witnesses.add(w);
          lower = Math.max(lower, w.witness().lowerBound());
        }
      }
    } catch (IOException e) {
      throw new MessageRefusedException("the renewed leases can't be used: " + e.getMessage());
    }
    LeaseStamp stamp = grants.isEmpty() ? LeaseStamp.NONE : new LeaseStamp(witnesses, lower, upper);
    Stamped made = new Stamped(stamp, held, grants);
    stamped = made;
    return made;
  }

  private boolean isCurrent(Stamped s) {
    int n = 0;
    for (Holding h : holdings) { // as they are at one moment, whoever adds and removes some
      if (n == s.holdings().size()
          || s.holdings().get(n) != h
          || s.grants().get(n) != h.lease().grant()) {
        return false;
      }
      n++;
    }
    return n == s.holdings().size();
  }
}
