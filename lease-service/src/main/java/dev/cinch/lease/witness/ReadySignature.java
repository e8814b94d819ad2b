package dev.cinch.lease.witness;

import java.security.GeneralSecurityException;
import java.security.PrivateKey;
import java.security.Provider;
import java.security.PublicKey;
import java.security.Signature;
import java.security.SignatureException;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * A key of {@code java.security} with a {@link Signature} that is ready for it. Making one takes as
 * long as signing, so that of the last call is kept for the next; calls at the same time make their
 * own. Thread-safe.
 */
final class ReadySignature {
  private interface Init {
    void ready(Signature signature) throws GeneralSecurityException;
  }

  private final Provider provider;
  private final Init init;
  private final AtomicReference<@Nullable Signature> idle = new AtomicReference<>();

  private ReadySignature(Provider provider, Init init) {
    this.provider = provider;
    this.init = init;
  }

  static ReadySignature toSign(Provider provider, PrivateKey key) {
    return new ReadySignature(provider, signature -> signature.initSign(key));
  }

  static ReadySignature toVerify(Provider provider, PublicKey key) {
    return new ReadySignature(provider, signature -> signature.initVerify(key));
  }

  byte[] sign(byte[]... parts) throws GeneralSecurityException {
    Signature signature = take(parts);
    byte[] signed = signature.sign();
    idle.set(signature);
    return signed;
  }

  boolean verify(byte[] bytes, byte[]... parts) throws GeneralSecurityException {
    Signature signature = take(parts);
    try {
      boolean good = signature.verify(bytes);
      idle.set(signature);
      return good;
    } catch (SignatureException e) {
      return false; // what some say of S above L
    }
  }

  /** One that was told the parts. What throws is not kept: it may have some of them still. */
  private Signature take(byte[]... parts) throws GeneralSecurityException {
    Signature signature = idle.getAndSet(null);
    if (signature == null) {
      signature = Signature.getInstance("Ed25519", provider);
      init.ready(signature);
    }
    for (byte[] part : parts) {
      signature.update(part);
    }
    return signature;
  }
}
