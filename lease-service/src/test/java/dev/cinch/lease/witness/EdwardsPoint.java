package dev.cinch.lease.witness;

import java.math.BigInteger;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A point of edwards25519, for signatures that no library makes. Slow, and not secret. Source: RFC
 * 8032, section 5.1.
 */
record EdwardsPoint(BigInteger x, BigInteger y) {
  static final BigInteger P = BigInteger.TWO.pow(255).subtract(BigInteger.valueOf(19));

  /** The order of the base point. */
  static final BigInteger L =
      BigInteger.TWO.pow(252).add(new BigInteger("27742317777372353535851937790883648493"));

  private static final BigInteger D =
      BigInteger.valueOf(-121_665).multiply(BigInteger.valueOf(121_666).modInverse(P)).mod(P);
  private static final BigInteger ROOT_OF_MINUS_1 =
      BigInteger.TWO.modPow(P.subtract(BigInteger.ONE).shiftRight(2), P);

  static final EdwardsPoint NEUTRAL = new EdwardsPoint(BigInteger.ZERO, BigInteger.ONE);
  static final EdwardsPoint BASE =
      of(BigInteger.valueOf(4).multiply(BigInteger.valueOf(5).modInverse(P)).mod(P), false);

  /** The point with this y and the sign of its x. */
  static EdwardsPoint of(BigInteger y, boolean negative) {
    EdwardsPoint found = find(y, negative);
    if (found == null) {
      throw new IllegalArgumentException("no point has y = " + y);
    }
    return found;
  }

  private static @Nullable EdwardsPoint find(BigInteger y, boolean negative) {
    BigInteger square = y.multiply(y);
    BigInteger xx =
        square
            .subtract(BigInteger.ONE)
            .multiply(D.multiply(square).add(BigInteger.ONE).modInverse(P))
            .mod(P);
    BigInteger x = xx.modPow(P.add(BigInteger.valueOf(3)).shiftRight(3), P);
    if (!x.multiply(x).mod(P).equals(xx)) {
      x = x.multiply(ROOT_OF_MINUS_1).mod(P);
    }
    if (!x.multiply(x).mod(P).equals(xx)) {
      return null;
    }
    return new EdwardsPoint(x.testBit(0) == negative ? x : P.subtract(x).mod(P), y.mod(P));
  }

  /** The eight whose order divides 8, the neutral one first. */
  static List<EdwardsPoint> ofSmallOrder() {
    EdwardsPoint generator = NEUTRAL;
    for (int y = 2; !generator.times(BigInteger.valueOf(4)).isOfOrder2(); y++) {
      EdwardsPoint any = find(BigInteger.valueOf(y), false);
      generator = any == null ? NEUTRAL : any.times(L);
    }
    var all = new ArrayList<EdwardsPoint>();
    for (int i = 0; i < 8; i++) {
      all.add(generator.times(BigInteger.valueOf(i)));
    }
    return all;
  }

  private boolean isOfOrder2() {
    return !equals(NEUTRAL) && plus(this).equals(NEUTRAL);
  }

  EdwardsPoint plus(EdwardsPoint other) {
    return affine(sum(extended(), other.extended()));
  }

  EdwardsPoint times(BigInteger n) {
    BigInteger[] sum = NEUTRAL.extended();
    BigInteger[] self = extended();
    for (int bit = n.bitLength() - 1; bit >= 0; bit--) {
      sum = sum(sum, sum);
      if (n.testBit(bit)) {
        sum = sum(sum, self);
      }
    }
    return affine(sum);
  }

  /** X, Y, Z and T of section 5.1.4, where a sum needs no inverse. */
  private BigInteger[] extended() {
    return new BigInteger[] {x, y, BigInteger.ONE, x.multiply(y).mod(P)};
  }

  private static EdwardsPoint affine(BigInteger[] of) {
    BigInteger inverse = of[2].modInverse(P);
    return new EdwardsPoint(of[0].multiply(inverse).mod(P), of[1].multiply(inverse).mod(P));
  }

  private static BigInteger[] sum(BigInteger[] p, BigInteger[] q) {
    BigInteger a = p[1].subtract(p[0]).multiply(q[1].subtract(q[0]));
    BigInteger b = p[1].add(p[0]).multiply(q[1].add(q[0]));
    BigInteger c = p[3].multiply(q[3]).shiftLeft(1).mod(P).multiply(D);
    BigInteger d = p[2].multiply(q[2]).shiftLeft(1);
    BigInteger e = b.subtract(a).mod(P);
    BigInteger f = d.subtract(c).mod(P);
    BigInteger g = d.add(c).mod(P);
    BigInteger h = b.add(a).mod(P);
    return new BigInteger[] {
      e.multiply(f).mod(P), g.multiply(h).mod(P), f.multiply(g).mod(P), e.multiply(h).mod(P)
    };
  }

  byte[] encoded() {
    return encoding(y, x.testBit(0));
  }

  /** 32 bytes of a y, reduced or not. */
  static byte[] encoding(BigInteger y, boolean negative) {
    return little(negative ? y.setBit(255) : y);
  }

  /** 32 bytes of a number below 2^256. */
  static byte[] little(BigInteger number) {
    byte[] bytes = new byte[32];
    for (int i = 0; i < 32; i++) {
      bytes[i] = number.shiftRight(8 * i).byteValue();
    }
    return bytes;
  }

  /** What RFC 8032 calls k: the hash of R, A and the message. */
  static BigInteger challenge(byte[] r, byte[] key, byte[] message) {
    try {
      MessageDigest sha = MessageDigest.getInstance("SHA-512");
      sha.update(r);
      sha.update(key);
      byte[] hash = sha.digest(message);
      var big = new byte[hash.length];
      for (int i = 0; i < hash.length; i++) {
        big[i] = hash[hash.length - 1 - i];
      }
      return new BigInteger(1, big).mod(L);
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError(e);
    }
  }
}
