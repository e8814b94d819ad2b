package dev.cinch.cli.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.LogName;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.Forked;
import dev.cinch.cli.base.MachineNames;
import dev.cinch.lease.IsoTime;
import dev.cinch.lease.time.SystemTime;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What {@code cat} shows of a log's end, and says where it shows nothing. */
@Timeout(600) // who follows a log ends only when it is told to
final class CatCommandTest {
  @TempDir private Path temp;

  private static String cat(Cinch cinch, String... more) {
    String[] words = Arrays.copyOf(new String[] {"cat", "--log=jobs"}, 2 + more.length);
    System.arraycopy(more, 0, words, 2, more.length);
    return cinch.run(words).ended(0).out();
  }

  private static Forked follow(Path store, String... more) throws Exception {
    String[] words = {"cat", "--log=jobs", "--store=" + store, "--follow"};
    String[] all = Arrays.copyOf(words, words.length + more.length);
    System.arraycopy(more, 0, all, words.length, more.length);
    return Forked.endless(all);
  }

  /** Buckets, records and then segments are counted from the end. */
  @Test
  void theLastMessages() throws Exception {
    Cinch cinch = Cinch.on(Cinch.quickStore(temp));
    cinch.settled("jobs", "a\nb\n", Duration.ofMinutes(50));
    cinch.settled("jobs", "c\nd\n", Duration.ofMinutes(40));
    cinch.run("view", "build", "--wait=0s").ended(0);
    cinch.run("gc", "--retention=0s").ended(0);
    cinch.settled("jobs", "e\nf\n", Duration.ofMinutes(30));
    cinch.settled("jobs", "g\nh\n", Duration.ofMinutes(20));
    String all = "a\nb\nc\nd\ne\nf\ng\nh\n";
    for (int n = 0; n <= 9; n++) {
      String last = all.substring(Math.max(0, all.length() - 2 * n));
      assertEquals(last, cat(cinch, "--tail", "" + n));
      assertEquals(last, cat(cinch, "--tail", "" + n, "--live"));
    }
    assertEquals("d\n", cat(cinch, "--tail=1", "--to=-35m"));
    assertEquals("c\nd\n", cat(cinch, "--tail=5", "--from=-45m", "--to=-35m"));
    cinch.feed("i\n", "append", "--log=jobs").ended(0);
    assertEquals("h\n", cat(cinch, "--tail=1"));
    assertEquals("h\ni\n", cat(cinch, "--tail=2", "--live"));
    assertEquals(
        cat(cinch, "--json").lines().toList().get(7) + "\n", cat(cinch, "--json", "--tail=1"));
  }

  @Test
  void nothingThereIsExplainedOnATerminal() throws Exception {
    Cinch cinch = Cinch.on(Cinch.quickStore(temp));
    cinch.run("log", "create", "jobs").ended(0);
    assertEquals("", cinch.run("cat", "--log=jobs").ended(0).err(), "quiet in a pipe");
    cinch.onTerminal();
    assertSaid(cinch, "\"jobs\" has no messages");
    cinch.feed("a\n", "append", "--log=jobs").ended(0);
    String time = SystemTime.INSTANCE.wallNanos() + "";
    assertSaid(cinch, "nothing to print yet: nothing of \"jobs\" is settled yet");
    assertSaid(cinch, "run cinch close");
    String newest = IsoTime.text(Long.parseLong(time)).substring(0, 13);
    assertSaid(cinch, "its newest message is of " + newest);
    cinch.settle("jobs");
    assertEquals("a\n", cat(cinch));
    assertSaid(cinch, "no message is in that range; \"jobs\" is settled through ", "--to=-1h");
    assertSaid(cinch, "no message is in that range", "--live", "--to=-1h");
    Cinch.Ran view = cinch.run("view", "cat", "--log=jobs", "--to=-1h").ended(0);
    assertTrue(view.err().contains("no message is in that range"), view.err());
  }

  /** And what was waited for comes only once that is said. */
  @Test
  void whoeverFollowsAtATerminalIsToldWhatIsWaitedFor() throws Exception {
    Path store = Cinch.quickStore(temp);
    for (String which : List.of("--log=jobs", "--all")) {
      Cinch cinch = Cinch.on(store);
      cinch.appendBehind("a\n", "append", "--log=jobs");
      cinch.onTerminal().onNotice(() -> settle(cinch));
      Cinch.Ran ran = cinch.run("cat", which, "--follow", "--to=now").ended(0);
      assertTrue(ran.out().endsWith("a\n"), ran.out());
      List<String> lines = ran.err().lines().filter(l -> l.startsWith("cinch cat: ")).toList();
      assertEquals(1, lines.size(), ran.err());
      String said = lines.get(0);
      assertTrue(said.startsWith("cinch cat: waiting: "), said);
      assertTrue(said.contains("a closer has to run"), said);
    }
    Log log =
        Store.open(store, Store.Environment.of(MachineNames.ofHost(), SystemTime.INSTANCE))
            .log(new LogName("jobs"));
    String none = NothingThere.waits(log);
    assertTrue(none.endsWith(", and nothing was written since"), none);
  }

  private static void settle(Cinch cinch) {
    try {
      cinch.settle("jobs");
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private static void assertSaid(Cinch cinch, String text, String... more) {
    String[] words = Arrays.copyOf(new String[] {"cat", "--log=jobs"}, 2 + more.length);
    System.arraycopy(more, 0, words, 2, more.length);
    Cinch.Ran ran = cinch.run(words).ended(0);
    assertEquals("", ran.out());
    String said = ran.err().replaceAll("\\r.*?\\[K", "");
    assertTrue(said.startsWith("cinch cat: ") && said.contains(text), said);
    assertEquals(1, said.lines().count(), said);
  }

  @Test
  void followingBeginsNow() throws Exception {
    Path store = Cinch.quickStore(temp);
    Cinch cinch = Cinch.on(store);
    cinch.settled("jobs", "a\nb\nc\n", Duration.ofMinutes(20));
    try (Forked tail = follow(store, "--tail=2");
        Forked all = new Forked("cat", "--log=jobs", "--store=" + store, "--follow", "--from=0");
        Forked now = follow(store)) {
      assertEquals(List.of("b", "c"), List.of(tail.line(), tail.line()));
      assertEquals(List.of("a", "b", "c"), List.of(all.line(), all.line(), all.line()));
      now.awaitStack("CatCommand.follow"); // it knows where it begins
      cinch.settled("jobs", "d\n");
      for (Forked each : List.of(tail, all, now)) {
        assertEquals("d", each.line());
      }
      all.signalUntilItEnds("INT");
      assertEquals("", all.err());
    }
  }

  /** Each message once, though those that are not settled are read again and again. */
  @Test
  void followingWhatIsNotSettled() throws Exception {
    Path store = Cinch.quickStore(temp);
    Cinch cinch = Cinch.on(store);
    cinch.settled("jobs", "a\n", Duration.ofMinutes(20));
    cinch.overdue("jobs", "b\n");
    try (Forked now = follow(store, "--live");
        Forked tail = follow(store, "--live", "--tail=2")) {
      assertEquals(List.of("a", "b"), List.of(tail.line(), tail.line()));
      now.awaitStack("CatCommand.follow");
      cinch.appendBehind("c\n", "append", "--log=jobs");
      assertEquals("c", tail.line());
      assertEquals("c", now.line());
      cinch.run("close", "--through=-1m").ended(0);
      cinch.appendBehind("d\n", "append", "--log=jobs");
      assertEquals("d", tail.line());
      assertEquals("d", now.line());
    }
  }

  @Test
  void followingEndsWithTheLog() throws Exception {
    Path store = Cinch.quickStore(temp);
    Cinch cinch = Cinch.on(store);
    cinch.settled("jobs", "a\n", Duration.ofMinutes(20));
    cinch.overdue("jobs", "b\n");
    cinch.settled("other", "c\n", Duration.ofMinutes(10));
    try (Forked settled = follow(store, "--from=0");
        Forked all = new Forked("cat", "--all", "--store=" + store, "--follow", "--from=0");
        Forked live = follow(store, "--from=0", "--live")) {
      assertEquals("a", settled.line());
      assertEquals("a", all.line());
      assertEquals(List.of("a", "b"), List.of(live.line(), live.line()));
      cinch.run("log", "rm", "jobs", "--yes=jobs").ended(0);
      assertEquals("b", settled.line());
      for (Forked each : List.of(settled, live, all)) {
        each.ended(4);
        String err = each.err();
        assertTrue(err.startsWith("cinch cat: log \"jobs\" was removed at "), err);
      }
    }
  }
}
