package dev.cinch.lease.rules;

import static dev.cinch.lease.rules.Refusals.notHeld;

import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.Operation;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Whether leases of an earlier instance may go on here, by what this one remembers of their names
 * (rule L10), and how they do. Used once.
 */
final class Resumption {
  private final Operation.Resume request;
  private final List<Witness> witnesses;
  private final List<LeaseState> leases;
  private final Moment now;

  /**
   * @param leases of the names of the witnesses, in ascending order
   */
  Resumption(Operation.Resume request, List<LeaseState> leases, Moment now) {
    this.request = request;
    this.witnesses = witnesses(request);
    this.leases = leases;
    this.now = now;
  }

  /** In ascending order of names. */
  static List<Witness> witnesses(Operation.Resume request) {
    return request.witnesses().stream()
        .map(SignedWitness::witness)
        .sorted(Comparator.comparing(Witness::name))
        .toList();
  }

  /**
   * Whether the same leases were resumed here already, and are held.
   *
   * @param forgotten whether a name that is not known may have been
   * @throws LeaseRefusedException if they were not, and can't be
   */
  boolean wasDone(boolean forgotten) throws LeaseRefusedException {
    int held = 0;
    for (int i = 0; i < leases.size(); i++) {
      Witness w = witnesses.get(i);
      LeaseState lease = leases.get(i);
      if (lease.resumes(request.id(), w.correlation()) && lease.isHeld(now)) {
        held++;
      } else if (lease.isKnown()) {
        throw notHeld(w.name() + " was taken at this instance before; acquire anew");
      } else if (forgotten) {
        // The name may have been granted and forgotten: to its holder this one would be unknown.
        throw notHeld("this instance does not know any more whether " + w.name() + " was taken");
      } else if (w.expiry() <= now.time()) {
        throw notHeld("the lease on " + w.name() + " expired; acquire anew");
      }
    }
    if (held != 0 && held != leases.size()) {
      throw notHeld("only some of the leases were resumed; acquire anew");
    }
    return held != 0;
  }

  /** Those that go on already, until a later time. */
  List<LeaseState> prolonged(long expiry) {
    return leases.stream().map(lease -> lease.prolonged(lease.term().logs(), now, expiry)).toList();
  }

  /** Those that go on from now. */
  List<LeaseState> begun(long expiry) {
    var begun = new ArrayList<LeaseState>(leases.size());
    for (int i = 0; i < leases.size(); i++) {
      begun.add(leases.get(i).resumed(request, witnesses.get(i), now, expiry));
    }
    return begun;
  }
}
