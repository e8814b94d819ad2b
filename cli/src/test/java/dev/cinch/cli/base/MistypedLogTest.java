package dev.cinch.cli.base;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.cli.Cinch;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A slip in a log's name makes no log by accident, and names that are meant are not in the way. */
class MistypedLogTest {
  @TempDir Path temp;

  @Test
  void aMissingLogIsMadeAndThatIsSaid() {
    Path store = Cinch.store(temp);
    Cinch.Ran first = Cinch.on(store).feed("a\n", "append", "--log", "jobs").ended(0);
    assertEquals("cinch append: there was no log \"jobs\"; it was made\n", first.err());
    assertEquals("", Cinch.on(store).feed("b\n", "append", "--log", "jobs").ended(0).err());
  }

  @Test
  void aNearNameIsRefusedAndCreateInsists() {
    Path store = Cinch.store(temp);
    Cinch.on(store).feed("a\n", "append", "--log", "jobs").ended(0);
    Cinch.on(store)
        .feed("b\n", "append", "--log", "jbos")
        .failed(3, "no log \"jbos\", but there is \"jobs\"; --create makes it all the same");
    assertFalse(Files.exists(store.resolve("logs/jbos")));
    Cinch.on(store).feed("b\n", "append", "--log", "jbos", "--create").ended(0);
    assertTrue(Files.exists(store.resolve("logs/jbos/identity")));
    Cinch.on(store).feed("c\n", "append", "--log", "jbos").ended(0);
  }

  @Test
  void theCarefulMakeNoLogAndAreToldTheNearName() {
    Path store = Cinch.store(temp);
    Cinch.on(store).run("log", "create", "jobs").ended(0);
    Cinch.on(store)
        .feed("b\n", "append", "--log", "job", "--no-create")
        .failed(4, "there is no log \"job\"");
    Cinch.Ran ran = Cinch.on(store).feed("b\n", "append", "--log", "job", "--no-create");
    assertTrue(ran.err().endsWith("; there is \"jobs\"\n"), ran.err());
    Cinch.on(store).feed("b\n", "append", "--log", "jobs", "--no-create").ended(0);
    assertEquals(1, Cinch.on(store).run("cat", "--log", "jobs", "--live").out().lines().count());
  }

  @Test
  void nobodyIsSentToALogThatWasRemoved() {
    Path store = Cinch.quickStore(temp);
    Cinch.on(store).run("log", "create", "jobs").ended(0);
    Cinch.on(store).run("log", "rm", "jobs", "--yes=jobs").ended(0);
    Cinch.Ran ran = Cinch.on(store).feed("b\n", "append", "--log", "jobs", "--no-create").ended(4);
    assertTrue(ran.err().endsWith("its name is not used again\n"), ran.err());
    Cinch.on(store).feed("b\n", "append", "--log", "jbos").ended(0);
  }

  @Test
  void createMayRunEachTime() {
    Path store = Cinch.store(temp);
    assertEquals("jobs: made\n", Cinch.on(store).run("log", "create", "jobs").ended(0).out());
    String again = Cinch.on(store).run("log", "create", "jobs", "jbos").ended(0).out();
    assertEquals("jobs: is there\njbos: made\n", again);
    Cinch.on(store).run("log").failed(2, "name a command: create, rm");
    Cinch.on(store).run("log", "create").failed(2, "NAME");
    Cinch.on(store).run("log", "create", "more", "a/b").failed(2, "not a log name: \"a/b\"");
    Cinch.on(store).run("log", "create", "a/b", "more").failed(2, "not a log name: \"a/b\"");
    Cinch.on(store).run("lease", "acquire", "--server=http://x", "a", "").failed(2, "lease name");
    Cinch.on(store).run("log", "rm", "jbos", "--yes=jbos").ended(0);
    Cinch.on(store).run("log", "create", "more", "jbos").failed(4, "\"jbos\" was removed");
    assertEquals("jobs\n", Cinch.on(store).run("logs").out(), "refused before any was made");
  }

  @Test
  void aLogThatIsBeingMadeIsInNobodysWay() throws Exception {
    Path store = Cinch.store(temp);
    Cinch.on(store).run("log", "create", "jobs").ended(0);
    Files.createDirectory(store.resolve("logs/jbos"));
    Cinch.on(store).feed("b\n", "append", "--log", "jbos").ended(0);
  }

  @ParameterizedTest
  @CsvSource({
    "jbos,jobs",
    "job,jobs",
    "jobss,jobs",
    "jobx,jobs",
    "my-jobs,my_jobs",
    "myjobs,my-jobs",
    "orders.eu,orders-eu",
    "oder-evnets,order-events",
    "audit-2025,audti-2025",
    "resuts,results",
    "transactoins,transactions",
    "trnsactoins,transactions",
    "log,lgo",
    "ajobs,jobs"
  })
  void slips(String typed, String meant) {
    assertTrue(Nearest.isNear(typed, meant), typed);
    assertTrue(Nearest.isNear(meant, typed), meant);
  }

  @ParameterizedTest
  @CsvSource({
    "job-1,job-2",
    "job-1,job-11",
    "job1,job",
    "2026-11,2026-12",
    "jobs-1,job-2",
    "shard-a,shard-b",
    "eu,us",
    "orders-eu,orders-us",
    "in,out",
    "cat,car",
    "internal,external",
    "a,b",
    "ab,a",
    "orders-in,orders-out",
    "jobs,results",
    "1,2",
    "job-1-1,job-11"
  })
  void namesThatAreMeant(String one, String other) {
    assertFalse(Nearest.isNear(one, other), one);
    assertFalse(Nearest.isNear(other, one), other);
  }
}
