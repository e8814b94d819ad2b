package dev.cinch.lease.http;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.lease.ChangeListener;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.LeaseHeldException;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.OneLine;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.access.Caller;
import dev.cinch.lease.access.Permission.Right;
import dev.cinch.lease.http.LeaseDetail.HandTo;
import dev.cinch.lease.table.Refusals;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Who is to have names next, by the wish of whoever may say so: until a while after a name is free
 * nobody else is granted it. It only says who is asked for first: what is granted to whom decide
 * the rules of leases. Forgotten when the server ends. Thread-safe.
 */
final class Handovers implements ChangeListener {
  /** So many are remembered; the oldest goes first. */
  static final int MOST = 1_000;

  static final long USUAL_KEEP_MS = 60_000;
  static final long LONGEST_KEEP_MS = 3_600_000;

  private static final long NANOS_PER_MS = 1_000_000;

  private static final Logger log = LoggerFactory.getLogger(Handovers.class);

  private final LeaseService service;
  private final LongSupplier clock;
  private final Map<String, Hand> hands = new ConcurrentHashMap<>();
  private final AtomicLong numbers = new AtomicLong();

  /**
   * A wish.
   *
   * @param number higher than those of earlier ones
   * @param to the holder that is to be next
   * @param free since when the name is free, by the clock; null while it is held
   */
  private record Hand(long number, String to, long keepNanos, @Nullable Long free) {
    Hand free(long since) {
      return free == null ? new Hand(number, to, keepNanos, since) : this;
    }
  }

  /**
   * @param service asked whether a name is held, on threads that must not wait: it has its leases
   *     in its memory
   * @param clock monotonic, nanoseconds
   */
  Handovers(LeaseService service, LongSupplier clock) {
    this.service = service;
    this.clock = clock;
  }

  boolean isEmpty() {
    return hands.isEmpty();
  }

  /**
   * Answers a request for one.
   *
   * @param id the secret of the grant; whoever knows it and may take the lease may hand it over
   *     until it is revoked
   */
  Answer hand(LeaseName name, String to, long keepMs, Optional<Id> id, Caller caller, Trail trail)
      throws LeaseUnavailableException {
    Optional<LeaseRefusedException> refusal = caller.refusal(Right.REVOKE, name.value());
    if (refusal.isPresent() && !isItsHolders(name, id, caller)) {
      // As of a revocation, which needs the same right.
      trail.refused(
          new Operation.Revoke(name, "handover", Optional.empty()), refusal.get(), caller);
      return Answer.refusal(refusal.get());
    }
    if (service.isShared()) {
      return invalid(
          "leases that several servers keep are not handed over: the others would not know of it."
              + " Revoke it, or have its holder release it");
    }
    if (to.isEmpty() || to.getBytes(UTF_8).length > 255 || !OneLine.fits(to)) {
      return invalid("\"to\" is a holder: one line of 1 to 255 bytes");
    }
    if (keepMs < 0 || keepMs > LONGEST_KEEP_MS) {
      return invalid("a name is kept 0 to " + LONGEST_KEEP_MS + " ms, not " + keepMs);
    }
    Optional<LeaseInfo> held = note(name, to, keepMs);
    if (held.isEmpty()) {
      return Answer.refusal(
          Refusals.notHeld("nothing to hand over: no lease on " + name + " is held"));
    }
    Witness lease = held.get().witness();
    trail.add(TrailEvent.of(TrailEvent.Kind.HANDED, lease, caller).asOf(service.now(), "to " + to));
    log.info("{} of \"{}\" is to be handed to \"{}\", says {}", name, lease.holder(), to, caller);
    ObjectNode out =
        LeaseDocuments.object().put("name", name.value()).put("holder", lease.holder());
    of(held.get(), service.now()).ifPresent(hand -> LeaseDocuments.handTo(out, hand));
    return Answer.ok(out);
  }

  /** A secret alone is not enough: the right of whoever has it may have ended, or the lease. */
  private boolean isItsHolders(LeaseName name, Optional<Id> id, Caller caller)
      throws LeaseUnavailableException {
    return id.isPresent()
        && caller.refusal(Right.ACQUIRE, name.value()).isEmpty()
        && service.isOf(id.get(), name)
        && service.show(name).filter(i -> i.state() != LeaseInfo.State.REVOKED).isPresent();
  }

  private static Answer invalid(String why) {
    return Answer.refusal(Refusals.invalid(why));
  }

  /** Outcomes that say of each grant to whom its leases are to be handed over. */
  List<Outcome> told(List<Outcome> outcomes) {
    return hands.isEmpty() ? outcomes : outcomes.stream().map(this::told).toList();
  }

  private Outcome told(Outcome outcome) {
    if (!(outcome instanceof Outcome.Granted granted)) {
      return outcome;
    }
    Grant grant = granted.grant();
    for (SignedWitness each : grant.witnesses()) {
      Hand hand = hands.get(each.witness().name().value());
      if (hand != null && !hand.to().equals(each.witness().holder())) {
        return new Outcome.Granted(new Grant(grant.id(), grant.witnesses(), hand.to()));
      }
    }
    return outcome;
  }

  /**
   * Notes one, in place of an earlier one of the name. Whose name it is now keeps it, if that is
   * the one that is to have it.
   *
   * @return the lease that is to be handed over; empty if none is held
   */
  Optional<LeaseInfo> note(LeaseName name, String to, long keepMs)
      throws LeaseUnavailableException {
    if (hands.size() >= MOST && !hands.containsKey(name.value())) {
      hands.entrySet().stream()
          .min(Comparator.comparingLong(e -> e.getValue().number()))
          .ifPresent(oldest -> hands.remove(oldest.getKey(), oldest.getValue()));
    }
    var hand = new Hand(numbers.incrementAndGet(), to, keepMs * NANOS_PER_MS, null);
    Hand before = hands.put(name.value(), hand); // first: from now on its end is told
    Optional<LeaseInfo> held = service.show(name).filter(info -> info.state().excludes());
    if (held.isEmpty()) {
      if (before == null) {
        hands.remove(name.value(), hand);
      } else {
        hands.replace(name.value(), hand, before);
      }
    } else if (held.get().witness().holder().equals(to)) {
      hands.remove(name.value());
    }
    return held;
  }

  /** Who is to have a name next; null if that is nobody in particular. */
  @Nullable String to(String name) {
    Hand hand = hands.isEmpty() ? null : hands.get(name);
    return hand == null ? null : hand.to();
  }

  /**
   * How a lease is to be handed over.
   *
   * @param now the service's time
   */
  Optional<HandTo> of(LeaseInfo lease, long now) {
    Hand hand = hands.get(lease.witness().name().value());
    if (hand == null) {
      return Optional.empty();
    }
    Long free = since(hand, Optional.of(lease), now);
    long left = free == null ? 0 : hand.keepNanos() - (clock.getAsLong() - free);
    return free == null
        ? Optional.of(new HandTo(hand.to(), lease.witness().expiry() + hand.keepNanos()))
        : left > 0 ? Optional.of(new HandTo(hand.to(), now + left)) : Optional.empty();
  }

  /** Since when a name is free, by the clock; null if it is held. */
  private @Nullable Long since(Hand hand, Optional<LeaseInfo> lease, long now) {
    if (hand.free() != null) {
      return hand.free();
    }
    if (lease.isPresent() && lease.get().state().excludes()) {
      return null;
    }
    long over =
        lease.isPresent() && lease.get().state() == LeaseInfo.State.EXPIRED
            ? Math.max(0, now - lease.get().witness().expiry())
            : 0;
    return clock.getAsLong() - over;
  }

  /** Why a request is not carried out now: a name is kept for another. Empty if none is. */
  Optional<LeaseRefusedException> refusal(Operation operation) {
    if (hands.isEmpty() || !(operation instanceof Operation.Acquire acquire)) {
      return Optional.empty();
    }
    return acquire.names().stream()
        .sorted()
        .flatMap(name -> refusal(name, acquire.holder()).stream())
        .findFirst();
  }

  private Optional<LeaseRefusedException> refusal(LeaseName name, String holder) {
    Hand hand = hands.get(name.value());
    if (hand == null || hand.to().equals(holder)) {
      return Optional.empty();
    }
    Optional<LeaseInfo> lease;
    long now;
    try {
      lease = service.show(name);
      now = service.now();
    } catch (LeaseUnavailableException e) {
      return Optional.empty(); // it grants nothing either
    }
    Long free = since(hand, lease, now);
    if (free == null) {
      LeaseInfo held = lease.orElseThrow();
      // Its own holder may ask again for what it has.
      return held.witness().holder().equals(holder)
          ? Optional.empty()
          : Optional.of(
              Refusals.held(name, held.witness().holder(), held.witness().expiry() - now));
    }
    long left = hand.keepNanos() - (clock.getAsLong() - free);
    if (left <= 0) {
      hands.remove(name.value(), hand);
      return Optional.empty();
    }
    hands.replace(name.value(), hand, hand.free(free));
    return Optional.of(
        new LeaseHeldException(
            name,
            "%s is kept for \"%s\" for another %d ms, who was handed it"
                .formatted(name, hand.to(), Refusals.millis(left)),
            Refusals.millis(left)));
  }

  @Override
  public void changed(String name, boolean free) {}

  @Override
  public boolean watches(String name) {
    return !hands.isEmpty() && hands.containsKey(name);
  }

  @Override
  public void became(LeaseInfo lease) {
    String name = lease.witness().name().value();
    long now = clock.getAsLong();
    hands.computeIfPresent(
        name,
        (n, hand) ->
            switch (lease.state()) {
              case HELD, TENTATIVE -> lease.witness().holder().equals(hand.to()) ? null : hand;
              case REVOKED -> hand;
              case RELEASED, EXPIRED -> hand.free(now);
            });
  }
}
