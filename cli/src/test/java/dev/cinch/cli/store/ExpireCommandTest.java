package dev.cinch.cli.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.cli.Cinch;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Messages that are deleted on purpose: what goes is told, and what is asked for and gone. */
class ExpireCommandTest {
  @TempDir Path temp;

  private Cinch cinch;

  @BeforeEach
  void twoSegments() throws Exception {
    cinch = Cinch.on(Cinch.quickStore(temp));
    cinch.settled("jobs", "one\ntwo\n", Duration.ofMinutes(50));
    cinch.run("view", "build", "--wait=0s").ended(0);
    cinch.settled("jobs", "three\n");
    cinch.run("view", "build", "--wait=0s").ended(0);
  }

  @Test
  void whatExpiredIsGoneAndReadsThatAskForItSaySo() {
    Cinch.Ran early = cinch.run("expire", "--log=jobs", "--keep=30m").ended(0);
    assertTrue(early.err().contains("stay until gc covers a later segment"), early.err());
    cinch.run("gc", "--retention=0s").ended(0);
    String dry = cinch.run("expire", "--log=jobs", "--keep=30m", "--dry-run").ended(0).out();
    assertTrue(dry.contains("would delete ") && dry.contains("segments/0000000001\n"), dry);
    assertEquals("one\ntwo\nthree\n", cinch.run("cat", "--log=jobs").out());
    String gone = cinch.run("expire", "--log=jobs", "--keep=30m").ended(0).out();
    assertTrue(
        gone.matches("jobs: deleted 1 segments \\(\\d+ bytes\\); nothing before .*Z is kept\n"),
        gone);
    Cinch.Ran all = cinch.run("cat", "--log=jobs").ended(0);
    assertEquals("three\n", all.out());
    assertEquals("", all.err());
    for (String[] command :
        new String[][] {
          {"cat", "--log=jobs", "--from=-1h"},
          {"cat", "--log=jobs", "--from=-1h", "--live"},
          {"view", "cat", "--log=jobs", "--from=-1h"}
        }) {
      Cinch.Ran ran = cinch.run(command).ended(0);
      assertEquals("three\n", ran.out());
      assertTrue(
          ran.err()
              .matches("cinch (view )?cat: what was written before .*Z expired, and is gone\n"),
          ran.err());
    }
    assertEquals("", cinch.run("cat", "--log=jobs", "--from=-20m").ended(0).err());
    String verified = cinch.run("verify").ended(0).out();
    assertTrue(verified.contains(" 1 messages; 0 damaged"), verified);
    cinch.run("audit").ended(0);
    assertEquals("three\n", cinch.run("salvage", "--log=jobs").ended(0).out());
    assertEquals("", cinch.run("expire", "--log=jobs", "--keep=30m").ended(0).out());
  }

  @Test
  void nothingToDoIsSaidOnATerminal() {
    String[][] commands = {
      {"expire", "--log=jobs", "--keep=1d"},
      {"expire", "--log=jobs", "--keep=1d", "--dry-run"},
      {"gc", "--retention=1d"},
      {"close"}
    };
    cinch.run("close", "--now").ended(0);
    cinch.run("close").ended(0);
    for (String[] command : commands) {
      Cinch.Ran ran = cinch.run(command).ended(0);
      assertEquals("", ran.out() + ran.err(), "quiet in a pipe");
    }
    cinch.onTerminal();
    for (String[] command : commands) {
      Cinch.Ran ran = cinch.run(command).ended(0);
      String start = command[0].equals("close") ? "nothing to settle: " : "nothing to delete: ";
      assertEquals("", ran.out());
      assertTrue(ran.err().startsWith("cinch " + command[0] + ": " + start), ran.err());
      assertEquals(1, ran.err().lines().count(), ran.err());
    }
    String blocked = cinch.run("expire", "--log=jobs", "--keep=30m").ended(0).err();
    assertEquals(1, blocked.lines().count(), blocked);
    cinch.run("gc", "--retention=0s").ended(0);
    String gone = cinch.run("expire", "--log=jobs", "--keep=30m").ended(0).err();
    assertEquals("", gone, "what was done is printed");
  }

  @Test
  void gcKeepsMessagesUnlessItIsTold() {
    cinch.run("gc", "--retention=0s").ended(0);
    assertEquals("one\ntwo\nthree\n", cinch.run("cat", "--log=jobs").out());
    String gone = cinch.run("gc", "--retention=0s", "--keep=30m").ended(0).out();
    assertTrue(gone.contains("jobs: deleted 1 segments"), gone);
    assertEquals("three\n", cinch.run("cat", "--log=jobs").out());
  }

  @Test
  void misuse() {
    cinch.run("expire", "--keep=1d").failed(2, "Missing required option: '--log=NAME'");
    cinch.run("expire", "--log=jobs").failed(2, "Missing required option: '--keep=DURATION'");
    String help = cinch.run("help", "expire").out();
    assertTrue(help.matches("(?s).* --keep=DURATION\\s+--log=NAME .*"), help);
    cinch.run("expire", "--log=jobs", "--keep=-1d").failed(2, "not negative");
    cinch.run("gc", "--retention=1d", "--keep=-1d").failed(2, "not negative");
    cinch.run("expire", "--log=none", "--keep=1d").failed(4, "there is no log");
  }
}
