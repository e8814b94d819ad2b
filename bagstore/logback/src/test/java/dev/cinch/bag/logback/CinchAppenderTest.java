package dev.cinch.bag.logback;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.status.Status;
import ch.qos.logback.core.util.Duration;
import ch.qos.logback.core.util.FileSize;
import dev.cinch.bag.Log;
import dev.cinch.bag.Rig;
import dev.cinch.bag.Store;
import dev.cinch.bag.fs.FilterFs;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.lease.time.ForwardingTime;
import dev.cinch.lease.time.ManualTime;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;
import org.slf4j.MDC;

/** What a program's log is like in a store that works, and in one that does not. */
class CinchAppenderTest {
  private static final FileSize SMALL = new FileSize(1_000);

  private final LoggerContext context = (LoggerContext) LoggerFactory.getILoggerFactory();
  private final Logger root = context.getLogger(Logger.ROOT_LOGGER_NAME);

  @AfterEach
  void reset() {
    MDC.clear();
    context.getStatusManager().clear();
    context.stop();
  }

  /** Everything that the process logs goes there: also what the store's classes do. */
  private CinchAppender appender(Rig rig, StoreFs fs) {
    return appender(rig.environment(fs, rig.time));
  }

  /**
   * On a machine where nothing that sleeps goes on between these, or a thread that waits for nobody
   * would turn the clock by days.
   */
  private CinchAppender appender(Rig rig, CompletableFuture<Void> told, CountDownLatch wakes) {
    var clock =
        new ForwardingTime(rig.time) {
          @Override
          public void sleepNanos(long nanos) throws InterruptedException {
            if (told.isDone()) {
              wakes.await();
            }
            super.sleepNanos(nanos);
          }
        };
    return appender(rig.environment(rig.disk.view(Rig.ALICE), clock));
  }

  private CinchAppender appender(Store.Environment environment) {
    var encoder = new PatternLayoutEncoder();
    encoder.setContext(context);
    encoder.setPattern("%level %X{job} %msg%n");
    encoder.start();
    var appender = new CinchAppender(host -> environment);
    appender.setContext(context);
    appender.setName("STORE");
    appender.setStore("/store");
    appender.setLog("jobs");
    appender.setEncoder(encoder);
    appender.setStopTimeout(Duration.buildByMinutes(30));
    root.detachAndStopAllAppenders();
    root.setLevel(Level.DEBUG);
    root.addAppender(appender);
    return appender;
  }

  private List<String> messages(Rig rig) throws Exception {
    Log log = rig.open(rig.disk.view(Rig.ALICE));
    rig.settle(log);
    var found = new ArrayList<String>();
    try (var messages = log.messages(Instant.EPOCH, Instant.MAX)) {
      messages.forEachRemaining(m -> found.add(new String(m.payload(), StandardCharsets.UTF_8)));
    }
    return found;
  }

  private boolean said(String part) {
    return context.getStatusManager().getCopyOfStatusList().stream()
        .anyMatch(s -> s.getMessage().contains(part));
  }

  private long warnings() {
    return context.getStatusManager().getCopyOfStatusList().stream()
        .filter(s -> s.getEffectiveLevel() >= Status.WARN)
        .count();
  }

  /** Done once the appender has said it; to be made before it can. */
  private CompletableFuture<Void> told(String part) {
    var told = new CompletableFuture<Void>();
    context
        .getStatusManager()
        .add(
            status -> {
              if (status.getMessage().contains(part)) {
                told.complete(null);
              }
            });
    return told;
  }

  /** As an address of S3 does, this one names no directory. */
  @Test
  void theStoreMayBeInAnotherStorage() throws Exception {
    var time = ManualTime.ticking();
    var environment = Store.Environment.of(new MachineName("m1"), time);
    Log log = Store.open(URI.create("mem:CinchAppenderTest"), environment).createLog(Rig.JOBS);
    CinchAppender appender = appender(environment);
    appender.setStore("mem:CinchAppenderTest");
    appender.start();
    root.info("hello");
    appender.stop();
    time.advanceMs(60_000);
    log.horizon().advance(log.horizon().reachable(), OptionalLong.of(time.wallNanos()));
    try (var messages = log.messages(Instant.EPOCH, Instant.MAX)) {
      assertTrue(messages.hasNext());
    }
  }

  @Test
  void eachEventIsAMessageInOrderAsItWasWhenItWasLogged() throws Exception {
    Rig rig = Rig.memory(1);
    CinchAppender appender = appender(rig, rig.disk.view(Rig.ALICE));
    appender.start();
    MDC.put("job", "j1");
    var mutable = new ArrayList<>(List.of(1));
    root.info("a {}", mutable);
    mutable.add(2);
    MDC.put("job", "j2");
    root.warn("b\nsecond line");
    appender.stop();
    root.info("after the end");
    assertEquals(List.of("INFO j1 a [1]", "WARN j2 b\nsecond line"), messages(rig));
    assertEquals(0, appender.dropped());
  }

  @Test
  void aStoreThatIsNotThereIsWaitedForAndToldOnce() throws Exception {
    Rig rig = Rig.at(Path.of("/store"), 1);
    CompletableFuture<Void> told = told("is not a Cinch store");
    var made = new CountDownLatch(1);
    CinchAppender appender = appender(rig, told, made);
    var errors = new ByteArrayOutputStream();
    appender.errors = new PrintStream(errors, true, StandardCharsets.UTF_8);
    appender.setCreate(true);
    appender.start();
    root.info("early");
    told.get();
    Store store =
        Store.init(
            Path.of("/store"),
            StoreSettings.DEFAULT,
            rig.environment(rig.disk.view(Rig.ALICE), rig.time));
    made.countDown();
    root.info("late");
    appender.stop();
    assertTrue(said("appends to log jobs of /store again"));
    assertEquals("", errors.toString(StandardCharsets.UTF_8), "somebody listens to statuses");
    assertEquals(List.of("INFO  early", "INFO  late"), messages(rig));
    assertEquals(Rig.JOBS, store.logs().get(0));
  }

  @Test
  void whatAFullDiskHasNoRoomForIsDroppedAndCountedWhereItIsMissing() throws Exception {
    Rig rig = Rig.memory(1);
    CompletableFuture<Void> told = told("can't append to log jobs of /store, trying again: ");
    var cleaned = new CountDownLatch(1);
    CinchAppender appender = appender(rig, told, cleaned);
    appender.setQueueSize(SMALL);
    appender.start();
    rig.disk.setSpace(0);
    root.info("0");
    told.get();
    for (int i = 1; i < 1_000; i++) {
      root.info("{}", i);
    }
    root.warn("important");
    long dropped = appender.dropped();
    assertTrue(dropped > 900, dropped + " dropped");
    assertTrue(said("events are dropped: the queue for log jobs of /store is full; "));
    assertEquals(2, warnings(), "once a minute");
    rig.disk.setSpace(Long.MAX_VALUE);
    cleaned.countDown();
    appender.stop();
    List<String> found = messages(rig);
    int kept = found.size() - 2;
    assertEquals(1_000, kept + dropped);
    var expected = new ArrayList<>(IntStream.range(0, kept).mapToObj(i -> "INFO  " + i).toList());
    expected.add("WARN  important");
    expected.add("WARN  " + dropped + " events were dropped here: the queue was full");
    assertEquals(expected, found);
  }

  /** With the end of a line and without; only what the encoder leaves out is none. */
  @Test
  void anEmptyEventIsAnEmptyMessage() throws Exception {
    Rig rig = Rig.memory(1);
    for (String pattern : List.of("%msg%n", "%msg")) {
      CinchAppender appender = appender(rig, rig.disk.view(Rig.ALICE));
      var encoder =
          new PatternLayoutEncoder() {
            @Override
            @SuppressWarnings("NullAway") // as encoders may
            public byte[] encode(ILoggingEvent event) {
              return event.getMessage().equals("none") ? null : super.encode(event);
            }
          };
      encoder.setContext(context);
      encoder.setPattern(pattern);
      encoder.start();
      appender.setEncoder(encoder);
      appender.start();
      root.info("a");
      root.info("");
      root.info("none");
      root.info("b");
      appender.stop();
    }
    assertEquals(List.of("a", "", "b", "a", "", "b"), messages(rig));
  }

  /** Of a filesystem that is away: nothing that is asked of it returns. */
  private static final class AwayFs extends FilterFs {
    final CountDownLatch back = new CountDownLatch(1);
    final CountDownLatch asked = new CountDownLatch(1);

    AwayFs(StoreFs inner) {
      super(inner);
    }

    @Override
    public StoreFile read(Path file) throws IOException {
      asked.countDown();
      try {
        back.await();
      } catch (InterruptedException e) {
        throw new IOException(e);
      }
      return super.read(file);
    }

    @Override
    public StoreFile readUncached(Path file) throws IOException {
      return read(file);
    }
  }

  @Test
  void aProgramGoesOnAndEndsWhileItsStoreHangs() throws Exception {
    Rig rig = Rig.memory(1);
    var away = new AwayFs(rig.disk.view(Rig.ALICE));
    CinchAppender appender = appender(rig, away);
    var errors = new ByteArrayOutputStream();
    appender.errors = new PrintStream(errors, true, StandardCharsets.UTF_8);
    appender.setStopTimeout(new Duration(1));
    appender.start();
    root.info("1");
    away.asked.await();
    root.info("2");
    appender.stop();
    String loss = "2 events may be lost: they were not in log jobs of /store within";
    assertTrue(said(loss));
    String printed = errors.toString(StandardCharsets.UTF_8);
    assertTrue(printed.startsWith("appender STORE: " + loss), printed);
    away.back.countDown();
  }

  @Test
  void aProgramMayWaitForRoomInstead() throws Exception {
    Rig rig = Rig.memory(1);
    var away = new AwayFs(rig.disk.view(Rig.ALICE));
    CompletableFuture<Void> told = told("the program waits: the queue for log jobs");
    CinchAppender appender = appender(rig, away);
    appender.setQueueSize(SMALL);
    appender.setWhenFull("block");
    appender.start();
    var logging =
        CompletableFuture.runAsync(
            () -> IntStream.range(0, 1_000).forEach(i -> root.info("{}", i)));
    told.get();
    assertFalse(logging.isDone());
    away.back.countDown();
    logging.get();
    appender.stop();
    assertEquals(IntStream.range(0, 1_000).mapToObj(i -> "INFO  " + i).toList(), messages(rig));
    assertEquals(0, appender.dropped());
  }

  @Test
  void anEventThatTheStoreDoesNotAllowIsToldAndTheOthersGoOn() throws Exception {
    Rig rig = Rig.memory(1);
    CinchAppender appender = appender(rig, rig.disk.view(Rig.ALICE));
    appender.start();
    root.info("before");
    root.info("x".repeat(StoreSettings.DEFAULT.messageLimit()));
    root.info("after");
    appender.stop();
    assertTrue(said("1 events are not sent again to log jobs of /store: an event of"));
    assertEquals(List.of("INFO  before", "INFO  after"), messages(rig));
  }

  @Test
  void settingsThatCannotWorkAreToldAndNothingIsStarted() throws Exception {
    Rig rig = Rig.memory(1);
    CinchAppender appender = appender(rig, rig.disk.view(Rig.ALICE));
    appender.setLog("Not A Log");
    appender.start();
    assertFalse(appender.isStarted());
    assertTrue(said("appender STORE: not a log name"));
    appender.stop();
  }
}
