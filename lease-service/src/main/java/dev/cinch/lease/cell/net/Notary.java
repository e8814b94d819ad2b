package dev.cinch.lease.cell.net;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.cell.Bytes;
import java.util.List;
import java.util.Optional;

/**
 * Signs for a node what its acceptor accepted, each node with a key of its own. Called on the
 * node's thread: quick, and without waiting.
 */
@CheckReturnValue
public interface Notary {
  /**
   * What is to be signed of a value; empty for one of which nothing is, or not yet.
   *
   * @param name whose value the acceptor accepted
   * @param again to be called, from any thread, once what is not signed yet may be: then it is
   *     asked for again. Whoever wants the signature asks again, too, so it may be dropped
   */
  Optional<byte[]> statement(Bytes name, Bytes value, Runnable again);

  /** Signs statements, which may share a signature; for each what {@link Witnessed} understands. */
  List<Bytes> sign(List<byte[]> statements);

  /** Takes what nodes signed of one value. Called on the node's thread as well. */
  @FunctionalInterface
  interface Witnessed {
    /**
     * Takes a node's answer; the same may come twice.
     *
     * @return whether it has enough
     */
    boolean take(int node, Bytes signature);
  }
}
