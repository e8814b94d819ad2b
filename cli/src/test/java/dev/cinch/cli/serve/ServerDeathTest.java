package dev.cinch.cli.serve;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.Forked;
import dev.cinch.cli.Main;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.Stop;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A lease server that is killed while somebody appends under its leases. */
@Timeout(600)
class ServerDeathTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  @TempDir Path temp;

  /** A line a read, without end, but not far ahead of the receipts. */
  private static final class Endless extends InputStream {
    private final Semaphore ahead;
    private long line;

    Endless(Semaphore ahead) {
      this.ahead = ahead;
    }

    @Override
    public int read() {
      throw new AssertionError("one byte at a time");
    }

    @Override
    public int read(byte[] b, int offset, int length) {
      ahead.acquireUninterruptibly();
      byte[] next = ("line " + ++line + "\n").getBytes(StandardCharsets.UTF_8);
      System.arraycopy(next, 0, b, offset, next.length);
      return next.length;
    }
  }

  /** Keeps the receipts, and kills at the first of them. */
  private static final class Receipts extends OutputStream {
    private final ByteArrayOutputStream kept = new ByteArrayOutputStream();
    private final Semaphore ahead = new Semaphore(100);
    private final Forked victim;
    private boolean killed;

    Receipts(Forked victim) {
      this.victim = victim;
    }

    @Override
    public void write(int b) {
      throw new AssertionError("one byte at a time");
    }

    @Override
    public void write(byte[] b, int offset, int length) throws IOException {
      kept.write(b, offset, length);
      int lines = 0;
      for (int i = 0; i < length; i++) {
        lines += b[offset + i] == '\n' ? 1 : 0;
      }
      // Then the leases are waited for to be lost: a line at a time will do.
      ahead.release(killed ? 1 : lines);
      if (!killed) {
        killed = true;
        try {
          victim.close();
        } catch (InterruptedException e) {
          throw new IOException(e);
        }
      }
    }

    List<String> lines() {
      return kept.toString(StandardCharsets.UTF_8).lines().toList();
    }
  }

  /** At the first receipt, when many lines have none yet. */
  @Test
  void everyReceiptIsTrueAndTheRestIsTold() throws Exception {
    Path store = Cinch.quickStore(temp);
    Cinch.on(store).run("log", "create", "jobs").ended(0);
    try (Forked server = Forked.serve(temp, store)) {
      var env = Map.of("CINCH_STORE", store.toString(), "CINCH_SERVER", server.listening());
      var receipts = new Receipts(server);
      var err = new ByteArrayOutputStream();
      var io =
          new Io(
              new Endless(receipts.ahead),
              receipts,
              new PrintStream(err, true, StandardCharsets.UTF_8),
              env::get,
              false,
              false,
              Stop.byHand());
      String[] append = {
        "append",
        "--log=jobs",
        "--lease=a",
        "--lease=b",
        "--lease-for=2s",
        "--json",
        "--durability=close"
      };
      int code = Main.run(append, io);
      String said = err.toString(StandardCharsets.UTF_8);
      assertEquals(4, code, said);
      assertEquals(1, said.lines().count(), said);
      assertTrue(said.contains("no more input was taken"), said);
      assertTrue(said.contains("no answer from the lease service at "), said);
      check(Cinch.on(store), receipts.lines(), said);
    }
  }

  /** What the receipts call committed is there once it is settled, and nothing else is. */
  private static void check(Cinch cinch, List<String> receipts, String said) throws Exception {
    cinch.settle("jobs");
    var expected = new HashMap<String, String>();
    long refused = 0;
    long line = 0;
    for (String text : receipts) {
      JsonNode receipt = JSON.readTree(text);
      assertEquals(++line, receipt.get("line").longValue());
      if (receipt.get("state").textValue().equals("COMMITTED")) {
        expected.put(receipt.get("timestamp").asText(), "line " + line);
      } else {
        refused++;
      }
    }
    List<String> settled =
        cinch.run("cat", "--log=jobs", "--format=json").ended(0).out().lines().toList();
    var found = new HashMap<String, String>();
    for (String text : settled) {
      JsonNode message = JSON.readTree(text);
      found.put(message.get("timestamp").asText(), message.get("payload").textValue());
    }
    assertEquals(expected, found);
    assertEquals(expected.size(), settled.size());
    assertTrue(
        said.contains(
            refused > 0
                ? refused + " of " + line + " messages not appended"
                : line + " messages committed, no more input was taken: a lease"),
        said);
    cinch.run("audit").ended(0);
  }
}
