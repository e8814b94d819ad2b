package dev.cinch.cli.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.cinch.bag.layout.TimeName;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.Forked;
import dev.cinch.cli.Served;
import dev.cinch.lease.time.SystemTime;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** How a store is doing, and what needs attention. */
final class StatusCommandTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  @TempDir private Path temp;

  private static JsonNode status(Cinch cinch, int code, String... more) throws Exception {
    var words = new ArrayList<>(List.of("status", "--json"));
    words.addAll(List.of(more));
    return JSON.readTree(cinch.run(words.toArray(String[]::new)).ended(code).out());
  }

  /** What needs attention, each as kind and log. */
  private static List<String> attention(JsonNode status) {
    var found = new ArrayList<String>();
    for (JsonNode a : status.get("attention")) {
      found.add(a.get("kind").textValue() + (a.has("log") ? " " + a.get("log").textValue() : ""));
    }
    return found;
  }

  @Test
  void logsAndNothingThatNeedsAttention() throws Exception {
    Cinch cinch = Cinch.on(Cinch.quickStore(temp));
    assertEquals(0, status(cinch, 0).get("logs").size());
    assertEquals("", cinch.run("logs").ended(0).out());
    cinch.feed("a\nbb\n", "append", "--log", "jobs").ended(0);
    cinch.run("log", "create", "empty").ended(0);
    assertEquals("empty\njobs\n", cinch.run("logs").ended(0).out());
    JsonNode status = status(cinch, 0);
    JsonNode empty = status.get("logs").get(0);
    assertTrue(empty.get("idle").booleanValue());
    assertFalse(empty.has("newest"));
    JsonNode jobs = status.get("logs").get(1);
    assertFalse(jobs.get("idle").booleanValue());
    assertTrue(jobs.get("openBuckets").intValue() > 0); // of 100 ms: two, on a busy machine
    assertFalse(jobs.get("newestSettled").booleanValue());
    String messages = cinch.run("cat", "--log=jobs", "--live", "--json").ended(0).out();
    JsonNode last = JSON.readTree(messages.lines().toList().get(1));
    assertEquals(last.get("timestamp"), jobs.get("newest"));

    cinch.settle("jobs");
    jobs = status(cinch, 0, "--log=jobs").get("logs").get(0);
    assertTrue(jobs.get("idle").booleanValue());
    assertTrue(jobs.get("newestSettled").booleanValue());
    assertEquals(2, jobs.get("messages").intValue());
    assertEquals(last.get("timestamp"), jobs.get("newest"));
    assertTrue(jobs.has("settledThrough"));
    assertTrue(cinch.run("status").ended(0).out().startsWith("nothing needs attention\n"));
  }

  /** The numbers come from elsewhere before and after, and are the same. */
  @Test
  void segmentsAreCountedByTheirEnds() throws Exception {
    Cinch cinch = Cinch.on(Cinch.quickStore(temp));
    cinch.settled("jobs", "a\nb\nc\n", Duration.ofMinutes(20));
    cinch.run("view", "build", "--wait=0s").ended(0);
    JsonNode built = status(cinch, 0).get("logs").get(0);
    assertEquals(3, built.get("messages").intValue());
    assertEquals(1, built.get("segments").intValue());
    assertEquals(built.get("settledThrough"), built.get("coveredThrough"));
    cinch.run("gc", "--retention=0s").ended(0);
    JsonNode retired = status(cinch, 0).get("logs").get(0);
    for (String field : List.of("messages", "newest", "bytes", "openBuckets")) {
      assertEquals(built.get(field), retired.get(field), field);
    }
    cinch.settled("jobs", "d\ne\n");
    JsonNode behind = status(cinch, 0).get("logs").get(0);
    assertEquals(5, behind.get("messages").intValue());
    String last = cinch.run("cat", "--log=jobs", "--json").out().lines().toList().get(4);
    assertEquals(JSON.readTree(last).get("timestamp"), behind.get("newest"));
  }

  @Test
  void aCloserThatStopped() throws Exception {
    Cinch cinch = Cinch.on(Cinch.quickStore(temp));
    cinch.overdue("jobs", "a\n");
    assertEquals(List.of("CLOSER jobs"), attention(status(cinch, 3)));
    Cinch.Ran text = cinch.run("status").ended(3);
    assertTrue(text.out().startsWith("! jobs: nobody closes: "), text.out());
    assertEquals(List.of(), attention(status(cinch, 0, "--late=1h")));
    cinch.run("close").ended(0);
    assertEquals(List.of(), attention(status(cinch, 0)));
  }

  @Test
  void aCloserThatStoppedHalfWay() throws Exception {
    Path store = Cinch.quickStore(temp);
    Cinch cinch = Cinch.on(store);
    cinch.settled("jobs", "a\n");
    Path intents = store.resolve("logs/jobs/horizon/intents");
    long now = SystemTime.INSTANCE.wallNanos() / 1_000_000_000 * 1_000_000_000;
    Files.createFile(intents.resolve(TimeName.of(now) + "-" + "0".repeat(32)));
    assertEquals(List.of(), attention(status(cinch, 0)), "may be at work");
    assertEquals(List.of("INTENT jobs"), attention(status(cinch, 3, "--late=0s")));
  }

  @Test
  void damageIsToldFirstAndHidesNoOtherLog() throws Exception {
    Path store = Cinch.quickStore(temp);
    Cinch cinch = Cinch.on(store);
    cinch.overdue("a", "x\n");
    cinch.settled("b", "x\n");
    cinch.settled("c", "x\n");
    Path lock;
    try (Stream<Path> all = Files.walk(store.resolve("logs/b"))) {
      lock = all.filter(p -> p.endsWith("lock")).findFirst().orElseThrow();
    }
    assertTrue(lock.toFile().setWritable(true));
    Files.write(lock, new byte[] {1});
    JsonNode status = status(cinch, 1);
    assertEquals(List.of("DAMAGE b", "CLOSER a"), attention(status));
    assertFalse(status.get("logs").get(1).get("readable").booleanValue());
    assertEquals(1, status.get("logs").get(2).get("messages").intValue());
    assertTrue(cinch.run("status").ended(1).out().startsWith("! b: "));
  }

  @Test
  @Timeout(600) // one that looks again for as long as it is damaged does not end
  void aDamagedSegmentIsTold() throws Exception {
    Path store = Cinch.quickStore(temp);
    Cinch cinch = Cinch.on(store);
    cinch.settled("jobs", "a\n", Duration.ofMinutes(20));
    cinch.run("view", "build", "--wait=0s").ended(0);
    Path segment = store.resolve("logs/jobs/segments/0000000001");
    byte[] bytes = Files.readAllBytes(segment);
    bytes[bytes.length / 3] ^= 1;
    assertTrue(segment.toFile().setWritable(true));
    Files.write(segment, bytes);
    assertEquals(List.of("DAMAGE jobs"), attention(status(cinch, 1)));
  }

  @Test
  void clocksAndLeaseServers() throws Exception {
    try (var served = new Served(temp)) {
      JsonNode good = status(served.cinch, 0);
      assertEquals("GRANTING", good.get("server").get("state").textValue());
      JsonNode off = status(served.cinch, 3, "--clock-offset=10s");
      assertEquals(List.of("CLOCK"), attention(off));
      assertTrue(off.get("clockOffsetMs").longValue() > 9_000);
      JsonNode silent = status(served.cinch, 3, "--server=http://127.0.0.1:1");
      assertEquals(List.of("SERVER"), attention(silent));
      assertEquals("SILENT", silent.get("server").get("state").textValue());
      assertNull(status(served.cinch, 0, "--no-server").get("server"));
    }
  }

  @Test
  void aLogThatWasRemovedIsNotThere() throws Exception {
    Path store = Cinch.quickStore(temp);
    Cinch cinch = Cinch.on(store);
    cinch.run("log", "create", "a", "b", "c").ended(0);
    cinch.run("log", "rm", "a", "--yes=a").ended(0);
    Files.write(store.resolve("logs/c/identity"), new byte[] {1});
    assertEquals("b\nc\n", cinch.run("logs").ended(0).out(), "a damaged one is there");
    assertEquals("b\nc\n", cinch.run("names", "logs").ended(0).out());
    JsonNode status = status(cinch, 1);
    assertEquals(List.of("DAMAGE c"), attention(status));
    assertEquals(2, status.get("logs").size());
    cinch.run("status", "--log=a").failed(4, "was removed");
  }

  @Test
  void whatIsWrongOnTheLine() throws Exception {
    Cinch cinch = Cinch.on(Cinch.quickStore(temp));
    cinch.run("status", "--watch", "0s").failed(2, "--watch is longer than 0s");
    cinch.run("status", "--late=-1s").failed(2, "--late is not negative");
    cinch.run("status", "--log=none").failed(4, "there is no log \"none\"");
    Cinch.on(temp.resolve("none")).run("status").failed(4, "is not a Cinch store");
    Cinch.on(temp.resolve("none")).run("logs").failed(4, "is not a Cinch store");
  }

  @Test
  @Timeout(600)
  void watchingSeesWhatIsNew() throws Exception {
    Path store = Cinch.quickStore(temp);
    Cinch cinch = Cinch.on(store);
    cinch.settled("jobs", "a\n");
    try (var watch = new Forked("status", "--json", "--watch", "10ms", "--store=" + store)) {
      assertEquals(1, messages(watch));
      cinch.settled("jobs", "b\nc\n", Duration.ofMinutes(5));
      while (messages(watch) == 1) {
        // It looks again.
      }
      assertEquals(3, messages(watch));
      watch.signalUntilItEnds("INT");
      assertEquals("", watch.err());
    }
  }

  private static int messages(Forked watch) throws Exception {
    return JSON.readTree(watch.line()).get("logs").get(0).get("messages").intValue();
  }
}
