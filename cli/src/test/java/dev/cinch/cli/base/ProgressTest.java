package dev.cinch.cli.base;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.cli.Cinch;
import dev.cinch.lease.time.TimeSource;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Long work is seen to go on, on a terminal and nowhere else. */
class ProgressTest {
  @TempDir Path temp;

  private long clock;

  private final TimeSource time =
      new TimeSource() {
        @Override
        public long wallNanos() {
          throw new AssertionError("only the monotonic clock is asked");
        }

        @Override
        public long monotonicNanos() {
          return clock;
        }

        @Override
        public void sleepNanos(long nanos) {
          throw new AssertionError("nobody waits for it");
        }
      };

  private static Io io(boolean terminal, OutputStream err) {
    return new Io(
        InputStream.nullInputStream(),
        OutputStream.nullOutputStream(),
        new PrintStream(err, true, StandardCharsets.UTF_8),
        name -> null,
        terminal,
        false,
        Stop.byHand());
  }

  private String shown(boolean terminal) {
    var err = new ByteArrayOutputStream();
    var progress = new Progress(io(terminal, err), time);
    progress.end();
    for (clock = 0; clock <= 400_000_000; clock += 100_000_000) {
      progress.show(clock / 100_000_000, " things");
    }
    progress.end();
    return err.toString(StandardCharsets.UTF_8);
  }

  @Test
  void aCountNowAndThenAndAnEmptyLineAtTheEnd() {
    String clear = "\r\033[K";
    assertEquals(clear + "0 things" + clear + "2 things" + clear + "4 things" + clear, shown(true));
    assertEquals("", shown(false));
  }

  @Test
  void whatIsLeftGoesByWhatWasDone() {
    var err = new ByteArrayOutputStream();
    var progress = new Progress(io(true, err), time);
    progress.show(0, 0, " things");
    for (long count : new long[] {10, 20, 190}) {
      clock += 1_000_000_000;
      progress.show(count, 200, " things");
    }
    progress.end();
    assertEquals(
        "0 things|10 of 200 things|20 of 200 things, about 19 s left"
            + "|190 of 200 things, about 1 s left|",
        err.toString(StandardCharsets.UTF_8).substring(4).replace("\r\033[K", "|"));
    progress.show(1, 1 << 30, " things");
    clock += 60_000_000_000L;
    progress.show(200, 1 << 30, " things");
    assertTrue(err.toString(StandardCharsets.UTF_8).endsWith(" min left"));
  }

  private String waited(boolean terminal) {
    var err = new ByteArrayOutputStream();
    clock = -7;
    var wait = new LongWait(io(terminal, err), "cinch", () -> clock);
    for (int i = 0; i < 10; i++) {
      clock += 500_000_000;
      wait.goesOn(() -> "waits since " + (clock + 7));
    }
    return err.toString(StandardCharsets.UTF_8);
  }

  @Test
  void whatIsWaitedForIsSaidOnceAfterTwoSeconds() {
    assertEquals("cinch: waits since 2000000000\n", waited(true));
    assertEquals("", waited(false));
  }

  @Test
  void commandsThatMayTakeLongShowIt() throws Exception {
    Path store = Cinch.quickStore(temp);
    Cinch pipe = Cinch.on(store);
    Cinch terminal = Cinch.on(store).onTerminal();
    pipe.settled("jobs", "a\nb\n");
    shows(pipe, terminal, "1 messages", "cat", "--log=jobs");
    shows(pipe, terminal, " messages audited", "audit");
    shows(pipe, terminal, " files, 0 MiB verified", "verify");
    assertTrue(
        terminal.run("view", "build", "--wait=0s").ended(0).err().contains("2 messages of jobs"));
    assertTrue(
        terminal.run("gc", "--retention=0s").ended(0).err().contains("1 buckets and records"));
    pipe.overdue("due", "a\n");
    Cinch.Ran closed = terminal.run("close").ended(0);
    assertTrue(closed.err().contains("1 buckets of due"), closed.err());
    assertTrue(closed.out().contains("1 bucket closed"), closed.out());
    pipe.overdue("due", "b\n");
    assertEquals("", pipe.run("close").ended(0).err());
    pipe.settled("other", "a\n");
    assertEquals("", pipe.run("view", "build", "--wait=0s").ended(0).err());
    assertEquals("", pipe.run("gc", "--retention=0s").ended(0).err());
  }

  private static void shows(Cinch pipe, Cinch terminal, String text, String... command) {
    String err = terminal.run(command).ended(0).err();
    assertTrue(err.contains(text), err);
    assertEquals("", pipe.run(command).ended(0).err());
  }
}
