package dev.cinch.lease.memory;

import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.witness.GrantSigner;
import java.util.ArrayList;
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

  /** Signs all witnesses together. */
  List<Outcome> signed(GrantSigner signer) {
    List<SignedWitness> signed = unsigned.isEmpty() ? List.of() : signer.sign(unsigned);
    var outcomes = new ArrayList<Outcome>(operations.size());
    int from = 0;
    for (Object operation : operations) {
      if (operation instanceof Unsigned grant) {
        int to = from + grant.witnesses();
        outcomes.add(new Outcome.Granted(new Grant(grant.id(), signed.subList(from, to))));
        from = to;
      } else {
        outcomes.add((Outcome) operation);
      }
    }
    return outcomes;
  }
}
