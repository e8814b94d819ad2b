package dev.cinch.lease.witness;

import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.Provider;
import java.security.spec.PKCS8EncodedKeySpec;
import java.security.spec.X509EncodedKeySpec;
import java.util.Arrays;
import java.util.HexFormat;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A provider of {@code java.security}, with the JDK's own keys. Alone it would differ from Bouncy
 * Castle for keys and signatures with a part of small order. So Bouncy Castle decides:
 *
 * <ul>
 *   <li>A key that is not of prime order is left to Bouncy Castle.
 *   <li>For a key of prime order, a signature that the provider takes has S below L and fulfils S·B
 *       = R + k·A exactly, with R in its one encoding. Bouncy Castle checks a multiple of that
 *       equation, so it takes the signature too.
 *   <li>What the provider refuses or can't do is left to Bouncy Castle. Only bad signatures get
 *       there.
 * </ul>
 *
 * <p>See docs/decisions/ed25519.md.
 */
final class ProviderEd25519 implements Ed25519 {
  private static final Logger LOG = LoggerFactory.getLogger(ProviderEd25519.class);

  private static final byte[] PKCS8 = HexFormat.of().parseHex("302e020100300506032b657004220420");
  private static final byte[] X509 = HexFormat.of().parseHex("302a300506032b6570032100");

  private final Provider provider;
  private final KeyFactory keys;
  private final Ed25519 other = BouncyCastleEd25519.INSTANCE;

  /**
   * @throws GeneralSecurityException if the platform has no keys of Ed25519
   */
  ProviderEd25519(Provider provider) throws GeneralSecurityException {
    this.provider = provider;
    this.keys = KeyFactory.getInstance("Ed25519");
  }

  @Override
  public Signer signer(byte[] seed) {
    Signer fallback = other.signer(seed);
    ReadySignature ready;
    try {
      ready = toSign(seed);
    } catch (GeneralSecurityException | RuntimeException e) {
      failed(e);
      return fallback;
    }
    return parts -> {
      try {
        return ready.sign(parts);
      } catch (GeneralSecurityException | RuntimeException e) {
        failed(e);
        return fallback.sign(parts);
      }
    };
  }

  @Override
  public Checker checker(byte[] publicKey) {
    Checker fallback = other.checker(publicKey);
    if (!isOfPrimeOrder(publicKey)) {
      return fallback;
    }
    ReadySignature ready;
    try {
      ready = toVerify(publicKey);
    } catch (GeneralSecurityException | RuntimeException e) {
      failed(e);
      return fallback;
    }
    return (signature, parts) -> {
      try {
        if (ready.verify(signature, parts)) {
          return true;
        }
      } catch (GeneralSecurityException | RuntimeException e) {
        failed(e);
      }
      return fallback.isGood(signature, parts);
    };
  }

  @Override
  public String title() {
    String info = provider.getInfo();
    return info == null ? provider.getName() : info;
  }

  /** Whether 32 bytes are a point of prime order in its one encoding. As long as a verification. */
  static boolean isOfPrimeOrder(byte[] publicKey) {
    return org.bouncycastle.math.ec.rfc8032.Ed25519.validatePublicKeyFull(publicKey, 0);
  }

  /** The provider alone, without Bouncy Castle's opinion. */
  ReadySignature toSign(byte[] seed) throws GeneralSecurityException {
    PrivateKey key = keys.generatePrivate(new PKCS8EncodedKeySpec(concat(PKCS8, seed)));
    return ReadySignature.toSign(provider, key);
  }

  /** The provider alone, without Bouncy Castle's opinion. */
  ReadySignature toVerify(byte[] publicKey) throws GeneralSecurityException {
    return ReadySignature.toVerify(
        provider, keys.generatePublic(new X509EncodedKeySpec(concat(X509, publicKey))));
  }

  private void failed(Exception e) {
    LOG.debug(
        "Ed25519 by Bouncy Castle this time: {} failed: {}", provider.getName(), e.toString());
  }

  private static byte[] concat(byte[] prefix, byte[] bytes) {
    byte[] both = Arrays.copyOf(prefix, prefix.length + bytes.length);
    System.arraycopy(bytes, 0, both, prefix.length, bytes.length);
    return both;
  }
}
