package dev.cinch.lease.server;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Between;
import dev.cinch.lease.LeaseHost;
import dev.cinch.lease.instance.Rig;
import java.io.IOException;
import java.net.ConnectException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A server that is told to end while requests are under way. */
@Timeout(600)
final class DrainTest {
  private static final String RELEASE = "{\"id\":\"000102030405060708090a0b0c0d0e0f\"}";
  private static final String HEAD =
      "POST /v1/leases/release HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: "
          + RELEASE.length()
          + "\r\n\r\n";
  private static final String LIST = "GET /v1/leases HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";

  private final Rig rig = new Rig();
  private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 5); // it may overflow
  private final Semaphore entered = new Semaphore(0);
  private final Semaphore leave = new Semaphore(0);
  private final AtomicInteger lists = new AtomicInteger();
  private final LeaseServer server;

  /** Stands still in what a worker does and in what the selector does. */
  DrainTest() throws IOException {
    LeaseHost service =
        Between.of(
            LeaseHost.class,
            call -> {
              if (call.is("listen") || call.is("hears") || call.is("waits")) {
                return call.by(rig.service);
              }
              if (call.is("list")) {
                lists.incrementAndGet();
              }
              entered.release();
              leave.acquireUninterruptibly();
              return call.by(rig.service);
            });
    server = LeaseServer.builder(service, rig.service::info).port(0).clock(nanos::get).start();
  }

  @AfterEach
  void end() throws IOException {
    leave.release(1_000);
    server.close();
  }

  private CompletableFuture<Integer> drain() {
    return server.drain().toCompletableFuture();
  }

  private RawClient connect() throws IOException {
    return new RawClient(server.port());
  }

  /** A connection that has had an answer. */
  private RawClient quiet() throws IOException {
    RawClient quiet = connect();
    assertEquals(200, quiet.get("/healthz").status());
    return quiet;
  }

  /** The server looks at it by itself. */
  private void endQuiet(RawClient quiet) throws IOException {
    nanos.addAndGet(Connections.LAST_MS * 1_000_000);
    assertTrue(quiet.isClosed());
  }

  /** It was on its way: its sender would not know whether it was carried out. */
  @Test
  void whatStillComesIsAnswered() throws Exception {
    try (RawClient quiet = quiet()) {
      CompletableFuture<Integer> drained = drain();
      leave.release();
      assertEquals(410, quiet.send(HEAD + RELEASE).response().status());
      endQuiet(quiet); // where the answer left before it heard of the end
      quiet.hangUp();
      assertEquals(0, drained.get());
    }
  }

  @Test
  void whatAWorkerDoesIsAnsweredAndNobodyElseIsLetIn() throws Exception {
    try (RawClient quiet = quiet();
        RawClient busy = connect().send(LIST)) {
      entered.acquire();
      CompletableFuture<Integer> drained = drain();
      endQuiet(quiet);
      nobodyIsLetIn();
      assertFalse(drained.isDone());
      leave.release();
      RawClient.Response answer = busy.response();
      assertEquals(200, answer.status());
      assertEquals("close", answer.headers().get("connection"));
      assertTrue(busy.isClosed());
      busy.hangUp();
      assertEquals(0, drained.get());
    }
  }

  /** Not even into the system's queue: whoever was told that an answer is the last one asks. */
  private void nobodyIsLetIn() {
    assertThrows(ConnectException.class, () -> connect().hangUp());
  }

  /** Its request may be on its way, and its sender would not know whether it was carried out. */
  @Test
  void whoeverWasLetInBeforeIsAnswered() throws Exception {
    try (RawClient busy = connect().send(HEAD + RELEASE)) {
      entered.acquire(); // the loop hears of nobody who comes
      try (RawClient late = connect()) {
        CompletableFuture<Integer> drained = drain();
        late.send(HEAD + RELEASE);
        leave.release(2);
        RawClient.Response answer = late.response();
        assertEquals(410, answer.status());
        assertEquals("close", answer.headers().get("connection"));
        late.hangUp();
        busy.hangUp();
        assertEquals(0, drained.get());
      }
    }
  }

  /** The selector is in the service itself: it hears of the end after it has answered. */
  @Test
  void whatATurnCarriesOutIsAnswered() throws Exception {
    try (RawClient busy = connect().send(HEAD + RELEASE)) {
      entered.acquire();
      CompletableFuture<Integer> drained = drain();
      nobodyIsLetIn();
      assertFalse(drained.isDone());
      leave.release();
      assertEquals(410, busy.response().status());
      endQuiet(busy); // by then it was not told that this was the last one
      busy.hangUp();
      assertEquals(0, drained.get());
    }
  }

  @Test
  void whatHasBegunToArriveIsAnswered() throws Exception {
    String begun = HEAD.replace("Host: 127.0.0.1", "Host: 127.0.0.1\r\nExpect: 100-continue");
    try (RawClient quiet = quiet();
        RawClient half = connect().send(begun)) {
      assertEquals(100, half.response().status());
      CompletableFuture<Integer> drained = drain();
      endQuiet(quiet);
      leave.release();
      RawClient.Response answer = half.send(RELEASE.getBytes(ISO_8859_1)).response();
      assertEquals(410, answer.status());
      assertEquals("close", answer.headers().get("connection"));
      half.hangUp();
      assertEquals(0, drained.get());
    }
  }

  /** Its sender learns that from the connection's end: it was not begun. */
  @Test
  void whatWaitsBehindARequestIsNotBegun() throws Exception {
    try (RawClient busy = connect().send(LIST + LIST)) {
      entered.acquire();
      CompletableFuture<Integer> drained = drain();
      leave.release(2);
      assertEquals(200, busy.response().status());
      assertTrue(busy.isClosed());
      busy.hangUp();
      assertEquals(0, drained.get());
      assertEquals(1, lists.get());
    }
  }

  @Test
  void whatHangsIsCutOffInTheEnd() throws Exception {
    try (RawClient busy = connect().send(LIST)) {
      entered.acquire();
      CompletableFuture<Integer> drained = drain();
      nanos.addAndGet(LeaseServer.DRAIN_MS * 1_000_000 - 1);
      server.sweep();
      assertFalse(drained.isDone());
      nanos.incrementAndGet();
      server.sweep();
      assertEquals(1, drained.get());
      server.close();
      assertTrue(busy.isClosed());
    }
  }

  @Test
  void aServerThatNobodyCameToEndsAtOnce() throws Exception {
    assertEquals(0, drain().get());
    assertEquals(0, drain().get());
  }
}
