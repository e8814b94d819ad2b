package dev.cinch.cli.append;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.cli.Cinch;
import dev.cinch.cli.Served;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** An append that is begun again with the same input, and with others. */
@Timeout(600)
class ResumptionTest {
  private static final String[] APPEND = {"append", "--log=jobs", "--lease=job/1", "--resume"};

  @TempDir Path temp;

  private Served served;
  private Cinch cinch;

  @BeforeEach
  void serve() throws Exception {
    served = new Served(temp);
    cinch = served.cinch;
    cinch.run("log", "create", "jobs").ended(0);
  }

  @AfterEach
  void end() throws Exception {
    served.close();
  }

  private String log() throws Exception {
    cinch.settle("jobs");
    return cinch.run("cat", "--log=jobs").ended(0).out();
  }

  @Test
  void whatIsThereIsLeftOut() throws Exception {
    assertEquals("", cinch.feed("a\nb\nb\n", APPEND).ended(0).err());
    cinch.feed("another's\n", "append", "--log=jobs", "--lease=job/2").ended(0);
    cinch.feed("nobody's\n", "append", "--log=jobs").ended(0);
    String said = cinch.feed("a\nb\nb\n\nc\n", APPEND).ended(0).err();
    assertEquals("cinch append: 2 messages committed; 3 were there before\n", said);
    assertEquals("a\nb\nb\nanother's\nnobody's\n\nc\n", log());
    List<String> receipts =
        cinch.feed("a\nb\nb\n\nc\n", with("--json")).ended(0).out().lines().toList();
    assertEquals(5, receipts.size());
    assertTrue(
        receipts.get(4).startsWith("{\"line\":5,\"state\":\"COMMITTED\",\"earlier\":true,\"id\""),
        receipts.get(4));
    assertEquals("a\nb\nb\nanother's\nnobody's\n\nc\n", log());
  }

  @Test
  void anotherInputIsRefusedBeforeAnythingIsWritten() throws Exception {
    cinch.feed("a\nb\nc\n", APPEND).ended(0);
    cinch.feed("a\nx\nc\nd\n", APPEND).failed(3, "line 2 of the input is not the message of 20");
    cinch.feed("", APPEND).failed(3, "the input ends before the message of 20");
    cinch.feed("a\nb\n", APPEND).failed(3, "this is not the input that was begun");
    cinch.feed("b\nc\nd\n", APPEND).failed(3, "line 1 of the input is not");
    cinch.feed("a\nb\ncc\n", APPEND).failed(3, "line 3 of the input is not");
    assertEquals("a\nb\nc\n", log());
  }

  /** Or the input would go on behind a hole. */
  @Test
  void nothingIsAppendedBehindALineThatIsTooLong() throws Exception {
    String input = "a\n" + "x".repeat(2 << 20) + "\nb\n";
    for (int start = 0; start < 2; start++) {
      cinch
          .feed(input, APPEND)
          .failed(3, "2 of ")
          .failed(3, "(lines 2, 3): the message has 2097152");
    }
    assertEquals("a\n", log());
    cinch.appendBehind("a\nb\n", APPEND);
    assertEquals("a\nb\n", log());
  }

  /** Its writer may be at it still, or was killed. */
  @Test
  void aLineWithoutAnEndIsLeftOutUntilItIsWhole() throws Exception {
    String said = cinch.feed("one\ntw", with("--json")).failed(3, "(line 2): the input ends").out();
    assertTrue(said.contains("\"line\":2,\"state\":\"REFUSED\""), said);
    cinch.feed("one\ntw", APPEND).failed(3, "1 of 1 messages not appended (line 2)");
    cinch.feed("one\ntwo\nthree\n", APPEND).ended(0);
    assertEquals("one\ntwo\nthree\n", log());
  }

  @Test
  void nothingOfALaterFileIsAppendedBehindIt() throws Exception {
    Path first = Files.writeString(temp.resolve("first"), "a\nb");
    Path second = Files.writeString(temp.resolve("second"), "c\n");
    var append = new ArrayList<>(List.of(APPEND));
    append.addAll(List.of(first.toString(), second.toString()));
    String[] both = append.toArray(new String[0]);
    cinch.run(both).failed(3, "1 of 2 messages not appended (line " + first + ":2)");
    assertEquals("a\n", log());
    Files.writeString(first, "a\nb\n");
    cinch.appendBehind("", both);
    assertEquals("a\nb\nc\n", log());
  }

  @Test
  void whoeverSaysThatTheInputIsCompleteHasItsLastLine() throws Exception {
    cinch.feed("a\nb", with("--complete")).ended(0);
    cinch.feed("a\nb", with("--complete")).ended(0);
    cinch.feed("a\nb", APPEND).ended(0); // it is there
    cinch.feed("a\nb", with("-0")).failed(3, "line 1 of the input is not");
    assertEquals("a\nb\n", log());
    cinch.feed("a", with("--whole")).failed(3, "the input ends before");
    cinch.feed("x", "append", "--log=jobs", "--complete").failed(2, "--complete is for --resume");
  }

  @Test
  void aFileThatIsOneMessageNeedsNoEnd() throws Exception {
    cinch.feed("a\nb", with("--whole")).ended(0);
    cinch.feed("a\nb", with("--whole")).ended(0);
    assertEquals("a\nb\n", log());
  }

  @Test
  void aNulThatIsMissingIsAnEndThatIsMissing() throws Exception {
    cinch.feed("a\0b", with("-0")).failed(3, "(line 2): the input ends within it");
    cinch.feed("a\0b\0", with("-0")).ended(0);
    assertEquals("a\nb\n", log());
  }

  @Test
  void underTheGrantOfLeaseRunToo() throws Exception {
    String said = cinch.run("lease", "acquire", "--for=60s", "--export", "job/1").out();
    cinch.with("CINCH_GRANT", said.split("'", -1)[1]);
    String[] append = {"append", "--log=jobs", "--resume"};
    cinch.feed("a\nb\n", append).ended(0);
    cinch.feed("a\nx\n", append).failed(3, "line 2 of the input");
    cinch.feed("a\nb\nc\n", append).ended(0);
    assertEquals("a\nb\nc\n", log());
    cinch.run("lease", "release").ended(0);
    assertTrue(cinch.run("lease", "show", "--json", "job/1").out().contains("RELEASED"));
  }

  @Test
  void whatExpiredMayHaveBeenOfTheInput() throws Exception {
    cinch.settled("old", "x\n", Duration.ofMinutes(50));
    cinch.run("view", "build", "--wait=0s", "--log=old").ended(0);
    cinch.settled("old", "y\n");
    cinch.run("view", "build", "--wait=0s", "--log=old").ended(0);
    cinch.run("gc", "--retention=0s", "--log=old").ended(0);
    cinch.run("expire", "--keep=30m", "--log=old").ended(0);
    String[] append = {"append", "--log=old", "--lease=job/1", "--resume"};
    cinch.feed("a\n", append).ended(0); // nobody had the lease before
    cinch.feed("a\nb\n", append).failed(3, "say with --since when it was begun");
    cinch
        .feed("a\nb\n", "append", "--log=old", "--lease=job/1", "--resume", "--since=-5m")
        .ended(0);
    cinch.settle("old");
    assertTrue(cinch.run("cat", "--log=old").ended(0).out().endsWith("y\na\nb\n"));
  }

  @Test
  void itTakesALease() throws Exception {
    String[] without = {"append", "--log=jobs", "--resume"};
    cinch.feed("a\n", without).failed(2, "--resume needs a lease: name one with --lease");
    String[] alone = {"append", "--log=jobs", "--lease=l", "--since=-1h"};
    cinch.feed("a\n", alone).failed(2, "--since is for --resume");
    cinch.feed("a\n", with("--since=+1h")).failed(2, " is in the future: all lines would go in");
  }

  private static String[] with(String option) {
    String[] all = Arrays.copyOf(APPEND, APPEND.length + 1);
    all[APPEND.length] = option;
    return all;
  }

  /** A file that is read while it is compared, block by block. */
  @Test
  void moreLinesThanGoIntoOneRead() throws Exception {
    var input = new StringBuilder();
    for (int i = 0; i < 60_000; i++) {
      input.append("a line with the number ").append(i).append('\n');
    }
    Path file = Files.writeString(temp.resolve("input"), input);
    String begin = input.substring(0, input.indexOf("number 34567\n"));
    cinch.feed(begin.substring(0, begin.lastIndexOf('\n') + 1), APPEND).ended(0);
    String said = cinch.run(with(file.toString())).ended(0).err();
    assertEquals("cinch append: 25433 messages committed; 34567 were there before\n", said);
    assertEquals(input.toString(), log());
  }
}
