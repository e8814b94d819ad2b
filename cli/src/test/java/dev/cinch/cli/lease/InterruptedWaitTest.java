package dev.cinch.cli.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.Served;
import dev.cinch.cli.base.Stop;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Whoever gives up waiting for a lease gives back what was granted while nobody read the answer.
 */
@Timeout(600)
class InterruptedWaitTest {
  private static final int TERM = 15;
  private static final int TERMINATED = 128 + TERM;

  @TempDir Path temp;
  private Served served;

  @BeforeEach
  void start() throws Exception {
    served = new Served(temp);
    served.cinch.run("log", "create", "lines").ended(0);
  }

  @AfterEach
  void close() throws Exception {
    served.close();
  }

  private Cinch cinch() {
    return Cinch.on(served.store).with("CINCH_SERVER", served.uri());
  }

  private static JsonNode json(Cinch.Ran ran) throws Exception {
    return new ObjectMapper().readTree(ran.ended(0).out());
  }

  /** Stops a command that waits for x, once x is its own and before it hears of that. */
  private void stopped(String what, String... command) throws Exception {
    stopped(cinch(), what, command);
  }

  private void stopped(Cinch by, String what, String... command) throws Exception {
    JsonNode held = json(cinch().run("lease", "acquire", "x"));
    served.awaitAcquires(1);
    Stop stop = Stop.byHand();
    var waiting = new FutureTask<>(() -> by.stoppedBy(stop).run(command));
    new Thread(waiting).start();
    served.awaitAcquires(1); // it was told that x is held, and waits
    CountDownLatch decided = served.unanswered();
    String id = held.get("id").textValue();
    cinch().with("CINCH_GRANT", id).run("lease", "release").ended(0);
    decided.await();
    stop.arrived(TERM);
    waiting.get().failed(TERMINATED, what);
    JsonNode next = json(cinch().run("lease", "acquire", "x")).at("/witnesses/0/witness");
    assertEquals("RELEASED", next.get("previousEnding").textValue());
    assertEquals(3, next.get("generation").intValue(), "the one in between was not granted");
    assertFalse(next.has("fence"), next.toString());
  }

  @Test
  void ofLeaseAcquire() throws Exception {
    stopped("stopped by SIGTERM; no lease was taken", "lease", "acquire", "--wait=1h", "x");
  }

  @Test
  void ofLeaseAcquireForAShell() throws Exception {
    stopped("no lease was taken", "lease", "acquire", "--wait=1h", "--export", "x");
  }

  @Test
  void ofLeaseRun() throws Exception {
    stopped("nothing was run", "lease", "run", "--wait=1h", "x", "--", "true");
  }

  @Test
  void ofLeaseRunWithoutAStore() throws Exception {
    Cinch bare = new Cinch().with("CINCH_SERVER", served.uri());
    stopped(bare, "nothing was run", "lease", "run", "--wait=1h", "x", "--", "true");
  }

  @Test
  void ofAppend() throws Exception {
    stopped("nothing was appended", "append", "--log=lines", "--lease=x", "--wait=1h", "/dev/null");
  }

  /** There is nothing to give back, and nobody else has taken it. */
  @Test
  void whoIsStoppedWhileAnotherHoldsItLeavesTheQueue() throws Exception {
    JsonNode held = json(cinch().run("lease", "acquire", "x"));
    served.awaitAcquires(1);
    Stop stop = Stop.byHand();
    var waiting =
        new FutureTask<>(() -> cinch().stoppedBy(stop).run("lease", "acquire", "--wait=1h", "x"));
    new Thread(waiting).start();
    served.awaitAcquires(1);
    stop.arrived(TERM);
    waiting.get().failed(TERMINATED, "no lease was taken");
    cinch().with("CINCH_GRANT", held.get("id").textValue()).run("lease", "release").ended(0);
    JsonNode next = json(cinch().run("lease", "acquire", "x")).at("/witnesses/0/witness");
    assertEquals(2, next.get("generation").intValue());
    assertTrue(next.has("previous"));
  }
}
