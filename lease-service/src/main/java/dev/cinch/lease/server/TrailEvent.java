package dev.cinch.lease.server;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.Witness;
import dev.cinch.lease.access.Caller;
import dev.cinch.lease.wire.LeaseDocuments;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * What happened to a lease, for a {@link Trail}: no secret is in it. Fields without a value are
 * null, empty or 0.
 *
 * @param at by the server's clock, nanoseconds since the Unix epoch
 * @param correlation of the lease; null of what never was one
 * @param expiry signed time, 0 if there is none
 * @param caller who asked for it; null if nobody did
 */
record TrailEvent(
    long at,
    Kind kind,
    @Nullable LeaseName name,
    String holder,
    @Nullable Id correlation,
    long generation,
    long expiry,
    boolean tentative,
    @Nullable Caller caller,
    String reason) {
  /** What happened. */
  enum Kind {
    GRANTED,
    RESUMED,
    UPGRADED,
    RELEASED,
    REVOKED,
    EXPIRED,
    REFUSED;

    String word() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** Of a lease as a witness has it. */
  static TrailEvent of(long at, Kind kind, Witness w, @Nullable Caller caller) {
    return new TrailEvent(
        at,
        kind,
        w.name(),
        w.holder(),
        w.correlation(),
        w.generation(),
        w.expiry(),
        w.tentative(),
        caller,
        "");
  }

  /** The same, at another time. */
  TrailEvent at(long time) {
    return new TrailEvent(
        time, kind, name, holder, correlation, generation, expiry, tentative, caller, reason);
  }

  ObjectNode json() {
    ObjectNode out = LeaseDocuments.time(LeaseDocuments.object(), "at", at);
    out.put("event", kind.word());
    if (name != null) {
      out.put("name", name.value());
    }
    if (!holder.isEmpty()) {
      out.put("holder", holder);
    }
    if (correlation != null) {
      out.put("correlation", correlation.toString());
    }
    if (generation > 0) {
      out.put("generation", generation);
    }
    if (expiry != 0) {
      out = LeaseDocuments.time(out, "expiry", expiry);
    }
    if (tentative) {
      out.put("tentative", true);
    }
    if (caller != null && caller.named()) {
      out.put("by", caller.who());
    }
    if (caller != null && caller.from() != null) {
      out.put("from", caller.from().toString());
    }
    return reason.isEmpty() ? out : out.put("reason", reason);
  }
}
