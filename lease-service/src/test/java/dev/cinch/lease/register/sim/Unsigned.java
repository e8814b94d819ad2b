package dev.cinch.lease.register.sim;

import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.witness.GrantSigner;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.WitnessCodec;
import java.util.List;

/** Signs nothing, which takes no time. */
final class Unsigned implements GrantSigner {
  @Override
  public List<SignedWitness> sign(List<Witness> witnesses) {
    return witnesses.stream().map(w -> new SignedWitness(w, WitnessCodec.encode(w))).toList();
  }

  @Override
  public PublicKey publicKey() {
    return World.KEY;
  }
}
