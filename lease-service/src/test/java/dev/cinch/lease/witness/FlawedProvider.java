package dev.cinch.lease.witness;

import java.security.Key;
import java.security.PrivateKey;
import java.security.Provider;
import java.security.PublicKey;
import java.security.Signature;
import java.security.SignatureException;
import java.security.SignatureSpi;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** A provider of {@code java.security} that is right but for one flaw. */
@SuppressWarnings("serial") // nobody writes it
class FlawedProvider extends Provider {
  /** Right in all. */
  static final class Good extends FlawedProvider {
    public static final Good INSTANCE = new Good();
  }

  /** Another signature, if a good one for itself: as with a random number. */
  static final class SignsOtherwise extends FlawedProvider {
    public static final SignsOtherwise INSTANCE = new SignsOtherwise();

    @Override
    byte[] signed(byte[] good) {
      good[0] ^= 1;
      return good;
    }
  }

  /** Does not look at S, and so takes L more. */
  static final class TakesLargeS extends FlawedProvider {
    public static final TakesLargeS INSTANCE = new TakesLargeS();

    @Override
    boolean verdict(boolean good, byte[] signature) {
      return good || (signature[63] & 0xf0) == 0x10;
    }
  }

  /** Takes whatever it is shown. */
  static final class TakesAll extends FlawedProvider {
    public static final TakesAll INSTANCE = new TakesAll();

    @Override
    boolean verdict(boolean good, byte[] signature) {
      return true;
    }
  }

  /** Takes nothing, which nobody would notice but by the time that it takes. */
  static final class TakesNothing extends FlawedProvider {
    public static final TakesNothing INSTANCE = new TakesNothing();

    @Override
    boolean verdict(boolean good, byte[] signature) {
      return false;
    }
  }

  /** Breaks once told to. */
  static final class Breaks extends FlawedProvider {
    public static final Breaks INSTANCE = new Breaks();
    static final AtomicBoolean BROKEN = new AtomicBoolean();

    @Override
    byte[] signed(byte[] good) throws SignatureException {
      breakNow();
      return good;
    }

    @Override
    boolean verdict(boolean good, byte[] signature) throws SignatureException {
      breakNow();
      return good;
    }

    private static void breakNow() throws SignatureException {
      if (BROKEN.get()) {
        throw new SignatureException("broken");
      }
    }
  }

  /** As one whose library is of another processor. */
  static final class DoesNotLoad extends FlawedProvider {
    public static final DoesNotLoad INSTANCE = load();

    private static DoesNotLoad load() {
      throw new UnsatisfiedLinkError("no such library");
    }
  }

  /** As one that has loaded without its library. */
  static final class HasNone extends Provider {
    public static final HasNone INSTANCE = new HasNone();

    private HasNone() {
      super("HasNone", "1", "has no Ed25519");
    }
  }

  FlawedProvider() {
    super("Flawed", "1", "flawed");
    putService(
        new Service(this, "Signature", "Ed25519", "by newInstance", null, null) {
          @Override
          public Object newInstance(@Nullable Object parameter) {
            return new ByBouncyCastle();
          }
        });
  }

  byte[] signed(byte[] good) throws SignatureException {
    return good;
  }

  boolean verdict(boolean good, byte[] signature) throws SignatureException {
    return good;
  }

  private final class ByBouncyCastle extends SignatureSpi {
    private byte[] key = {};
    private byte[] message = {};

    private void init(Key from) {
      byte[] encoded = from.getEncoded();
      key = Arrays.copyOfRange(encoded, encoded.length - 32, encoded.length);
      message = new byte[0];
    }

    private byte[] taken() {
      byte[] all = message;
      message = new byte[0];
      return all;
    }

    @Override
    protected void engineInitVerify(PublicKey from) {
      init(from);
    }

    @Override
    protected void engineInitSign(PrivateKey from) {
      init(from);
    }

    @Override
    protected void engineUpdate(byte more) {
      engineUpdate(new byte[] {more}, 0, 1);
    }

    @Override
    protected void engineUpdate(byte[] more, int from, int length) {
      int old = message.length;
      message = Arrays.copyOf(message, old + length);
      System.arraycopy(more, from, message, old, length);
    }

    @Override
    protected byte[] engineSign() throws SignatureException {
      return signed(BouncyCastleEd25519.INSTANCE.signer(key).sign(taken()));
    }

    @Override
    protected boolean engineVerify(byte[] bytes) throws SignatureException {
      return verdict(BouncyCastleEd25519.INSTANCE.checker(key).isGood(bytes, taken()), bytes);
    }

    @Deprecated
    @Override
    protected void engineSetParameter(String name, Object value) {}

    @Deprecated
    @Override
    protected Object engineGetParameter(String name) {
      return Signature.class;
    }
  }
}
