package dev.cinch.cli.lease;

import static java.nio.file.StandardWatchEventKinds.ENTRY_CREATE;
import static java.nio.file.StandardWatchEventKinds.ENTRY_DELETE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.cinch.bag.model.LogName;
import dev.cinch.cli.base.Failure;
import dev.cinch.lease.Id;
import dev.cinch.lease.client.ServerAddresses;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.nio.file.WatchEvent;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Rule L14: the account of a grant that several processes hold. */
@Timeout(600)
@SuppressWarnings("NullAway.Init")
class GrantDirectoryTest {
  @TempDir Path temp;

  private GrantDirectory grant;

  @BeforeEach
  void make() throws IOException {
    grant =
        GrantDirectory.make(
            new Id(0, 1),
            ServerAddresses.parse("http://h:1,http://h:2"),
            Duration.ofMinutes(1),
            name -> temp.toString());
  }

  /** What happened in the directory until a name was made there, in order. */
  private List<String> until(WatchService watch, String made) throws InterruptedException {
    var seen = new ArrayList<String>();
    while (!seen.contains(made)) {
      WatchKey key = watch.take();
      for (WatchEvent<?> event : key.pollEvents()) {
        String name = String.valueOf(event.context()).replaceAll("-.*", "");
        seen.add((event.kind() == ENTRY_CREATE ? "+" : "-") + name);
      }
      boolean unused = key.reset();
    }
    return seen;
  }

  @Test
  void l14_nobodyBeginsWhileTheLeasesAreGivenBack() throws Exception {
    assertEquals(0, grant.close().open());
    assertThrows(Failure.Refusal.class, () -> grant.use());
    grant.reopen();
    grant.use().unused();
    grant.remove();
    assertThrows(Failure.Refusal.class, () -> grant.use());
  }

  /** Of two each would take the other's lines for its own. */
  @Test
  void oneAppendAtATimeGoesOnWithItsInputInALog() throws Exception {
    var log = new LogName("jobs");
    try (Closeable unused = grant.resuming(log);
        Closeable unusedToo = grant.resuming(new LogName("other"))) {
      assertEquals(
          "another append goes on with its input in log \"jobs\" under the same grant; run one after the other, or under leases of their own",
          assertThrows(Failure.Refusal.class, () -> grant.resuming(log)).getMessage());
    }
    grant.resuming(log).close();
    grant.remove();
    assertThrows(Failure.Refusal.class, () -> grant.resuming(log));
  }

  /** Else it could look before the mark is made, and be missing when entries are looked for. */
  @Test
  void l14_aProcessMakesItsEntryBeforeItLooksForTheMark() throws Exception {
    assertEquals(0, grant.close().open());
    try (WatchService watch = grant.path().getFileSystem().newWatchService()) {
      WatchKey unused = grant.path().register(watch, ENTRY_CREATE, ENTRY_DELETE);
      assertThrows(Failure.Refusal.class, () -> grant.use());
      grant.reopen();
      assertEquals(0, grant.close().open()); // makes the mark anew
      assertEquals(List.of("+use", "-use", "-given", "+given"), until(watch, "+given"));
    }
  }

  @Test
  void l14_whatItWroteStandsBeforeItsEntryGoes() throws Exception {
    GrantDirectory.Use one = grant.use();
    GrantDirectory.Use other = grant.use();
    GrantDirectory.Use third = grant.use();
    assertEquals(3, grant.close().open());
    grant.reopen();
    try (WatchService watch = grant.path().getFileSystem().newWatchService()) {
      WatchKey unused = grant.path().register(watch, ENTRY_CREATE, ENTRY_DELETE);
      one.ended(OptionalLong.of(5), 2);
      other.ended(OptionalLong.of(4), 3);
      third.ended(OptionalLong.empty(), 2);
      var uses = new GrantDirectory.Uses(0, OptionalLong.of(5), Set.of(2L, 3L));
      assertEquals(uses, grant.close());
      assertEquals(
          List.of("+wrote", "-use", "+wrote", "-use", "+wrote", "-use", "+given"),
          until(watch, "+given"));
    }
  }
}
