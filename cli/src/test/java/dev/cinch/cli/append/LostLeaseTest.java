package dev.cinch.cli.append;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.cinch.bag.Session;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.write.MessageRefusedException;
import dev.cinch.cli.Main;
import dev.cinch.cli.Served;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.Stop;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.client.HttpLeaseClient;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.time.TimeSource;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.PrintStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** An append whose leases are lost, because the lease service is away for longer than they last. */
@Timeout(600)
class LostLeaseTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  @TempDir Path temp;

  /** A line a read, a few ahead of the receipts, until some after it was told to end. */
  private static final class Lines extends InputStream {
    final Semaphore ahead = new Semaphore(3);
    private int line;
    private int left = 5;
    private volatile boolean ending;

    @Override
    public int read() {
      throw new AssertionError("one byte at a time");
    }

    @Override
    public int read(byte[] b, int offset, int length) {
      ahead.acquireUninterruptibly();
      if (ending && left-- == 0) {
        return -1;
      }
      byte[] next = ("line " + ++line + "\n").getBytes(StandardCharsets.UTF_8);
      System.arraycopy(next, 0, b, offset, next.length);
      return next.length;
    }
  }

  @Test
  void isTakenAnewAndTheLinesThatWereNotYetTakenFollow() throws Exception {
    try (var served = new Served(temp)) {
      String err = appendMeanwhile(served, Map.of(), "--lease=a", "--lease-for=2s", "--wait=60s");
      assertTrue(err.contains("; taking it anew"), err);
      assertEquals(Set.of(1, 2), generations(served));
    }
  }

  /** Rule L14: nobody else had it in between, and whoever gives it back hears of all lines. */
  @Test
  void aSharedLeaseThatLapsedHereAloneIsGoneOnWith() throws Exception {
    try (var served = new Served(temp)) {
      String said = served.cinch.run("lease", "acquire", "--for=60s", "--export", "a").out();
      String grant = said.split("'", -1)[1];
      String err = appendMeanwhile(served, Map.of("CINCH_GRANT", grant), "--lease-for=2s");
      assertFalse(err.contains("no longer held"), err);
      assertEquals(Set.of(1), generations(served));
      served.cinch.with("CINCH_GRANT", grant).run("lease", "release").ended(0);
      String last = served.cinch.run("cat", "--log=jobs", "--tail=1", "--json").ended(0).out();
      served.cinch.feed("after\n", "append", "--log=jobs", "--lease=a").ended(0);
      JsonNode next =
          JSON.readTree(served.cinch.run("lease", "show", "--json", "a").ended(0).out())
              .get("witness");
      assertEquals("RELEASED", next.get("previousEnding").textValue());
      assertEquals(JSON.readTree(last).get("timestamp"), next.get("watermark").get("timestamp"));
    }
  }

  @Test
  void aServerThatEndsBecauseAnotherTookOverIsNoReasonToGiveUp() throws Exception {
    try (var served = new Served(temp)) {
      served.cinch.run("log", "create", "jobs").ended(0);
      served.superseded(1);
      String[] append = {"append", "--log=jobs", "--lease=a"};
      served.cinch.feed("a\n", append).failed(3, "instance 9 took over");
      served.superseded(2);
      String[] waiting = {"append", "--log=jobs", "--lease=a", "--wait=60s"};
      String err = served.cinch.feed("a\nb\n", waiting).ended(0).err();
      assertEquals("cinch append: instance 9 took over; trying again\n", err);
      served.cinch.settle("jobs");
      assertEquals("a\nb\n", served.cinch.run("cat", "--log=jobs").ended(0).out());
    }
  }

  @Test
  void whatWaitingDoesNotHelpIsToldAtOnce() throws Exception {
    try (var served = new Served(temp)) {
      served.cinch.run("log", "create", "jobs").ended(0);
      var time =
          new TimeSource() {
            @Override
            public long wallNanos() {
              return SystemTime.INSTANCE.wallNanos();
            }

            @Override
            public long monotonicNanos() {
              return SystemTime.INSTANCE.monotonicNanos();
            }

            @Override
            public void sleepNanos(long nanos) {
              throw new AssertionError("it waits");
            }
          };
      Store store =
          Store.open(served.store, Store.Environment.of(new MachineName("m"), SystemTime.INSTANCE));
      HttpLeaseClient client = HttpLeaseClient.builder(URI.create(served.uri())).build();
      try (Session session = Session.open(store, client, "me")) {
        session.acquire(List.of(new LeaseName("a")), Duration.ofSeconds(30));
        var lines =
            new LeasedLines(
                session,
                store.log(new LogName("jobs")),
                time,
                Duration.ofHours(1),
                () -> fail("the lease is held"),
                line -> fail(line));
        int length = store.context().settings().messageLimit() + 1;
        assertThrows(
            MessageRefusedException.class, () -> lines.submit(new byte[length], 0, length, null));
      }
    }
  }

  /** Appends lines while the lease service goes away for longer than the lease lasts. */
  private static String appendMeanwhile(Served served, Map<String, String> with, String... options)
      throws Exception {
    served.cinch.run("log", "create", "jobs").ended(0);
    var in = new Lines();
    var receipts =
        new ByteArrayOutputStream() {
          @Override
          public synchronized void write(byte[] b, int offset, int length) {
            super.write(b, offset, length);
            served.away(!in.ending);
            for (int i = offset; i < offset + length; i++) {
              if (b[i] == '\n') {
                in.ahead.release();
              }
            }
          }
        };
    var said =
        new ByteArrayOutputStream() {
          @Override
          public void flush() {
            in.ending = true;
            served.away(false);
          }
        };
    Map<String, String> env = new HashMap<>(with);
    env.put("CINCH_STORE", served.store.toString());
    env.put("CINCH_SERVER", served.uri());
    var io =
        new Io(
            in,
            receipts,
            new PrintStream(said, true, StandardCharsets.UTF_8),
            env::get,
            false,
            false,
            Stop.byHand());
    var append = new ArrayList<>(List.of("append", "--log=jobs", "--json"));
    append.addAll(List.of(options));
    int code = Main.run(append.toArray(String[]::new), io);
    String err = said.toString(StandardCharsets.UTF_8);
    assertEquals(0, code, err);
    served.cinch.settle("jobs");
    int n = 0;
    for (JsonNode message : messages(served)) {
      assertEquals("line " + ++n, message.get("payload").textValue());
    }
    assertEquals(in.line, n);
    served.cinch.run("audit").ended(0);
    return err;
  }

  private static List<JsonNode> messages(Served served) throws Exception {
    var all = new ArrayList<JsonNode>();
    String printed = served.cinch.run("cat", "--log=jobs", "--json").ended(0).out();
    for (String line : printed.lines().toList()) {
      all.add(JSON.readTree(line));
    }
    return all;
  }

  private static Set<Integer> generations(Served served) throws Exception {
    Set<Integer> found = new HashSet<>();
    for (JsonNode message : messages(served)) {
      found.add(message.get("leases").get(0).get("generation").intValue());
    }
    return found;
  }

  @Test
  void aGrantOfTheEnvironmentThatCanNotBeUsedIsTold() throws Exception {
    try (var served = new Served(temp)) {
      served.cinch.with("CINCH_GRANT", "0".repeat(32));
      served.cinch.feed("a\n", "append", "--log=jobs").failed(2, "CINCH_GRANT is no directory");
      served.cinch.with("CINCH_GRANT", temp + "/none");
      served.cinch.feed("a\n", "append", "--log=jobs").failed(3, "there is no grant in");
    }
  }
}
