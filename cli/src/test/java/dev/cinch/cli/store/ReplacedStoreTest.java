package dev.cinch.cli.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.Forked;
import dev.cinch.lease.time.SystemTime;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A store, or a log, is made anew at the same path while processes run (protocol, section 1). */
@Timeout(600)
@SuppressWarnings("NullAway.Init")
class ReplacedStoreTest {
  @TempDir Path temp;

  /** Puts a new store, with an empty log, where one stands. */
  private Cinch replaced(Path store, String... options) throws IOException {
    Files.move(store, temp.resolve("before"));
    Path made = options.length == 0 ? Cinch.quickStore(temp) : Cinch.store(temp, options);
    assertEquals(store, made);
    Cinch cinch = Cinch.on(store);
    cinch.run("log", "create", "jobs").ended(0);
    return cinch;
  }

  /** Nothing of those that ran is in the new store, and it works. */
  private static void isSound(Cinch cinch) throws Exception {
    cinch.appendBehind("new\n", "append", "--log=jobs");
    cinch.settle("jobs");
    assertEquals("new\n", cinch.run("cat", "--log=jobs").ended(0).out());
    assertTrue(cinch.run("verify").ended(0).out().contains("0 damaged"));
  }

  private static List<Path> dataFiles(Path store) throws IOException {
    try (Stream<Path> all = Files.walk(store.resolve("logs/jobs/buckets"))) {
      return all.filter(p -> p.toString().endsWith(".log")).toList();
    }
  }

  /** What is appended from now on is in a later bucket than what a receipt is of. */
  private static void awaitNextBucket(String receipt) throws IOException {
    JsonNode old = new ObjectMapper().readTree(receipt);
    assertEquals("COMMITTED", old.get("state").textValue());
    long next = old.get("bucketStartNanos").asLong() + 100_000_000;
    while (SystemTime.INSTANCE.wallNanos() < next) {
      Thread.onSpinWait();
    }
  }

  @Test
  void aCloserEnds() throws Exception {
    Path store = Cinch.quickStore(temp);
    Cinch.on(store).overdue("jobs", "old\n");
    try (var closer = new Forked("close", "--every=20ms", "--store=" + store)) {
      assertTrue(closer.line().contains("(record 1, 1 bucket closed)"));
      Cinch cinch = replaced(store);
      closer.ended(4);
      String said = closer.err();
      assertTrue(said.contains(store.resolve("store.json") + ": expected store "), said);
      isSound(cinch);
    }
  }

  @Test
  void aWatchEnds() throws Exception {
    Path store = Cinch.quickStore(temp);
    Cinch.on(store).settled("jobs", "old\n", Duration.ofMinutes(20));
    try (var watch = Forked.here("status", "--watch=1ms", "--store=" + store)) {
      String first = watch.line();
      replaced(store);
      watch.ended(4);
      String said = watch.err();
      assertTrue(said.contains("store.json: expected store ") || said.contains("no such"), said);
      assertTrue(!first.isEmpty() && !said.contains("damaged"), said);
    }
  }

  @Test
  void anAppendThatEntersItsNextBucketEnds() throws Exception {
    Path store = Cinch.quickStore(temp);
    Cinch.on(store).run("log", "create", "jobs").ended(0);
    try (var append = new Forked("append", "--json", "--log=jobs", "--store=" + store)) {
      append.type("old\n");
      String old = append.line();
      Cinch cinch = replaced(store);
      awaitNextBucket(old);
      append.type("late\n");
      String line = append.line();
      assertTrue(line.contains("store.json: expected store "), line);
      append.endInput();
      append.ended(3);
      assertEquals(List.of(), dataFiles(store));
      isSound(cinch);
    }
  }

  /** In the bucket that it was in: its file is gone, and it can't know what became of the line. */
  @Test
  void anAppendThatIsInItsBucketEnds() throws Exception {
    String[] wide = {"--bucket-width=1h", "--longest-lease=3h"};
    Path store = Cinch.store(temp, wide);
    Cinch.on(store).run("log", "create", "jobs").ended(0);
    try (var append = new Forked("append", "--json", "--log=jobs", "--store=" + store)) {
      append.type("old\n");
      assertTrue(append.line().contains("COMMITTED"));
      Cinch cinch = replaced(store, wide);
      append.type("late\n");
      append.endInput();
      int code = append.await();
      String said = append.err();
      // At the turn of an hour it enters the next bucket, and is refused.
      assertTrue(code == 1 || code == 3, said);
      assertTrue(said.contains("store.json: expected store "), said);
      assertEquals("", cinch.run("cat", "--log=jobs", "--live").ended(0).out());
    }
  }

  /** The same store, and another log of the same name. */
  @Test
  void aLogThatWasMadeAnewIsAnotherOne() throws Exception {
    Path store = Cinch.quickStore(temp);
    Cinch cinch = Cinch.on(store);
    cinch.run("log", "create", "jobs").ended(0);
    try (var append = new Forked("append", "--json", "--log=jobs", "--store=" + store)) {
      append.type("old\n");
      String old = append.line();
      Files.move(store.resolve("logs/jobs"), temp.resolve("jobs"));
      cinch.run("log", "create", "jobs").ended(0);
      awaitNextBucket(old);
      append.type("late\n");
      String line = append.line();
      assertTrue(line.contains("jobs/identity: expected log "), line);
      append.endInput();
      append.ended(3);
      isSound(cinch);
    }
  }

  /** As where a mount has gone: nothing is made in the empty directory, and nothing is lost. */
  @Test
  void aCloserWaitsForAStoreThatIsAway() throws Exception {
    Path store = Cinch.quickStore(temp);
    Cinch cinch = Cinch.on(store);
    cinch.overdue("jobs", "old\n");
    try (var closer = new Forked("close", "--every=20ms", "--store=" + store)) {
      assertTrue(closer.line().contains("(record 1, 1 bucket closed)"));
      Path away = temp.resolve("away");
      Files.move(store, away);
      Files.createDirectory(store);
      String told; // of the round that it went in, or of the next one
      do {
        told = closer.errLine();
        assertNotEquals("null", told, "it ended");
      } while (!told.contains("store.json: no such file or directory"));
      try (Stream<Path> made = Files.list(store)) {
        assertEquals(List.of(), made.toList());
      }
      Files.delete(store);
      Files.move(away, store);
      cinch.appendBehind("more\n", "append", "--log=jobs");
      assertTrue(closer.line().contains("jobs: settled through"));
    }
    isSoundWith(cinch, "old\nmore\n");
  }

  private static void isSoundWith(Cinch cinch, String lines) {
    assertEquals(lines, cinch.run("cat", "--log=jobs", "--live").ended(0).out());
    assertTrue(cinch.run("verify").ended(0).out().contains("0 damaged"));
  }
}
