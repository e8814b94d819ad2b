package dev.cinch.lease.witness;

import java.security.GeneralSecurityException;
import java.security.Provider;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which library signs and checks. Decided at the first signature, for the life of the process:
 * Amazon Corretto Crypto Provider where it is on the class path and passes a test, else Bouncy
 * Castle.
 */
final class Ed25519Choice {
  /** The system property {@code cinch.ed25519}: {@code bc} for Bouncy Castle whatever there is. */
  static final String PROPERTY = "cinch.ed25519";

  /** It takes a third of the time to sign, and half the time to check. */
  static final String NATIVE = "com.amazon.corretto.crypto.provider.AmazonCorrettoCryptoProvider";

  private static final Logger LOG = LoggerFactory.getLogger(Ed25519Choice.class);

  private Ed25519Choice() {}

  /** Apart, so that it is made when it is first asked for. */
  private static final class Chosen {
    static final Ed25519 ED25519 = choose(System.getProperty(PROPERTY), NATIVE);
  }

  static Ed25519 chosen() {
    return Chosen.ED25519;
  }

  /**
   * @param wanted {@code bc}, {@code native} (a warning where it can't be had), or null
   * @param provider the class of a provider with a static field {@code INSTANCE}
   */
  static Ed25519 choose(@Nullable String wanted, String provider) {
    Ed25519 chosen = BouncyCastleEd25519.INSTANCE;
    if (!"bc".equals(wanted)) {
      try {
        chosen = load(provider);
      } catch (ReflectiveOperationException
          | GeneralSecurityException
          | RuntimeException
          | LinkageError e) { // a library of another processor or another libc
        if ("native".equals(wanted)) {
          LOG.warn("{}=native, but Bouncy Castle it is: {}", PROPERTY, e.toString());
        } else if (!(e instanceof ClassNotFoundException)) {
          LOG.info("{} is there and not used: {}", provider, e.toString());
        }
      }
    }
    LOG.debug("Ed25519 by {}", chosen.title());
    return chosen;
  }

  private static Ed25519 load(String name)
      throws ReflectiveOperationException, GeneralSecurityException {
    Class<?> found = Class.forName(name, false, Ed25519Choice.class.getClassLoader());
    var ed25519 = new ProviderEd25519((Provider) found.getField("INSTANCE").get(null));
    Ed25519SelfTest.run(ed25519);
    return ed25519;
  }
}
