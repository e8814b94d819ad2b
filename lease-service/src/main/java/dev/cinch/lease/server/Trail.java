package dev.cinch.lease.server;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.LeaseHeldException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.OneLine;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.Revocation;
import dev.cinch.lease.Witness;
import dev.cinch.lease.access.Caller;
import dev.cinch.lease.server.TrailEvent.Kind;
import dev.cinch.lease.wire.LeaseDocuments;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Who was granted which lease, gave it back, had it revoked or was refused it: a line of JSON each
 * for the logger {@link #LOGGER}, and the newest for {@link Lately}. Renewals are no events. A
 * request that comes again may be told again. Thread-safe.
 */
final class Trail {
  /** Of the lines. */
  static final String LOGGER = "cinch.trail";

  private static final int MAX_TEXT = 300;

  /** Refusals that say who may not; others say when or where to ask, and end nothing. */
  private static final Set<Reason> TELLING =
      EnumSet.of(Reason.HELD, Reason.NOT_HELD, Reason.FORBIDDEN, Reason.INVALID, Reason.WATERMARK);

  private static final Logger lines = LoggerFactory.getLogger(LOGGER);

  private final LongSupplier wall;
  private final Lately lately;

  /**
   * @param wall the machine's clock, nanoseconds since the Unix epoch
   * @param lately is told of the events, too, and of leases that can run out
   */
  Trail(LongSupplier wall, Lately lately) {
    this.wall = wall;
    this.lately = lately;
  }

  /** It is known what became of the first operations of a request. */
  void told(Routes.Asked asked, List<Outcome> outcomes) {
    for (int i = 0; i < outcomes.size(); i++) {
      Operation operation = asked.operations().get(i);
      Outcome outcome = outcomes.get(i);
      if (outcome instanceof Outcome.Granted granted && !(operation instanceof Operation.Renew)) {
        granted.grant().witnesses().forEach(w -> granted(operation, w.witness(), asked.caller()));
      } else if (outcome instanceof Outcome.Released released) {
        for (Witness w : released.witnesses()) {
          lately.released(w);
          add(TrailEvent.of(wall.getAsLong(), Kind.RELEASED, w, asked.caller()));
        }
      } else if (outcome instanceof Outcome.Revoked revoked) {
        revoked(revoked, asked.caller());
      } else if (outcome instanceof Outcome.Refused refused) {
        refused(operation, refused.refusal(), asked.caller());
      }
    }
  }

  private void granted(Operation operation, Witness witness, Caller caller) {
    if (!lately.granted(witness) && !(operation instanceof Operation.Upgrade)) {
      return; // the request came before
    }
    Kind kind =
        operation instanceof Operation.Upgrade
            ? Kind.UPGRADED
            : operation instanceof Operation.Resume ? Kind.RESUMED : Kind.GRANTED;
    add(TrailEvent.of(wall.getAsLong(), kind, witness, caller));
  }

  private void revoked(Outcome.Revoked revoked, Caller caller) {
    Revocation r = revoked.revocation();
    add(
        new TrailEvent(
            wall.getAsLong(),
            Kind.REVOKED,
            r.name(),
            r.holder(),
            r.correlation(),
            0,
            revoked.expiry(),
            false,
            caller,
            r.reason()));
  }

  /** An operation was refused, here or by the service. */
  void refused(Operation operation, LeaseRefusedException refusal, Caller caller) {
    if (!TELLING.contains(refusal.reason())) {
      return;
    }
    @Nullable LeaseName name = null;
    String holder = "";
    if (operation instanceof Operation.Acquire acquire) {
      // Of several it may be another one that the reason names.
      name = acquire.names().size() == 1 ? acquire.names().get(0) : null;
      holder = acquire.holder();
    } else if (operation instanceof Operation.Revoke revoke) {
      name = revoke.name();
    }
    if (refusal instanceof LeaseHeldException held) {
      name = held.name();
    }
    String why = OneLine.of(refusal.reason() + ": " + refusal.getMessage(), MAX_TEXT);
    holder = OneLine.of(holder, MAX_TEXT);
    add(
        new TrailEvent(
            wall.getAsLong(), Kind.REFUSED, name, holder, null, 0, 0, false, caller, why));
  }

  private void add(TrailEvent event) {
    lately.add(event);
    if (lines.isInfoEnabled()) {
      lines.info("{}", new String(LeaseDocuments.bytes(event.json()), UTF_8));
    }
  }

  /** How many leases were found to have run out, since the start. */
  long expired() {
    return lately.expiredEver();
  }

  /** Looks which leases ran out, and tells of them. */
  void sweep() {
    lately.expired().forEach(event -> add(event.at(wall.getAsLong())));
  }
}
