package dev.cinch.lease.http;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.Witness;
import dev.cinch.lease.access.Caller;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * What happened to a lease, for a {@link Trail}: no secret is in it. Fields without a value are
 * null, empty or 0.
 *
 * @param at signed time, nanoseconds since the Unix epoch
 * @param correlation of the lease; null of what never was one
 * @param expiry signed time, 0 if there is none
 * @param by whose token or certificate asked for it
 * @param from the address that asked for it
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
    @Nullable String by,
    @Nullable String from,
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
  static TrailEvent of(Kind kind, Witness w, Caller caller) {
    return new TrailEvent(
        w.issuedAt(),
        kind,
        w.name(),
        w.holder(),
        w.correlation(),
        w.generation(),
        w.expiry(),
        w.tentative(),
        by(caller),
        from(caller),
        "");
  }

  static @Nullable String by(Caller caller) {
    return caller.named() ? caller.who() : null;
  }

  static @Nullable String from(Caller caller) {
    return caller.from() == null ? null : caller.from().toString();
  }

  /** How much it takes in the heap, about, bytes. */
  int size() {
    int text = holder.length() + reason.length() + (name == null ? 0 : name.value().length());
    return 400 + 2 * text;
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
    if (by != null) {
      out.put("by", by);
    }
    if (from != null) {
      out.put("from", from);
    }
    return reason.isEmpty() ? out : out.put("reason", reason);
  }
}
