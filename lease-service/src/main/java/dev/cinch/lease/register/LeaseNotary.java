package dev.cinch.lease.register;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.Sha256;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.net.Notary;
import dev.cinch.lease.table.LeaseState;
import dev.cinch.lease.table.LeaseStateCodec;
import dev.cinch.lease.table.LeaseStateCodec.MalformedLeaseStateException;
import dev.cinch.lease.witness.NodeSigner;
import dev.cinch.lease.witness.WitnessCodec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;

/**
 * Signs the witness of a lease for a node whose acceptor has accepted the lease: the node makes it
 * of what it accepted, and is told nothing that it would have to believe. Thread-safe.
 */
@CheckReturnValue
public final class LeaseNotary implements Notary {
  /** Bytes of a {@link #mark}. */
  static final int MARK_BYTES = 8;

  private final long instance;
  private final UnaryOperator<List<byte[]>> signer;
  private final Limit limit;

  /**
   * @param instance number of the cell's instance
   * @param limit what else has to hold
   */
  public LeaseNotary(long instance, NodeSigner signer, Limit limit) {
    this(instance, signer::sign, limit);
  }

  /**
   * @param signer as {@link NodeSigner#sign}
   */
  LeaseNotary(long instance, UnaryOperator<List<byte[]>> signer, Limit limit) {
    this.instance = instance;
    this.signer = signer;
    this.limit = limit;
  }

  /** The witness of a lease that counts; nothing of one that was released, revoked or ended. */
  @Override
  public Optional<byte[]> statement(Bytes name, Bytes value, Runnable again) {
    return granted(value)
        // Else who keeps "a" could have it said that it holds "b".
        .filter(lease -> Bytes.of(lease.name().value()).equals(name))
        .map(lease -> lease.witness(instance))
        .filter(witness -> limit.allows(witness.issuedAt(), witness.expiry(), again))
        .map(WitnessCodec::encode);
  }

  /** A lease that permits writes, or may come to; empty if the value has none. */
  static Optional<LeaseState> granted(Bytes value) {
    try {
      LeaseState lease = LeaseStateCodec.decode(value.toArray());
      boolean counts =
          lease.state() == LeaseState.State.FULL || lease.state() == LeaseState.State.TENTATIVE;
      return lease.isKnown() && counts ? Optional.of(lease) : Optional.empty();
    } catch (MalformedLeaseStateException e) {
      return Optional.empty(); // perhaps another version wrote it
    }
  }

  /** Each signature behind the {@link #mark} of what it is of. */
  @Override
  public List<Bytes> sign(List<byte[]> statements) {
    List<byte[]> signatures = signer.apply(statements);
    var marked = new ArrayList<Bytes>(signatures.size());
    for (int i = 0; i < signatures.size(); i++) {
      byte[] signature = signatures.get(i);
      byte[] both = Arrays.copyOf(mark(statements.get(i)), MARK_BYTES + signature.length);
      System.arraycopy(signature, 0, both, MARK_BYTES, signature.length);
      marked.add(Bytes.of(both));
    }
    return marked;
  }

  /**
   * What a node's signature needs beside a lease that its acceptor has accepted. Thread-safe;
   * called on the node's thread: quick, and without waiting.
   */
  @FunctionalInterface
  public interface Limit {
    /** Whatever was accepted. */
    Limit NONE = (issuedAt, expiry, again) -> true;

    /**
     * Whether a lease may be signed now.
     *
     * @param issuedAt signed time at which it was granted or prolonged, nanoseconds since the Unix
     *     epoch
     * @param expiry likewise
     * @param again to be called once it may be signed, if that will be; may be dropped
     */
    boolean allows(long issuedAt, long expiry, Runnable again);
  }

  /**
   * The first bytes of SHA-256 of a witness: whether two nodes mean the same one is seen by it,
   * without a look at the signature, which takes as long as to sign.
   */
  static byte[] mark(byte[] payload) {
    return Arrays.copyOf(Sha256.of(payload), MARK_BYTES);
  }
}
