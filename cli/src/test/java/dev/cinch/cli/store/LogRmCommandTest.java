package dev.cinch.cli.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Store;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.store.StoreInstances;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.Served;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.witness.SigningKey;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A log that is removed on purpose. */
class LogRmCommandTest {
  @TempDir Path temp;

  private Path store;
  private Cinch cinch;

  @BeforeEach
  void twoLogs() {
    store = Cinch.quickStore(temp);
    cinch = Cinch.on(store);
    cinch.feed("one\n", "append", "--log=wrong").ended(0);
    cinch.feed("two\n", "append", "--log=jobs").ended(0);
  }

  @Test
  void itIsGoneForEveryoneAndItsNameIsNotUsedAgain() {
    String out = cinch.run("log", "rm", "wrong", "--yes=wrong").ended(0).out();
    assertEquals("wrong: removed; its files go with the first cinch gc in a day\n", out);
    cinch.run("cat", "--log=wrong").failed(4, "log \"wrong\" was removed at 2");
    cinch.run("cat", "--log=wrong", "--live").failed(4, "was removed at");
    cinch.feed("x\n", "append", "--log=wrong").failed(4, "its name is not used again");
    cinch.feed("x\n", "append", "--log=wrong", "--create").failed(4, "was removed at");
    cinch.run("log", "create", "wrong").failed(4, "was removed at");
    cinch.run("close", "--log=wrong").failed(4, "was removed at");
    assertTrue(
        cinch.run("log", "rm", "wrong", "--yes=wrong").ended(0).err().contains("was removed"));
    cinch.run("close", "--trust-clock").ended(0);
    cinch.run("view", "build", "--wait=0s").ended(0);
    assertEquals("", cinch.run("gc", "--retention=1d").ended(0).out()); // not for a day
    cinch.run("verify").ended(0);
    cinch.run("audit").ended(0);
    assertFalse(cinch.run("doctor", store.toString()).out().contains("no identity yet"));
    assertEquals("jobs\n", cinch.run("logs").ended(0).out());
    assertFalse(cinch.run("status").ended(0).out().contains("wrong"));
    assertEquals("two\n", cinch.run("cat", "--log=jobs", "--live").ended(0).out());
    cinch.feed("three\n", "append", "--log=others").ended(0);
  }

  @Test
  void aLogThatIsGoneIsNoRemovedOne() throws Exception {
    try (var all = Files.walk(store.resolve("logs/wrong"))) {
      for (Path path : all.sorted(java.util.Comparator.reverseOrder()).toList()) {
        Files.delete(path);
      }
    }
    Cinch.Ran status = cinch.run("status").ended(1);
    assertTrue(status.out().contains("wrong: its directory is gone"), status.out());
    assertTrue(cinch.run("verify").ended(1).out().contains("which log-names lists"));
    cinch.feed("x\n", "append", "--log=wrong").failed(4, "is gone, and log-names lists it");
  }

  @Test
  void itAsksForTheNameTwice() {
    cinch.run("log", "rm", "wrong").failed(2, "--yes wrong");
    cinch.run("log", "rm", "wrong", "--yes=jobs").failed(2, "names another log");
    Cinch terminal = Cinch.on(store).onTerminal();
    for (String answers : new String[] {"", "\n", "jobs\n", "wrong\njobs\n", "wrong\n"}) {
      Cinch.Ran ran = terminal.feed(answers, "log", "rm", "wrong").ended(3);
      assertTrue(ran.err().contains("nothing was removed"), ran.err());
    }
    assertEquals("one\n", cinch.run("cat", "--log=wrong", "--live").ended(0).out());
    terminal.feed("wrong\nwrong\n", "log", "rm", "wrong").ended(0);
    cinch.run("cat", "--log=wrong").failed(4, "was removed");
  }

  @Test
  void aLogThatALeaseMayNameStays() throws Exception {
    try (var served = new Served(Files.createDirectory(temp.resolve("served")))) {
      Cinch other = served.cinch;
      other.feed("a\n", "append", "--log=wrong", "--lease=jobs/1").ended(0);
      other.run("lease", "acquire", "--for=60s", "jobs/1").ended(0);
      other
          .run("log", "rm", "wrong", "--yes=wrong", "--server=" + served.uri())
          .failed(3, "names log wrong");
      var opened =
          Store.open(store, Store.Environment.of(new MachineName("ended"), SystemTime.INSTANCE));
      var instance = new StoreInstances(opened.context(), SigningKey.generate());
      assertEquals(1, instance.takeNumber());
      assertTrue(instance.publishCeiling(9_000_000_000_000_000_000L));
      cinch.run("log", "rm", "wrong", "--yes=wrong").failed(3, "leases may be held until 2255-");
    }
  }

  @Test
  void whereWritersDoNotLookItIsRefused() throws Exception {
    Path late = Cinch.store(Files.createDirectory(temp.resolve("late")), "--confirm=late");
    Cinch.on(late).run("log", "create", "jobs").ended(0);
    Cinch.on(late).run("log", "rm", "jobs", "--yes=jobs").failed(3, "confirms late");
    assertFalse(Files.exists(late.resolve("logs/jobs/removed")));
  }
}
