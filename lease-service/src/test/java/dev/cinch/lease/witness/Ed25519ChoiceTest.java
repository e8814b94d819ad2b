package dev.cinch.lease.witness;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** Which library signs and checks: a flawed one never does. */
final class Ed25519ChoiceTest {
  private static final String ABSENT = "dev.cinch.NoSuchProvider";
  private static final byte[] SEED = {
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26,
    27, 28, 29, 30, 31, 32
  };
  private static final byte[] MESSAGE = {42};

  @Test
  void theseTestsAreOfTheDefault() {
    assertEquals("bc", System.getProperty(Ed25519Choice.PROPERTY));
    assertEquals("Bouncy Castle", Signatures.library());
  }

  @Test
  void aProviderThatIsRightIsUsed() {
    assertEquals("flawed", choose(null, FlawedProvider.Good.class).title());
    assertEquals("flawed", choose("native", FlawedProvider.Good.class).title());
  }

  @Test
  void bcIsBouncyCastleWhateverThereIs() {
    assertSame(BouncyCastleEd25519.INSTANCE, choose("bc", FlawedProvider.Good.class));
  }

  @ParameterizedTest
  @ValueSource(
      classes = {
        FlawedProvider.SignsOtherwise.class,
        FlawedProvider.TakesLargeS.class,
        FlawedProvider.TakesAll.class,
        FlawedProvider.TakesNothing.class,
        FlawedProvider.DoesNotLoad.class,
        FlawedProvider.HasNone.class,
        String.class // has no INSTANCE
      })
  void aFlawedOneIsNot(Class<?> provider) {
    assertSame(BouncyCastleEd25519.INSTANCE, choose(null, provider));
    List<ILoggingEvent> said =
        logged(() -> assertSame(BouncyCastleEd25519.INSTANCE, choose("native", provider)));
    assertEquals(Level.WARN, said.get(0).getLevel()); // it was asked for
  }

  @Test
  void nothingIsSaidWhereThereIsNone() {
    List<ILoggingEvent> said =
        logged(() -> assertSame(BouncyCastleEd25519.INSTANCE, Ed25519Choice.choose(null, ABSENT)));
    assertEquals(1, said.size(), said.toString());
    assertEquals(Level.DEBUG, said.get(0).getLevel());
    assertEquals("Ed25519 by Bouncy Castle", said.get(0).getFormattedMessage());
  }

  @Test
  void bouncyCastleGoesOnWhereItBreaksLater() {
    Ed25519 breaks = choose(null, FlawedProvider.Breaks.class);
    assertEquals("flawed", breaks.title());
    Ed25519.Signer signer = breaks.signer(SEED);
    Ed25519.Checker checker = breaks.checker(SigningKey.ofSeed(SEED).publicKey().bytes());
    byte[] signature = signer.sign(MESSAGE);
    FlawedProvider.Breaks.BROKEN.set(true);
    try {
      assertArrayEquals(signature, signer.sign(MESSAGE));
      assertTrue(checker.isGood(signature, MESSAGE));
      assertFalse(checker.isGood(signature, MESSAGE, MESSAGE));
    } finally {
      FlawedProvider.Breaks.BROKEN.set(false);
    }
    assertArrayEquals(signature, signer.sign(MESSAGE)); // nothing is left of what failed
    assertTrue(checker.isGood(signature, MESSAGE));
  }

  private static Ed25519 choose(@org.jspecify.annotations.Nullable String wanted, Class<?> of) {
    return Ed25519Choice.choose(wanted, of.getName());
  }

  private static List<ILoggingEvent> logged(Runnable what) {
    var logger = (Logger) LoggerFactory.getLogger(Ed25519Choice.class);
    var appender = new ListAppender<ILoggingEvent>();
    Level before = logger.getLevel();
    logger.setLevel(Level.DEBUG);
    logger.setAdditive(false);
    logger.addAppender(appender);
    appender.start();
    try {
      what.run();
    } finally {
      logger.detachAppender(appender);
      logger.setLevel(before);
      logger.setAdditive(true);
    }
    return appender.list;
  }
}
