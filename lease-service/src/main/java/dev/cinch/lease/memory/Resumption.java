package dev.cinch.lease.memory;

import static dev.cinch.lease.memory.Refusals.notHeld;
import static dev.cinch.lease.memory.Refusals.notYet;

import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.ResumeRequest;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Whether leases of an earlier instance may go on here, by what this one remembers of their names
 * (rule L10). Used once, with the names' partitions locked.
 */
final class Resumption {
  private static final long NO_ROOM_WAIT = 1_000_000_000L;

  private final Partitions partitions;
  private final ResumeRequest request;
  private final Moment now;
  private final List<Witness> witnesses;

  Resumption(Partitions partitions, ResumeRequest request, Moment now) {
    this.partitions = partitions;
    this.request = request;
    this.now = now;
    this.witnesses = witnesses(request);
  }

  /** In ascending order. */
  static List<String> names(ResumeRequest request) {
    return witnesses(request).stream().map(w -> w.name().value()).toList();
  }

  private static List<Witness> witnesses(ResumeRequest request) {
    return request.witnesses().stream()
        .map(SignedWitness::witness)
        .sorted(Comparator.comparing(Witness::name))
        .toList();
  }

  /**
   * Whether the same leases were resumed here already, and are held.
   *
   * @throws LeaseRefusedException if they were not, and can't be
   */
  boolean wasDone() throws LeaseRefusedException {
    int held = 0;
    for (Witness w : witnesses) {
      Partition partition = partitions.of(w.name().value());
      LeaseEntry entry = partition.get(w.name().value());
      if (entry != null
          && entry.resumes(request.id(), w.correlation())
          && entry.isHeld(now.time())) {
        held++;
      } else if (entry != null) {
        throw notHeld(w.name() + " was taken at this instance before; acquire anew");
      } else if (partition.hasForgotten()) {
        // The name may have been granted and forgotten: to its holder this one would be unknown.
        throw notHeld("this instance does not know any more whether " + w.name() + " was taken");
      } else if (w.expiry() <= now.time()) {
        throw notHeld("the lease on " + w.name() + " expired; acquire anew");
      }
    }
    if (held != 0 && held != witnesses.size()) {
      throw notHeld("only some of the leases were resumed; acquire anew");
    }
    return held != 0;
  }

  /** Those that go on already, until a later time. */
  List<LeaseEntry> prolonged(long expiry) {
    var leases = new ArrayList<LeaseEntry>(witnesses.size());
    for (Witness w : witnesses) {
      LeaseEntry entry = partitions.of(w.name().value()).get(w.name().value());
      if (entry != null) {
        entry.prolong(now, expiry, entry.logs);
        leases.add(entry);
      }
    }
    return leases;
  }

  /** Those that go on from now; nothing is kept yet. */
  List<LeaseEntry> begun(long expiry) throws LeaseRefusedException {
    var leases = new ArrayList<LeaseEntry>(witnesses.size());
    for (Witness w : witnesses) {
      // To make room would be to forget, after which nothing is resumed.
      if (!partitions.of(w.name().value()).hasRoom(witnesses.size())) {
        throw notYet("the service remembers as many names as it may", NO_ROOM_WAIT);
      }
      var entry = new LeaseEntry(w.name().value());
      entry.resume(request, w, now, expiry);
      leases.add(entry);
    }
    return leases;
  }
}
