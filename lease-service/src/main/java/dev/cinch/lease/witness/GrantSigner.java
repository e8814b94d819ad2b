package dev.cinch.lease.witness;

import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import java.util.List;

/**
 * Signs the witnesses of one grant. A seam: an implementation may gather the witnesses of several
 * grants under one signature. Thread-safe.
 */
public interface GrantSigner {
  /** The witnesses signed, in the same order. */
  List<SignedWitness> sign(List<Witness> witnesses);

  /** The key that checks what {@link #sign} makes. */
  PublicKey publicKey();
}
