package dev.cinch.cli.append;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.cli.Cinch;
import dev.cinch.cli.Main;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.Stop;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A log to which nobody appends gets a record now and then, and not each round (rule H9). */
@Timeout(600)
class IdleCloseTest {
  @TempDir Path temp;

  @Test
  void anIdleLogRestsUntilSomebodyAppendsOrItIsAskedFor() throws Exception {
    Cinch cinch = Cinch.on(Cinch.quickStore(temp));
    cinch.settled("jobs", "old\n"); // ten minutes ago
    String settled = "jobs: settled through \\S+ \\(record %d, %d buckets? closed\\)\n";
    String idle = cinch.run("close").ended(0).out();
    assertTrue(idle.matches(settled.formatted(2, 0)), idle); // the ten minutes since
    assertEquals("", cinch.run("close").ended(0).out());
    assertEquals("", cinch.run("close", "--log=jobs").ended(0).out());
    String now = "";
    while (now.isEmpty()) { // until the next bucket is over
      now = cinch.run("close", "--now").ended(0).out();
    }
    assertTrue(now.matches(settled.formatted(3, 0)), now);
    cinch.appendBehind("new\n", "append", "--log=jobs");
    String bucket = "";
    while (!bucket.contains(
        "1 bucket closed")) { // what --now settled was short, and so is the rest
      bucket = cinch.run("close").ended(0).out();
    }
    assertEquals("old\nnew\n", cinch.run("cat", "--log=jobs").ended(0).out());
  }

  /** Its reader leaves after so many rounds. */
  private static final class Leaving extends OutputStream {
    final ByteArrayOutputStream said = new ByteArrayOutputStream();
    private int rounds = 50;

    @Override
    public void write(int b) {
      said.write(b);
    }

    @Override
    public void flush() throws IOException {
      if (rounds-- == 0) {
        throw new IOException("Broken pipe");
      }
    }
  }

  @Test
  void everyLooksAtAnIdleLogAndWritesNothing() throws Exception {
    Path store = Cinch.quickStore(temp);
    Cinch.on(store).settled("jobs", "old\n");
    var out = new Leaving();
    var err = new ByteArrayOutputStream();
    var io =
        new Io(
            new ByteArrayInputStream(new byte[0]),
            out,
            new PrintStream(err, true, StandardCharsets.UTF_8),
            name -> null,
            false,
            false,
            Stop.byHand());
    int code = Main.run(new String[] {"close", "--every=1ms", "--store=" + store}, io);
    assertEquals(ExitCode.UNAVAILABLE, code, err.toString(StandardCharsets.UTF_8));
    assertEquals(1, out.said.toString(StandardCharsets.UTF_8).lines().count());
  }
}
