package dev.cinch.cli.append;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.Forked;
import dev.cinch.lease.time.SystemTime;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Messages and places that are unusual, and lose nothing. */
@Timeout(600)
class InputsTest {
  @TempDir Path temp;

  @Test
  void newlinesAndNulsWithinAMessageSurviveJson() throws Exception {
    Path root = Cinch.quickStore(temp);
    byte[] payload = "a\nb\0c\r\n\n".getBytes(StandardCharsets.UTF_8);
    Store store = Store.open(root, Store.Environment.of(new MachineName("m"), SystemTime.INSTANCE));
    try (LogWriter writer = store.createLog(new LogName("jobs")).writer(Durability.SYNC)) {
      assertTrue(writer.append(payload) instanceof Receipt.Committed);
      assertTrue(writer.append(new byte[0]) instanceof Receipt.Committed);
    }
    Cinch cinch = Cinch.on(root);
    List<String> lines =
        cinch.run("cat", "--log=jobs", "--live", "--format=json").ended(0).out().lines().toList();
    assertEquals(2, lines.size());
    String text = new ObjectMapper().readTree(lines.get(0)).get("payload").textValue();
    assertArrayEquals(payload, text.getBytes(StandardCharsets.UTF_8));
    assertEquals("", new ObjectMapper().readTree(lines.get(1)).get("payload").textValue());
    assertEquals("a\nb\0c\r\n\n\n\n", cinch.run("cat", "--log=jobs", "--live").ended(0).out());
  }

  private String file(String name, String content) throws IOException {
    return Files.writeString(temp.resolve(name), content).toString();
  }

  @Test
  void anInputEndsAtItsLastLine() throws Exception {
    Cinch cinch = Cinch.on(Cinch.quickStore(temp));
    String[] append = {"append", "--log=jobs", "--json", "--end=END"};
    String receipts = cinch.feed("a\nENDS\n\nEND\nb\nEND\n", append).ended(0).out();
    assertEquals(3, receipts.lines().count(), receipts);
    for (String cut : List.of("c\nEN", "c\nEND", "c\n")) {
      Cinch.Ran ran = cinch.feed(cut, append).failed(3, "before the line that --end names");
      assertTrue(ran.out().startsWith("{\"line\":1,\"state\":\"COMMITTED\""), ran.out());
      assertEquals(1, ran.out().lines().count(), ran.out());
    }
    String all = cinch.run("cat", "--log=jobs", "--live").ended(0).out();
    assertEquals("a\nENDS\n\nc\nc\nc\n", all);
    cinch.run("append", "--log=jobs", "--end=END", "--whole").failed(2, "one input of lines");
    cinch.run("append", "--log=jobs", "--end=END", "a", "b").failed(2, "one input of lines");
  }

  @Test
  void filesAreReadInOrderAndTheirLinesAreTold() throws Exception {
    Cinch cinch = Cinch.on(Cinch.quickStore(temp));
    cinch.run("log", "create", "jobs").ended(0);
    String one = file("one", "a\nb"); // its last line is one all the same
    String none = file("none", "");
    String two = file("two", "c\n" + "x".repeat(2 << 20) + "\nd\n");
    String[] append = {"append", "--log=jobs", "--json", one, none, "-", two};
    Cinch.Ran ran = cinch.feed("in\n", append).ended(3);
    assertTrue(
        ran.err().contains("1 of 6 messages not appended (line " + two + ":2): "), ran.err());
    var told = new ArrayList<String>();
    for (String receipt : ran.out().lines().toList()) {
      var node = new ObjectMapper().readTree(receipt);
      told.add(node.get("input").textValue() + ":" + node.get("line") + " " + node.get("state"));
    }
    assertEquals(
        List.of(
            one + ":1 \"COMMITTED\"",
            one + ":2 \"COMMITTED\"",
            "-:1 \"COMMITTED\"",
            two + ":1 \"COMMITTED\"",
            two + ":2 \"REFUSED\"",
            two + ":3 \"COMMITTED\""),
        told);
    assertEquals("a\nb\nin\nc\nd\n", cinch.run("cat", "--log=jobs", "--live").ended(0).out());
    cinch.run("append", "--log=jobs", one, temp + "/missing").failed(4, temp + "/missing");
    assertEquals("a\nb\nin\nc\nd\n", cinch.run("cat", "--log=jobs", "--live").ended(0).out());
  }

  @Test
  void aNulMayEndAMessage() throws Exception {
    Cinch cinch = Cinch.on(Cinch.quickStore(temp));
    cinch.feed("a\nb\0\0c", "append", "--log=jobs", "-0").ended(0);
    assertEquals("a\nb\n\nc\n", cinch.run("cat", "--log=jobs", "--live").ended(0).out());
    cinch.run("append", "--log=jobs", "-0", "--whole").failed(2, "leave out -0");
  }

  @Test
  void aWholeFileMayBeAMessage() throws Exception {
    Cinch cinch = Cinch.on(Cinch.quickStore(temp));
    String big = file("big", "y\n".repeat(400_000)); // more than a read, less than the limit
    String tooBig = file("too-big", "z".repeat(2 << 20));
    String[] append = {
      "append", "--log=jobs", "--whole", file("a", "1\n2\n\n"), file("b", ""), big
    };
    cinch.run(append).ended(0);
    cinch.run("append", "--log=jobs", "--whole", tooBig).failed(3, "has 2097152 bytes, this store");
    String found = cinch.run("cat", "--log=jobs", "--live").ended(0).out();
    assertEquals("1\n2\n\n\n\n" + "y\n".repeat(400_000) + "\n", found);
  }

  @Test
  void whatIsAppendedCanBeReadAtOnceIfThatIsWaitedFor() throws Exception {
    Cinch cinch = Cinch.on(Cinch.quickStore(temp));
    cinch.feed("a\nb\n", "append", "--log=jobs", "--settle").ended(0);
    assertEquals("a\nb\n", cinch.run("cat", "--log=jobs").ended(0).out());
    cinch.feed("", "append", "--log=jobs", "--settle").ended(0);
  }

  /** Else it would be appended again. */
  @Test
  void whatIsCommittedIsToldWhereItCannotBeSettled() throws Exception {
    Path store = Cinch.quickStore(temp);
    Cinch cinch = Cinch.on(store);
    Files.delete(store.resolve("keys"));
    Files.writeString(store.resolve("keys"), "");
    cinch
        .feed("a\n", "append", "--log=jobs", "--settle")
        .failed(1, "cinch append: all lines are committed, and not settled yet: ");
    Files.delete(store.resolve("keys"));
    Files.createDirectory(store.resolve("keys"));
    assertEquals("a\n", cinch.run("cat", "--log=jobs", "--live").ended(0).out());
  }

  @Test
  void twoMachinesWithTheSameNameLoseNothing() throws Exception {
    Cinch cinch = Cinch.on(Cinch.quickStore(temp));
    cinch.feed("", "append", "--log=jobs").ended(0);
    var together = new CyclicBarrier(2);
    var tasks = new ArrayList<FutureTask<Cinch.Ran>>();
    var expected = new ArrayList<String>();
    for (String who : List.of("a", "b")) {
      var input = new StringBuilder();
      for (int i = 0; i < 500; i++) {
        expected.add(who + i);
        input.append(who).append(i).append('\n');
      }
      var task =
          new FutureTask<>(
              () -> {
                together.await();
                return cinch.feed(
                    input.toString(), "append", "--log=jobs", "--machine=same", "--json");
              });
      tasks.add(task);
      new Thread(task).start();
    }
    for (FutureTask<Cinch.Ran> task : tasks) {
      assertEquals(500, task.get().ended(0).out().lines().count());
    }
    cinch.settle("jobs");
    List<String> settled = cinch.run("cat", "--log=jobs").ended(0).out().lines().toList();
    assertEquals(expected.stream().sorted().toList(), settled.stream().sorted().toList());
    assertEquals(
        settled.stream().filter(l -> l.startsWith("a")).toList(), expected.subList(0, 500));
    assertTrue(cinch.run("verify").ended(0).out().startsWith("intact"));
  }

  @Test
  void aFullStoreKeepsTheAppendPendingAndLosesNothing() throws Exception {
    Path mount = Files.createDirectory(temp.resolve("small"));
    Process mounting =
        new ProcessBuilder("mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", mount.toString())
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    assumeTrue(mounting.waitFor() == 0, "may not mount a tmpfs: a full store is not tested");
    try {
      Path store = Cinch.quickStore(mount);
      Cinch cinch = Cinch.on(store);
      cinch.feed("before\n", "append", "--log=jobs").ended(0);
      Path filler = mount.resolve("filler");
      fill(filler);
      assertEquals("before\n", cinch.run("cat", "--log=jobs", "--live").ended(0).out());
      try (var append = new Forked("append", "--log=jobs", "--store=" + store, "--json")) {
        append.type("after\n");
        append.endInput();
        String said = append.errLine();
        assertTrue(said.contains("No space left on device"), said);
        Files.delete(filler);
        assertTrue(append.line().contains("\"state\":\"COMMITTED\""));
        append.ended(0);
      }
      cinch.settle("jobs");
      assertEquals("before\nafter\n", cinch.run("cat", "--log=jobs").ended(0).out());
      assertTrue(cinch.run("verify").ended(0).out().startsWith("intact"));
    } finally {
      assertEquals(0, new ProcessBuilder("umount", mount.toString()).start().waitFor());
    }
  }

  private static void fill(Path filler) throws IOException {
    try (OutputStream out = Files.newOutputStream(filler)) {
      while (true) {
        out.write(new byte[4096]);
      }
    } catch (IOException full) {
      // As was meant.
    }
  }
}
