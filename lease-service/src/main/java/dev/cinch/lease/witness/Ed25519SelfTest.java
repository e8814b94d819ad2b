package dev.cinch.lease.witness;

import java.security.GeneralSecurityException;
import java.security.SignatureException;
import java.util.Arrays;
import java.util.HexFormat;

/**
 * What a provider must do before it is used. Source of the key and its signature: RFC 8032, section
 * 7.1, test 3; of what must be refused: section 5.1.7, and "Taming the many EdDSAs" (2020).
 */
final class Ed25519SelfTest {
  private static final byte[] SEED =
      hex("c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7");
  private static final byte[] KEY =
      hex("fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025");
  private static final byte[] MESSAGE = hex("af82");
  private static final byte[] SIGNATURE =
      hex(
          "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
              + "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a");

  /** The same with L added to S, which RFC 8032 forbids. */
  private static final byte[] LARGE_S =
      hex(
          "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
              + "05d391b0a77904e98404ef037747a56e4a7c15e9716ed28dc027beceea1ec41a");

  /** R the neutral element and S zero: good for any message if a key of order 1 were allowed. */
  private static final byte[] NEUTRAL = Arrays.copyOf(new byte[] {1}, Signatures.BYTES);

  private Ed25519SelfTest() {}

  /**
   * Tries the provider alone with a good key, and the whole with bad ones.
   *
   * @throws GeneralSecurityException if it can't sign or check, or does so wrongly
   */
  static void run(ProviderEd25519 tried) throws GeneralSecurityException {
    ReadySignature signer = tried.toSign(SEED);
    ReadySignature verifier = tried.toVerify(KEY);
    for (int i = 0; i < 2; i++) { // the second time with what the first one left
      require(Arrays.equals(SIGNATURE, signer.sign(MESSAGE)), "another signature than RFC 8032's");
      require(Arrays.equals(SIGNATURE, signer.sign(hex("af"), hex("82"))), "parts are not as one");
      require(verifier.verify(SIGNATURE, MESSAGE), "a good signature is refused");
      require(!verifier.verify(SIGNATURE, hex("af83")), "another message is taken");
      require(!verifier.verify(LARGE_S, MESSAGE), "S above L is taken");
      for (int at = 0; at < Signatures.BYTES; at++) {
        byte[] bad = SIGNATURE.clone();
        bad[at] ^= 1;
        require(!verifier.verify(bad, MESSAGE), "a changed signature is taken");
      }
    }
    byte[] order1 = Arrays.copyOf(new byte[] {1}, PublicKey.BYTES);
    byte[] noPoint = Arrays.copyOf(new byte[] {2}, PublicKey.BYTES);
    byte[] unreduced = Arrays.copyOf(new byte[] {(byte) 0xee}, PublicKey.BYTES); // 1 + p
    Arrays.fill(unreduced, 1, PublicKey.BYTES - 1, (byte) 0xff);
    unreduced[PublicKey.BYTES - 1] = 0x7f;
    for (byte[] key : new byte[][] {order1, noPoint, unreduced}) {
      require(!tried.checker(key).isGood(NEUTRAL, MESSAGE), "a bad key is taken");
    }
    require(tried.checker(KEY).isGood(SIGNATURE, MESSAGE), "a good signature is refused");
  }

  private static void require(boolean holds, String otherwise) throws SignatureException {
    if (!holds) {
      throw new SignatureException(otherwise);
    }
  }

  private static byte[] hex(String digits) {
    return HexFormat.of().parseHex(digits);
  }
}
