package dev.cinch.lease.register.sim;

import dev.cinch.lease.LeaseName;
import dev.cinch.lease.Witness;
import dev.cinch.lease.cell.Ballot;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.rules.LeaseState;
import dev.cinch.lease.rules.LeaseStateCodec;
import dev.cinch.lease.rules.LeaseStateCodec.MalformedLeaseStateException;
import dev.cinch.lease.sim.Broken;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What acceptors accepted of a name, and which of that a majority did. */
final class Accepted {
  /** A value that was proposed with a ballot. */
  static final class Proposal {
    final Ballot ballot;
    final Bytes value;
    final LeaseState state;
    final Witness witness;

    /** Bit by bit, by their ids. */
    int nodes;

    boolean isChosen;

    private Proposal(Ballot ballot, Bytes value) {
      this.ballot = ballot;
      this.value = value;
      try {
        this.state = LeaseStateCodec.decode(value.toArray());
      } catch (MalformedLeaseStateException e) {
        throw new Broken("no state of a lease: " + e);
      }
      this.witness = state.witness(World.INSTANCE);
    }
  }

  private final int majority;
  private final Map<Ballot, Proposal> proposals = new HashMap<>();
  private final Map<Witness, List<Proposal>> byWitness = new HashMap<>();

  private Ballot highest = Ballot.NONE;

  /** The last that a majority accepted. */
  @Nullable Proposal last;

  Accepted(int majority) {
    this.majority = majority;
  }

  /** Returns it if a majority has it just now. */
  @Nullable Proposal add(int node, LeaseName name, Ballot ballot, Bytes value) {
    Proposal proposal = proposals.get(ballot);
    if (proposal == null) {
      proposal = new Proposal(ballot, value);
      proposals.put(ballot, proposal);
      highest = highest.below(ballot) ? ballot : highest;
      byWitness.computeIfAbsent(proposal.witness, w -> new ArrayList<>(1)).add(proposal);
    }
    if (!proposal.value.equals(value) || !proposal.state.name().equals(name)) {
      throw new Broken("two values with " + ballot);
    }
    proposal.nodes |= 1 << node;
    if (proposal.isChosen || Integer.bitCount(proposal.nodes) < majority) {
      return null;
    }
    proposal.isChosen = true;
    choose(proposal);
    return proposal;
  }

  private void choose(Proposal next) {
    Proposal before = last;
    if (before != null && next.ballot.below(before.ballot)) {
      return; // a late acceptor of what the later one had found already
    }
    if (before != null) {
      if (next.state.changedAt() < before.state.changedAt()) {
        throw new Broken("L6: the time of a name goes back: " + next.witness);
      }
      if (next.witness.lowerBound() < before.witness.lowerBound()) {
        throw new Broken("L8: the lower bound goes back: " + next.witness);
      }
    }
    last = next;
  }

  /** Whether no acceptor has accepted anything above it. */
  boolean isHighest(Proposal proposal) {
    return proposal.ballot.equals(highest);
  }

  /** Of which a witness is. */
  List<Proposal> of(Witness witness) {
    return byWitness.getOrDefault(witness, List.of());
  }
}
