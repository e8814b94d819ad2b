package dev.cinch.lease.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import dev.cinch.lease.instance.Rig;
import java.io.IOException;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;

/** What a server says of its maintenance. */
@Timeout(600)
final class MaintenanceTest {
  private final Logger logger = (Logger) LoggerFactory.getLogger(LeaseServer.class);
  private final BlockingQueue<String> said = new LinkedBlockingQueue<>();
  private final AppenderBase<ILoggingEvent> appender =
      new AppenderBase<>() {
        @Override
        protected void append(ILoggingEvent event) {
          said.add(event.getFormattedMessage());
        }
      };

  private final Semaphore begun = new Semaphore(0);
  private final Semaphore never = new Semaphore(0);
  private final Semaphore ended = new Semaphore(0);

  @BeforeEach
  void listen() {
    logger.setLevel(Level.WARN);
    appender.start();
    logger.addAppender(appender);
    logger.setAdditive(false);
  }

  @AfterEach
  void stopListening() {
    logger.detachAppender(appender);
    logger.setAdditive(true);
    logger.setLevel(null);
  }

  private LeaseServer server(Runnable maintenance) throws IOException {
    var rig = new Rig();
    return LeaseServer.builder(rig.service, rig.service::info)
        .port(0)
        .maintenance(maintenance)
        .start();
  }

  /** Hangs until it is interrupted, as a file server may let it. */
  private void hang() {
    begun.release();
    try {
      never.acquire();
    } catch (InterruptedException e) {
      throw new IllegalStateException("interrupted", e);
    } finally {
      ended.release();
    }
  }

  @Test
  void aFaultIsSaidAndTheNextRunComes() throws Exception {
    try (LeaseServer server =
        server(
            () -> {
              begun.release();
              throw new IllegalStateException("made by a test");
            })) {
      server.maintain();
      begun.acquire(2); // the second by the server's own clock
      assertEquals("maintenance failed", said.take());
    }
  }

  @Test
  void whatClosingCutsOffIsNoFault() throws Exception {
    LeaseServer server = server(this::hang);
    server.maintain();
    begun.acquire();
    server.close();
    server.maintain(); // by a timer that had not been stopped
    ended.acquire();
    assertTrue(said.isEmpty(), said.toString());
    assertFalse(begun.tryAcquire());
  }
}
