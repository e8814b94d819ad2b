package dev.cinch.bag;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.write.MessageRefusedException;
import dev.cinch.lease.Altered;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.hold.LeaseKeeper;
import dev.cinch.lease.instance.ServiceInstance;
import dev.cinch.lease.witness.GrantSigner;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Rule L2 at a session: what a service with the right key states of its watermarks is held against
 * what it says of the time, as readers do it.
 */
class WatermarkCheckTest extends SessionRig {
  private static final String PROBLEM =
      "the lease server's watermark of tenant-7 is too far ahead of its signed time; its clock or"
          + " that of an earlier holder is off";

  private long ahead = Long.MIN_VALUE;

  /** A service that signs watermarks which lie ahead by {@link #ahead}, while that is set. */
  private ServiceInstance lying() throws Exception {
    var signer = new WitnessSigner(key);
    GrantSigner lying =
        new GrantSigner() {
          @Override
          public List<SignedWitness> sign(List<Witness> witnesses) {
            return signer.sign(witnesses.stream().map(w -> lied(w)).toList());
          }

          @Override
          public PublicKey publicKey() {
            return signer.publicKey();
          }
        };
    return serve(key, lying, rig.time, store("served"), 1);
  }

  private Witness lied(Witness w) {
    return ahead == Long.MIN_VALUE ? w : Altered.ahead(w, ahead);
  }

  private long allowed(Store store) {
    return store.context().settings().watermarkAheadNanos();
  }

  @Test
  void l2_aGrantWhoseWatermarkIsTooFarAheadIsRefused() throws Exception {
    Store a = store("a");
    ahead = allowed(a) + 1;
    try (Session session = Session.open(a, lying(), "a")) {
      var e = assertThrows(SessionRefusedException.class, () -> session.acquire(NAMES, LEASE));
      assertEquals(PROBLEM, e.getMessage());
    }
  }

  @Test
  void l2_aRenewalWhoseWatermarkIsTooFarAheadIsRefused() throws Exception {
    Store a = store("a");
    try (LeaseKeeper keeper = LeaseKeeper.stepped(rig.time);
        Session session = Session.open(new Writers(a, Durability.SYNC), lying(), "a", keeper)) {
      session.acquire(NAMES, LEASE);
      assertInstanceOf(Receipt.Committed.class, session.append(a.log(Rig.JOBS), new byte[] {1}));
      ahead = allowed(a) + 1;
      rig.time.advanceMs(4_000);
      assertTrue(keeper.doWork() > 0); // renewed
      var e =
          assertThrows(
              MessageRefusedException.class, () -> session.append(a.log(Rig.JOBS), new byte[] {2}));
      assertEquals("the renewed leases can't be used: " + PROBLEM, e.getMessage());
    }
  }

  @Test
  void l2_asFarAheadAsTheClocksOfTheStoreAllowIsTaken() throws Exception {
    Store a = store("a");
    ahead = allowed(a);
    try (Session session = Session.open(a, lying(), "a")) {
      session.acquire(NAMES, LEASE);
    }
  }
}
