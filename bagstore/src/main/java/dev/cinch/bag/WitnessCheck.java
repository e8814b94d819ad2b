package dev.cinch.bag;

import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.registry.StoreInstances;
import dev.cinch.bag.registry.StoreShards;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.lease.Correlation;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.witness.TrustedKeys;
import dev.cinch.lease.witness.WitnessException;
import dev.cinch.lease.witness.WitnessVerifier;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Whether a session may rely on the witnesses of a grant: signed by a key that the store trusts, by
 * for this store, by no earlier instance of the service than it has met for the name (rule L9), at
 * a time that agrees with the filesystem's clock (rule L8), with watermarks that agree with what it
 * knew of the time (rule L2). Thread-safe.
 */
final class WitnessCheck {
  /** How many names it remembers instances for: the rule is against confusion, not for safety. */
  private static final int NAMES = 10_000;

  private final StoreContext store;
  private final SessionKeys keys;
  private long highestInstance;

  /** Where several servers share the store, those of other names may have higher numbers. */
  private final Map<LeaseName, Long> highestInstances =
      new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<LeaseName, Long> eldest) {
          return size() > NAMES;
        }
      };

  private int durable; // keys whose names were forced

  WitnessCheck(Store store) {
    this.store = store.context();
    this.keys = new SessionKeys(store);
  }

  /**
   * @param before the filesystem's clock before the request was sent
   * @throws SessionRefusedException if it may not
   */
  synchronized void check(Grant grant, long before) throws IOException {
    check(grant, before, 0);
  }

  /**
   * As {@link #check(Grant, long)}, of a renewal.
   *
   * @param least the instance that the holder of these leases goes by: another lease of the session
   *     may go on at a later one already, and this one not yet (rule L10)
   */
  synchronized void check(Grant grant, long before, long least) throws IOException {
    TrustedKeys counting = keys.signed();
    if (counting.size() > durable) {
      // Whoever added the last one may have stopped before it did; what we write depends on it.
      store.storage().secure(store.layout().keys());
      durable = counting.size();
    }
    long after = store.now();
    List<Witness> witnesses = verified(counting, grant);
    checkStore(store, grant);
    for (Witness w : witnesses) {
      long met = highestInstances.getOrDefault(w.name(), 0L);
      long lowest = least > 0 ? least : met;
      if (least == 0 && w.instance() < highestInstance && !hasShards()) {
        lowest = highestInstance;
      }
      if (w.instance() < lowest) {
        throw new SessionRefusedException(
            "the lease server is instance %d, and instance %d exists: stop the old one"
                .formatted(w.instance(), lowest),
            null);
      }
      if (w.watermark().isTooFarAhead(store.settings().watermarkAheadNanos())) {
        throw new SessionRefusedException(
            "the lease server's watermark of %s is too far ahead of its signed time; its clock or that of an earlier holder is off"
                .formatted(w.name()),
            null);
      }
      highestInstance = Math.max(highestInstance, w.instance());
      highestInstances.put(w.name(), Math.max(met, w.instance()));
      checkTime(w, before, after);
    }
  }

  /**
   * Stores may share a key, so a signature does not say for which one it is. A server without a
   * store knows of no other server, so it counts where there never was one.
   */
  static void checkStore(StoreContext store, Grant grant) throws IOException {
    for (SignedWitness signed : grant.witnesses()) {
      checkStore(store, grant.id(), signed.witness());
    }
  }

  private static void checkStore(StoreContext store, Id secret, Witness w) throws IOException {
    if (Correlation.isOf(secret, w, store.identity().id())) {
      return;
    }
    String of = String.valueOf(store.layout().root());
    if (!Correlation.isOf(secret, w, Correlation.NO_STORE)) {
      throw new SessionRefusedException(
          "the lease server serves another store than %s, whose id is %s; ask the server of this one"
              .formatted(of, store.identity().id()),
          null);
    }
    Optional<StoreShards.Instance> latest = StoreInstances.latest(store);
    if (latest.isPresent()) {
      throw new SessionRefusedException(
          "the lease server serves no store, and %s has %s; ask that one, or serve with --store"
              .formatted(of, latest.get().inWords()),
          null);
    }
  }

  private boolean hasShards() throws IOException {
    return StoreShards.look(store).map().count() > 1;
  }

  private static List<Witness> verified(TrustedKeys keys, Grant grant)
      throws SessionRefusedException {
    var witnesses = new ArrayList<Witness>();
    try {
      List<byte[]> signed = grant.witnesses().stream().map(SignedWitness::bytes).toList();
      for (SignedWitness verified : new WitnessVerifier(keys).verifyAll(signed)) {
        Witness w = grant.witnesses().get(witnesses.size()).witness();
        if (!verified.witness().equals(w)) {
          throw new SessionRefusedException("the witness for " + w.name() + " was altered", null);
        }
        witnesses.add(w);
      }
    } catch (WitnessException e) {
      throw new SessionRefusedException(
          "the lease server is not one that this store trusts: %s; serve with the store's key, or add the server's with keygen and --signed-by"
              .formatted(e.getMessage()),
          e);
    }
    return witnesses;
  }

  private void checkTime(Witness w, long before, long after) throws SessionRefusedException {
    StoreSettings s = store.settings();
    long ahead = w.issuedAt() - after - s.clockAheadMs() * 1_000_000;
    long behind = before - w.issuedAt() - s.clockBehindMs() * 1_000_000;
    if (ahead > 0 || behind > 0) {
      throw new SessionRefusedException(
          "the lease server's clock is %.3f s from the storage's, more than the store allows; set its clock (NTP)"
              .formatted((ahead > 0 ? w.issuedAt() - after : before - w.issuedAt()) / 1e9),
          null);
    }
  }
}
