package dev.cinch.cli.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.cli.Cinch;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A copy that was made while a closer went on (operating.md, Backups). */
@SuppressWarnings("NullAway.Init")
class BackupTest {
  private static final String MISSING = "the records from number 2 on are missing";

  @TempDir Path temp;

  private Path store;
  private Path copy;

  @BeforeEach
  void copied() throws Exception {
    store = Cinch.quickStore(temp);
    copy = temp.resolve("copy");
    Cinch cinch = Cinch.on(store);
    cinch.settled("jobs", "one\n", Duration.ofMinutes(30));
    copy(store.resolve("logs/jobs/horizon"), copy.resolve("logs/jobs/horizon"));
    cinch.settled("jobs", "two\n", Duration.ofMinutes(20));
    cinch.overdue("jobs", "three\n");
    copy(store, copy);
  }

  /** What is there already stays as it is. */
  private static void copy(Path from, Path to) throws IOException {
    boolean horizon = Files.exists(to.resolve("logs/jobs/horizon"));
    try (Stream<Path> all = Files.walk(from)) {
      for (Path path : all.sorted().toList()) {
        Path there = to.resolve(from.relativize(path).toString());
        if (horizon && path.startsWith(from.resolve("logs/jobs/horizon"))) {
          continue;
        }
        if (Files.isDirectory(path)) {
          Files.createDirectories(there);
        } else {
          Files.copy(path, there);
        }
      }
    }
  }

  @Test
  void isSettledOnceMoreByWhoeverSaysThatItIsACopy() {
    Cinch cinch = Cinch.on(copy);
    assertEquals("one\n", cinch.run("cat", "--log=jobs").ended(0).out());
    for (String command : List.of("cat --log=jobs --live", "close")) {
      Cinch.Ran ran = cinch.run(command.split(" "));
      ran.failed(1, MISSING);
      assertTrue(ran.err().contains("close --restored"), ran.err());
    }
    assertTrue(cinch.run("verify").ended(1).out().contains(MISSING));
    assertTrue(cinch.run("close", "--restored").ended(0).out().contains("2 buckets closed"));
    assertEquals("one\ntwo\nthree\n", cinch.run("cat", "--log=jobs").ended(0).out());
    assertTrue(cinch.run("verify").ended(0).out().startsWith("intact"));
  }

  /** A seal may be listed where its record was not yet. */
  @Test
  void isSettledOnceMoreWhereItLacksARecordThatWasSealed() throws Exception {
    try (Stream<Path> all = Files.walk(store.resolve("logs/jobs/horizon/records"))) {
      for (Path record : all.filter(p -> p.endsWith("0000000002")).toList()) {
        Files.delete(record);
      }
    }
    Cinch cinch = Cinch.on(store);
    cinch.run("close").failed(1, "expected record 2, found no file");
    assertTrue(cinch.run("close", "--restored").ended(0).err().contains("ahead of the rest"));
    assertEquals("one\ntwo\nthree\n", cinch.run("cat", "--log=jobs").ended(0).out());
    assertTrue(cinch.run("verify").ended(0).out().startsWith("intact"));
  }

  @Test
  void isMadeAndRestoredByTheCommand() throws Exception {
    String dest = temp.resolve("backup").toString();
    Cinch cinch = Cinch.on(store);
    assertTrue(cinch.run("backup", dest).ended(0).out().contains("whole through"));
    Cinch backup = Cinch.on(Path.of(dest));
    assertEquals("one\ntwo\nthree\n", backup.run("cat", "--log=jobs").ended(0).out());
    backup.run("close", "--restored").failed(4, "cinch backup --restore");
    String second = cinch.run("backup", dest, "--json").ended(0).out();
    assertTrue(
        second.matches("(?s).*\"files\":[0-3],.*"), second); // a record of idle time, at most
    cinch.run("backup", store.resolve("inside").toString()).failed(2, "one in the other");
    cinch.run("backup", temp.toString()).failed(2, "one in the other");
    assertTrue(cinch.run("backup", "--restore", dest).ended(0).out().contains("can be written to"));
    cinch.run("backup", "--restore", dest).failed(3, "is no backup");
    cinch.run("backup", dest).failed(3, "was restored");
    assertTrue(backup.run("verify").ended(0).out().startsWith("intact"));
  }
}
