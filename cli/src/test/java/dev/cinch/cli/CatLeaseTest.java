package dev.cinch.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code cat} of one lease name, and of its last lease. */
final class CatLeaseTest {
  @TempDir private Path temp;

  private static List<Path> dataFiles(Path store) throws IOException {
    try (Stream<Path> files = Files.walk(store.resolve("logs/jobs/buckets"))) {
      return files.filter(f -> f.toString().endsWith(".log")).sorted().toList();
    }
  }

  @Test
  void l7_theLastLeaseIsReadWithoutWhatIsEarlierAndOnlyByTheLatestInstance() throws Exception {
    Path store = Cinch.quickStore(temp);
    try (Forked server = Forked.serve(temp, store)) {
      Cinch cinch = Cinch.on(store).with("CINCH_SERVER", server.listening());
      cinch.feed("a\n", "append", "--log=jobs", "--lease=one").ended(0);
      cinch.feed("-\n", "append", "--log=jobs", "--lease=two").ended(0);
      cinch.settle("jobs");
      Path first = dataFiles(store).get(0).resolveSibling("lock");
      cinch.appendBehind("b\n", "append", "--log=jobs", "--lease=one");
      cinch.settle("jobs");
      cinch.appendBehind("c\n", "append", "--log=jobs", "--lease=one");
      cinch.appendBehind("-\n", "append", "--log=jobs");
      String[] all = {"cat", "--log=jobs", "--lease=one", "--live"};
      String[] last = {"cat", "--log=jobs", "--lease=one", "--live", "--last-lease"};
      assertEquals("a\nb\nc\n", cinch.run(all).ended(0).out());
      assertEquals("a\nb\nc\n", Cinch.on(store).run(all).ended(0).out());
      assertEquals("a\nb\n", cinch.run("cat", "--log=jobs", "--lease=one").ended(0).out());
      assertEquals("c\n", cinch.run(last).ended(0).out());
      cinch.run("cat", "--log=jobs", "--lease=one", "--tail=1").failed(2, "--tail");
      Cinch.on(store).run(last).failed(2, "--last-lease needs");
      cinch
          .run("cat", "--log=jobs", "--lease=none", "--last-lease")
          .failed(3, "knows no lease on none");

      // What is damaged is not read, if it is earlier than the last lease.
      byte[] bytes = Files.readAllBytes(first);
      bytes[bytes.length / 2] ^= 1;
      assertTrue(first.toFile().setWritable(true));
      Files.write(first, bytes);
      assertEquals(1, cinch.run(all).code());
      assertEquals("c\n", cinch.run(last).ended(0).out());

      // A later instance may have granted the name since.
      Files.createFile(store.resolve("service/instances/0000000009"));
      cinch.run(last).failed(3, "knows no lease on one");
    }
  }
}
