package dev.cinch.lease.register;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.net.Notary;
import dev.cinch.lease.witness.CellKeys;
import dev.cinch.lease.witness.CellSignatures;
import dev.cinch.lease.witness.GrantSigner;
import dev.cinch.lease.witness.PublicKey;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The signatures of a cell, at the node that asks for them: they come while a lease is written
 * ({@link CellRegister}), and the service takes them with the grant. Thread-safe.
 */
@CheckReturnValue
public final class CellSigner implements GrantSigner {
  /** So many grants may wait to be taken; beyond, those are dropped that failed since. */
  private static final int MOST = 65_536;

  private final CellKeys keys;

  /** Places among the cell's keys, from 1, by ids of nodes. */
  private final Map<Integer, Integer> places;

  /** Signed, and not yet taken, the oldest first; and how often. */
  private final Map<Witness, Waiting> waiting = new LinkedHashMap<>();

  private record Waiting(SignedWitness signed, int times) {}

  /**
   * @param nodes ids of the nodes, in the order of their keys
   */
  public CellSigner(CellKeys keys, List<Integer> nodes) {
    if (nodes.size() != keys.nodes().size()) {
      throw new IllegalArgumentException(
          nodes.size() + " nodes, and keys of " + keys.nodes().size());
    }
    this.keys = keys;
    this.places = new HashMap<>();
    nodes.forEach(node -> places.put(node, places.size() + 1));
  }

  /** What takes the signatures of a lease that was written; empty if it needs none. */
  Optional<Notary.Witnessed> collect(Bytes value) {
    return LeaseNotary.granted(value).map(lease -> collect(lease.witness(keys.instance())));
  }

  private Notary.Witnessed collect(Witness witness) {
    var signatures = new CellSignatures(keys, witness);
    byte[] mark = WitnessMark.of(signatures.payload());
    return (node, marked) -> {
      byte[] bytes = marked.toArray();
      if (!WitnessMark.begins(bytes, mark)) {
        return false; // it encodes witnesses otherwise, as another version may
      }
      byte[] signature = Arrays.copyOfRange(bytes, WitnessMark.BYTES, bytes.length);
      Optional<SignedWitness> done = signatures.add(places.getOrDefault(node, 0), signature);
      done.ifPresent(this::add);
      return done.isPresent();
    };
  }

  private synchronized void add(SignedWitness signed) {
    Waiting before = waiting.remove(signed.witness());
    waiting.put(signed.witness(), new Waiting(signed, before == null ? 1 : before.times() + 1));
    if (waiting.size() > MOST) {
      waiting.remove(waiting.keySet().iterator().next());
    }
  }

  /**
   * {@inheritDoc}
   *
   * @throws IllegalStateException if one was not signed while it was written
   */
  @Override
  public synchronized List<SignedWitness> sign(List<Witness> witnesses) {
    var signed = new ArrayList<SignedWitness>(witnesses.size());
    for (Witness witness : witnesses) {
      Waiting found = waiting.get(witness);
      if (found == null) {
        throw new IllegalStateException("no nodes signed the witness of " + witness.name());
      }
      if (found.times() == 1) {
        waiting.remove(witness);
      } else {
        waiting.put(witness, new Waiting(found.signed(), found.times() - 1));
      }
      signed.add(found.signed());
    }
    return signed;
  }

  @Override
  public PublicKey publicKey() {
    return keys.key();
  }
}
