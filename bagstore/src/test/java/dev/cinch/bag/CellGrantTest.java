package dev.cinch.bag;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.model.Durability;
import dev.cinch.bag.registry.StoreInstances;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.bag.write.MessageRefusedException;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.hold.LeaseKeeper;
import dev.cinch.lease.memory.MemoryLeaseService;
import dev.cinch.lease.witness.CellKeys;
import dev.cinch.lease.witness.Cells;
import dev.cinch.lease.witness.GrantSigner;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.util.List;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A session relies on grants of a cell that a majority of its nodes signed, and no others. */
final class CellGrantTest extends SessionRig {
  private static final CellKeys CELL = Cells.of(2, 3);

  private Function<List<Witness>, List<SignedWitness>> signing =
      witnesses -> Cells.signed(CELL, witnesses, 1, 3);

  /** The store's second instance, whose answers are signed as the test says. */
  private MemoryLeaseService cell() throws Exception {
    GrantSigner signer =
        new GrantSigner() {
          @Override
          public List<SignedWitness> sign(List<Witness> witnesses) {
            return signing.apply(witnesses);
          }

          @Override
          public PublicKey publicKey() {
            return CELL.key();
          }
        };
    MemoryLeaseService cell =
        MemoryLeaseService.builder(signer, rig.time)
            .registry(new StoreInstances(store("head2").context(), key))
            .start();
    assertEquals(2, cell.number());
    rig.time.advanceMs(120_000);
    return cell;
  }

  private void trust() throws Exception {
    assertEquals(2, TrustedKeyFiles.add(store("head").context(), CELL.key(), key));
  }

  private void by(SigningKey one) {
    signing = new WitnessSigner(one)::sign;
  }

  private void refused(Session session) {
    var e = assertThrows(SessionRefusedException.class, () -> session.acquire(NAMES, LEASE));
    String line = String.valueOf(e.getMessage());
    assertTrue(line.contains("a cell's of which 2 of 3 nodes sign"), line);
    assertEquals(1, line.lines().count());
  }

  @Test
  void f3_aGrantThatAMajoritySignedIsTaken() throws Exception {
    trust();
    MemoryLeaseService cell = cell();
    Store a = store("a");
    try (Session session = Session.open(a, cell, "a")) {
      session.acquire(NAMES, LEASE);
      committed(session.append(a.log(Rig.JOBS), bytes("m")));
    }
  }

  @Test
  void f3_aGrantThatFewerSignedIsRefused() throws Exception {
    trust();
    MemoryLeaseService cell = cell();
    try (Session session = Session.open(store("a"), cell, "a")) {
      signing = witnesses -> Cells.signed(CELL, witnesses, 2);
      refused(session);
      by(Cells.node(2));
      refused(session);
      by(key);
      refused(session);
    }
  }

  /** A session that has looked at the keys before the cell was there looks again. */
  @Test
  void f3_aSessionThatKnewTheKeysBeforeTakesNoSingleSignature() throws Exception {
    MemoryLeaseService cell = cell();
    Store a = store("a");
    try (LeaseKeeper keeper = LeaseKeeper.stepped(rig.time);
        Session session = Session.open(new Writers(a, Durability.SYNC), cell, "a", keeper)) {
      by(key);
      session.acquire(NAMES, LEASE); // nobody knows of a cell
      committed(session.append(a.log(Rig.JOBS), bytes("m")));
      trust();
      rig.time.advanceMs(4_000);
      assertTrue(keeper.doWork() > 0);
      assertThrows(
          MessageRefusedException.class, () -> session.append(a.log(Rig.JOBS), bytes("n")));
    }
  }

  /** The next server goes on with a lease of the cell if a majority signed it (rule L10). */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void l10_aLeaseOfACellIsResumedByItsMajorityAlone(boolean majority) throws Exception {
    trust();
    MemoryLeaseService cell = cell();
    if (!majority) {
      by(key);
    }
    var request = new Operation.Acquire(new Id(5, 1), NAMES, "h", 60_000, LogSet.ALL, false);
    Grant grant = cell.acquire(request);
    MemoryLeaseService next = serve(key, rig.time, store("head3"));
    var resume = new Operation.Resume(request.id(), grant.witnesses(), 10_000);
    if (majority) {
      assertEquals(grant.id(), next.resume(resume).id());
    } else {
      var e = assertThrows(LeaseRefusedException.class, () -> next.resume(resume));
      assertTrue(String.valueOf(e.getMessage()).contains("no majority"), e.getMessage());
    }
  }
}
