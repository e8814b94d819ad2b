package dev.cinch.lease.register.sim;

import dev.cinch.lease.Ending;
import dev.cinch.lease.Id;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Witness;
import dev.cinch.lease.sim.Broken;

/** A lease of which a server gave out a witness: somebody may write under it, or come to. */
final class Exposed {
  final Id request;
  Witness newest;

  /** The highest that a full one carried. */
  long expiry = Long.MIN_VALUE;

  /** The highest that any carried. */
  long lasts = Long.MIN_VALUE;

  /** The highest timestamp that was written under it. */
  long written = Long.MIN_VALUE;

  LogSet logs = LogSet.NONE;

  Exposed(Id request, Witness first) {
    this.request = request;
    this.newest = first;
  }

  long grantedAt() {
    return newest.correlation().high();
  }

  long lowerBound() {
    return newest.lowerBound();
  }

  boolean isFull() {
    return expiry != Long.MIN_VALUE;
  }

  boolean isBefore(Exposed other) {
    return grantedAt() != other.grantedAt()
        ? grantedAt() < other.grantedAt()
        : newest.generation() < other.newest.generation();
  }

  /** One more witness of it (audit, step 2; rules L6 and L8). */
  void add(Witness w) {
    if (w.generation() != newest.generation()
        || !w.previous().equals(newest.previous())
        || w.previousEnding() != newest.previousEnding()
        || w.lowerBound() != newest.lowerBound()) {
      throw new Broken("witnesses of one lease differ: " + w + " and " + newest);
    }
    Witness earlier = w.issuedAt() < newest.issuedAt() ? w : newest;
    Witness later = earlier == w ? newest : w;
    if (later.expiry() < earlier.expiry() && later.issuedAt() > earlier.issuedAt()) {
      throw new Broken("a later witness expires earlier: " + later + " after " + earlier);
    }
    newest = later;
    lasts = Math.max(lasts, w.expiry());
    if (!w.tentative()) {
      expiry = Math.max(expiry, w.expiry());
      logs = logs.union(w.logs());
    }
  }

  boolean followedUnknown() {
    return newest.previousEnding() == Ending.UNKNOWN;
  }
}
