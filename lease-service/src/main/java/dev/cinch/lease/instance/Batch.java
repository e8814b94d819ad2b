package dev.cinch.lease.instance;

import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.witness.GrantSigner;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;

/**
 * What became of the operations of a batch, in their order, with all witnesses still to be signed.
 * Not thread-safe.
 */
final class Batch {
  /** No more operations are begun above this: answers have about half a kilobyte for each. */
  private static final int MOST_WITNESSES = 4_000;

  /** An {@link Outcome} of each, or what is {@link Unsigned} of it. */
  private final List<Object> operations;

  private final List<Witness> unsigned;

  /** Logs that the witnesses name, and their fences. */
  private int logs;

  /**
   * Leases that an operation granted.
   *
   * @param witnesses how many of those to be signed are its; those of earlier ones come before
   */
  private record Unsigned(Id id, int witnesses) {}

  Batch(int operations) {
    this.operations = new ArrayList<>(operations);
    this.unsigned = new ArrayList<>(operations);
  }

  /** Leases as they stand after an operation. */
  void granted(Id id, List<Witness> witnesses) {
    unsigned.addAll(witnesses);
    for (Witness w : witnesses) {
      logs += w.logs().ids().size() + w.fence().logs().ids().size();
    }
    operations.add(new Unsigned(id, witnesses.size()));
  }

  /** Whether its answer is as long as one may be (see {@link Grant#MAX_LOGS}). */
  boolean isFull() {
    return unsigned.size() >= MOST_WITNESSES || logs >= Grant.MAX_LOGS;
  }

  /** What became of an operation that granted nothing. */
  void add(Outcome outcome) {
    operations.add(outcome);
  }

  /** How many are to be signed. */
  int witnesses() {
    return unsigned.size();
  }

  /** Its outcomes, once all was signed. */
  private List<Outcome> outcomes(Iterator<SignedWitness> signed) {
    var outcomes = new ArrayList<Outcome>(operations.size());
    for (Object operation : operations) {
      if (operation instanceof Unsigned grant) {
        var witnesses = new ArrayList<SignedWitness>(grant.witnesses());
        for (int i = 0; i < grant.witnesses(); i++) {
          witnesses.add(signed.next());
        }
        outcomes.add(new Outcome.Granted(new Grant(grant.id(), witnesses)));
      } else {
        outcomes.add((Outcome) operation);
      }
    }
    return outcomes;
  }

  /** Signs the witnesses of all together; the outcomes of each. */
  static List<List<Outcome>> signed(List<Batch> batches, GrantSigner signer) {
    List<Witness> unsigned = batches.stream().flatMap(b -> b.unsigned.stream()).toList();
    Iterator<SignedWitness> signed =
        (unsigned.isEmpty() ? List.<SignedWitness>of() : signer.sign(unsigned)).iterator();
    return batches.stream().map(b -> b.outcomes(signed)).toList();
  }
}
