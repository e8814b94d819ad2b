package dev.cinch.lease.register;

import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.table.LeaseBackend;
import dev.cinch.lease.witness.CellKeys;
import dev.cinch.lease.witness.GrantSigner;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.TrustedKeys;
import dev.cinch.lease.witness.WitnessException;
import dev.cinch.lease.witness.WitnessVerifier;
import java.util.List;

/** A backend whose nodes sign what is granted, and a signer that checks all that it gives. */
public final class SignedBackend implements LeaseBackend.Factory, GrantSigner {
  private final LeaseBackend.Factory backend;
  private final CellSigner signer;
  private final WitnessVerifier verifier;

  SignedBackend(LeaseBackend.Factory backend, CellSigner signer, CellKeys keys) {
    this.backend = backend;
    this.signer = signer;
    this.verifier = new WitnessVerifier(TrustedKeys.of(keys.key()));
  }

  @Override
  public LeaseBackend create(LeaseBackend.Setting setting) {
    return backend.create(setting);
  }

  @Override
  public List<SignedWitness> sign(List<Witness> witnesses) {
    List<SignedWitness> signed = signer.sign(witnesses);
    try {
      for (int i = 0; i < signed.size(); i++) {
        SignedWitness verified = verifier.verify(signed.get(i).bytes());
        if (!verified.witness().equals(witnesses.get(i))) {
          throw new AssertionError(verified + " and not " + witnesses.get(i));
        }
      }
    } catch (WitnessException e) {
      throw new AssertionError(e);
    }
    return signed;
  }

  @Override
  public PublicKey publicKey() {
    return signer.publicKey();
  }
}
