package dev.cinch.bag;

import static java.util.Objects.requireNonNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.model.Durability;
import dev.cinch.bag.write.MessageRefusedException;
import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.Share;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.hold.LeaseKeeper;
import dev.cinch.lease.instance.ServiceInstance;
import dev.cinch.lease.witness.GrantSigner;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.Tampering;
import dev.cinch.lease.witness.Tampering.Edit;
import dev.cinch.lease.witness.WitnessSigner;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Of what a single edit makes of a witness, whatever its form, a session takes nothing: not when it
 * acquires leases, renews them, or joins those of others.
 */
final class TamperedGrantTest extends SessionRig {
  /** Renewing and joining need a session each; they are tried with every so many-th edit. */
  private static final int EVERY = 7;

  private final List<LeaseName> names = new ArrayList<>();

  /** Which of the edits of the last witness the service answers with; none: it is honest. */
  private int edit = -1;

  /** What the service answered with. */
  private @Nullable Edit answered;

  private int edits = 1;

  /** A service between whose key and whose clients somebody sits. */
  private ServiceInstance tampered() throws Exception {
    var signer = new WitnessSigner(key);
    GrantSigner tampering =
        new GrantSigner() {
          @Override
          public List<SignedWitness> sign(List<Witness> witnesses) {
            List<SignedWitness> good = signer.sign(witnesses);
            return edit < 0 ? good : edited(good, signer);
          }

          @Override
          public PublicKey publicKey() {
            return signer.publicKey();
          }
        };
    return serve(key, tampering, rig.time, store("served"), 1);
  }

  private List<SignedWitness> edited(List<SignedWitness> good, WitnessSigner signer) {
    int last = good.size() - 1;
    var other = signer.sign(shown());
    var all = new ArrayList<Edit>(Tampering.of(good.get(last), other));
    all.addAll(Tampering.valuesOf(good.get(last)));
    edits = all.size();
    var result = new ArrayList<SignedWitness>(good);
    answered = all.get(edit);
    result.set(last, answered.witness());
    return result;
  }

  private void name(int leases) throws Exception {
    Grant unused = acquire("somebody"); // whose witness is good as well
    for (int i = 0; i < leases; i++) {
      names.add(new LeaseName("mine-" + i));
    }
  }

  private String what() {
    return edit + ": " + answered;
  }

  @ParameterizedTest
  @Tag("share")
  @ValueSource(ints = {1, 3})
  void noEditIsAcquired(int leases) throws Exception {
    name(leases);
    Store a = store("a");
    ServiceInstance server = tampered();
    for (edit = Share.first(7); edit < edits; edit += Share.step(7)) {
      try (Session session = Session.open(a, server, "a")) {
        assertThrows(
            SessionRefusedException.class, () -> session.acquire(names, LEASE), this::what);
      }
    }
    edit = -1;
    try (Session session = Session.open(a, server, "a")) {
      session.acquire(names, LEASE);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3})
  void noEditIsRenewed(int leases) throws Exception {
    name(leases);
    Store a = store("a");
    ServiceInstance server = tampered();
    for (int next = 0; next < edits; next += EVERY) {
      try (LeaseKeeper keeper = LeaseKeeper.stepped(rig.time);
          Session session = Session.open(new Writers(a, Durability.SYNC), server, "a", keeper)) {
        edit = -1;
        session.acquire(names, LEASE);
        var unused = committed(session.append(a.log(Rig.JOBS), new byte[] {1}));
        edit = next;
        rig.time.advanceMs(4_000);
        assertTrue(keeper.doWork() > 0, this::what);
        if (!requireNonNull(answered).witness().witness().name().equals(names.get(leases - 1))) {
          rig.time.advanceMs(LEASE.toMillis()); // an answer of other leases prolongs none
        }
        assertThrows(
            MessageRefusedException.class,
            () -> session.append(a.log(Rig.JOBS), new byte[] {2}),
            this::what);
        edit = -1;
      }
      rig.time.advanceMs(LEASE.toMillis()); // what it could not give back runs out
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3})
  void noEditIsJoined(int leases) throws Exception {
    name(leases);
    Store a = store("a");
    ServiceInstance server = tampered();
    for (int next = 0; next < edits; next += EVERY) {
      edit = -1;
      try (Session session = Session.open(a, server, "a");
          Session joining = Session.open(a, server, "b")) {
        Grant grant = session.acquire(names, LEASE);
        edit = next;
        assertThrows(
            SessionRefusedException.class,
            () -> joining.join(grant.id(), grant.witnesses().get(0).witness().instance(), LEASE),
            this::what);
        edit = -1;
      }
    }
  }

  private Witness shown() {
    try {
      return service.show(NAME).orElseThrow().witness();
    } catch (LeaseUnavailableException e) {
      throw new AssertionError(e);
    }
  }
}
