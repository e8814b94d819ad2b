package dev.cinch.lease.register;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.net.Notary;
import dev.cinch.lease.table.LeaseBackend.UnansweredException;
import dev.cinch.lease.witness.CellKeys;
import dev.cinch.lease.witness.CellKeys.CellSignatures;
import dev.cinch.lease.witness.GrantSigner;
import dev.cinch.lease.witness.PublicKey;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The signatures of a cell, at the node that asks for them: they come while a lease is written
 * ({@link CellRegister}), and the service takes them with the grant. Thread-safe.
 */
@CheckReturnValue
public final class CellSigner implements GrantSigner {
  /** For so many sweeps a grant waits to be taken: longer than a request lasts. */
  private static final int KEPT_SWEEPS = 120;

  /** What a grant takes in the heap beside three times its bytes, about. */
  private static final int OVERHEAD = 512;

  /** What those that wait to be taken may take in the heap; the oldest go first. */
  private final long most;

  private long bytes;
  private long sweeps;

  private final CellKeys keys;

  /** Places among the cell's keys, from 1, by ids of nodes. */
  private final Map<Integer, Integer> places;

  /** Signed, and not yet taken, the oldest first; and how often. */
  private final Map<Witness, Waiting> waiting = new LinkedHashMap<>();

  private record Waiting(SignedWitness signed, int times, long since) {
    long bytes() {
      return 3L * signed.bytes().length + OVERHEAD;
    }
  }

  /**
   * @param nodes ids of the nodes, in the order of their keys
   */
  public CellSigner(CellKeys keys, List<Integer> nodes) {
    this(keys, nodes, Runtime.getRuntime().maxMemory() / 16);
  }

  /**
   * @param most what signed grants that nobody has taken yet may take in the heap, bytes, about
   */
  CellSigner(CellKeys keys, List<Integer> nodes, long most) {
    this.most = most;
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
    byte[] mark = LeaseNotary.mark(signatures.payload());
    return (node, marked) -> {
      byte[] bytes = marked.toArray();
      if (bytes.length <= mark.length
          || !Arrays.equals(bytes, 0, mark.length, mark, 0, mark.length)) {
        return false; // it encodes witnesses otherwise, as another version may
      }
      byte[] signature = Arrays.copyOfRange(bytes, LeaseNotary.MARK_BYTES, bytes.length);
      Optional<SignedWitness> done = signatures.add(places.getOrDefault(node, 0), signature);
      done.ifPresent(this::add);
      return done.isPresent();
    };
  }

  private synchronized void add(SignedWitness signed) {
    Waiting before = remove(signed.witness());
    var now = new Waiting(signed, before == null ? 1 : before.times() + 1, sweeps);
    waiting.put(signed.witness(), now);
    bytes += now.bytes();
    while (bytes > most && waiting.size() > 1) {
      remove(waiting.keySet().iterator().next());
    }
  }

  @CanIgnoreReturnValue
  private synchronized @Nullable Waiting remove(Witness witness) {
    Waiting before = waiting.remove(witness);
    bytes -= before == null ? 0 : before.bytes();
    return before;
  }

  /** Whoever asked for what was written is refused: its witness is not taken. */
  void forget(Bytes value) {
    LeaseNotary.granted(value).ifPresent(lease -> take(lease.witness(keys.instance())));
  }

  /** Drops what nobody has taken for long; called about every second. */
  synchronized void sweep() {
    sweeps++;
    while (!waiting.isEmpty()) {
      var eldest = waiting.entrySet().iterator().next();
      if (sweeps - eldest.getValue().since() <= KEPT_SWEEPS) {
        return;
      }
      remove(eldest.getKey());
    }
  }

  /** How many wait to be taken. */
  synchronized int size() {
    return waiting.size();
  }

  @CanIgnoreReturnValue
  private synchronized @Nullable Waiting take(Witness witness) {
    Waiting found = waiting.get(witness);
    if (found != null && found.times() > 1) {
      waiting.put(witness, new Waiting(found.signed(), found.times() - 1, found.since()));
    } else {
      remove(witness);
    }
    return found;
  }

  /**
   * {@inheritDoc}
   *
   * @throws UnansweredException if one was not signed while it was written, or waited for too long
   */
  @Override
  public synchronized List<SignedWitness> sign(List<Witness> witnesses) {
    var signed = new ArrayList<SignedWitness>(witnesses.size());
    for (Witness witness : witnesses) {
      Waiting found = take(witness);
      if (found == null) {
        throw new UnansweredException("no nodes signed the witness of " + witness.name());
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
