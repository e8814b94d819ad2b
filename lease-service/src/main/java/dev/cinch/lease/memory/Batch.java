package dev.cinch.lease.memory;

import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.witness.GrantSigner;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What became of the operations of a batch, in their order, with all witnesses still to be signed.
 * Not thread-safe.
 */
final class Batch {
  /** No more operations are begun above this: answers have about half a kilobyte for each. */
  private static final int MOST_WITNESSES = 4_000;

  private final List<Pending> operations;
  private final List<Witness> unsigned;

  /** Logs that the witnesses name, and their fences. */
  private int logs;

  /**
   * One operation.
   *
   * @param witnesses how many of those to be signed are its; those of earlier ones come before
   * @param refused null unless it was
   */
  private record Pending(Id id, int witnesses, @Nullable LeaseRefusedException refused) {}

  Batch(int operations) {
    this.operations = new ArrayList<>(operations);
    this.unsigned = new ArrayList<>(operations);
  }

  /** Leases as they stand after an operation; none after a release. */
  void granted(Id id, List<Witness> witnesses) {
    unsigned.addAll(witnesses);
    for (Witness w : witnesses) {
      logs += w.logs().ids().size() + w.fence().logs().ids().size();
    }
    operations.add(new Pending(id, witnesses.size(), null));
  }

  /** Whether its answer is as long as one may be (see {@link Grant#MAX_LOGS}). */
  boolean isFull() {
    return unsigned.size() >= MOST_WITNESSES || logs >= Grant.MAX_LOGS;
  }

  void refused(Id id, LeaseRefusedException why) {
    operations.add(new Pending(id, 0, why));
  }

  /** Signs all witnesses together. */
  List<Outcome> signed(GrantSigner signer) {
    List<SignedWitness> signed = unsigned.isEmpty() ? List.of() : signer.sign(unsigned);
    var outcomes = new ArrayList<Outcome>(operations.size());
    int from = 0;
    for (Pending operation : operations) {
      int to = from + operation.witnesses();
      if (operation.refused() != null) {
        outcomes.add(new Outcome.Refused(operation.refused()));
      } else if (from == to) {
        outcomes.add(Outcome.RELEASED);
      } else {
        outcomes.add(new Outcome.Granted(new Grant(operation.id(), signed.subList(from, to))));
      }
      from = to;
    }
    return outcomes;
  }
}
