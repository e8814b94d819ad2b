package dev.cinch.cli.store;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Store;
import dev.cinch.bag.model.LogName;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.base.MachineNames;
import dev.cinch.lease.time.SystemTime;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A log whose maker died before it had an id stops nobody who works on the others. */
class HalfMadeLogTest {
  @TempDir Path temp;

  @Test
  void stopsNobody() throws Exception {
    Path store = Cinch.quickStore(temp);
    Cinch cinch = Cinch.on(store);
    cinch.feed("text\n", "append", "--log=jobs").ended(0);
    Files.createDirectory(store.resolve("logs/aborted"));
    cinch.settle("jobs");
    cinch.run("close").ended(0);
    cinch.run("view", "build", "--wait=0s").ended(0);
    cinch.run("gc", "--retention=1d").ended(0);
    cinch.run("audit").ended(0);
    assertTrue(cinch.run("close", "--log=aborted").ended(4).err().contains("there is no log"));
    var environment = Store.Environment.of(MachineNames.ofHost(), SystemTime.INSTANCE);
    Store opened = Store.open(store, environment);
    assertTrue(
        opened.whole(opened.freshLogs()).stream().allMatch(l -> l.name().value().equals("jobs")));
    cinch.feed("text\n", "append", "--log=aborted").ended(0); // makes it whole
    assertTrue(opened.whole(opened.freshLogs()).size() == 2);
    Files.delete(store.resolve("logs/jobs/identity"));
    cinch.run("close").failed(4, "there is no log \"jobs\""); // it has buckets: it was lost
    assertTrue(opened.log(new LogName("aborted")).name().value().equals("aborted"));
  }
}
