package dev.cinch.lease.direct;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.time.TimeSource;
import dev.cinch.lease.witness.GrantSigner;
import dev.cinch.lease.witness.PublicKey;
import java.util.List;
import java.util.OptionalLong;

/**
 * The time that a majority of a cell's nodes has signed: they sign no grant that begins ahead of
 * their own clocks, but for what clocks may be apart. So it is a third opinion (section 5), which
 * this machine's clock alone is not. Thread-safe.
 */
@CheckReturnValue
final class VouchedTime implements GrantSigner {
  private final GrantSigner signer;
  private final TimeSource time;

  private boolean known;
  private long issuedAt;
  private long since;

  VouchedTime(GrantSigner signer, TimeSource time) {
    this.signer = signer;
    this.time = time;
  }

  @Override
  public List<SignedWitness> sign(List<Witness> witnesses) {
    List<SignedWitness> signed = signer.sign(witnesses);
    witnesses.forEach(witness -> vouched(witness.issuedAt()));
    return signed;
  }

  /** A grant was signed just now that began at a time. */
  private synchronized void vouched(long begun) {
    long monotonic = time.monotonicNanos();
    if (!known || begun > issuedAt + (monotonic - since)) {
      known = true;
      issuedAt = begun;
      since = monotonic;
    }
  }

  /** It is this late at least, nanoseconds since the Unix epoch; empty if nothing was signed. */
  synchronized OptionalLong now() {
    return known
        ? OptionalLong.of(issuedAt + (time.monotonicNanos() - since))
        : OptionalLong.empty();
  }

  @Override
  public PublicKey publicKey() {
    return signer.publicKey();
  }
}
