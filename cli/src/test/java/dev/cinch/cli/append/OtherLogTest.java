package dev.cinch.cli.append;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.cli.Cinch;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What stands in the place of a log and is another one: nobody takes it for the log. */
@SuppressWarnings("NullAway.Init")
class OtherLogTest {
  @TempDir Path temp;

  private Path logs;
  private Cinch cinch;

  @BeforeEach
  void twoLogs() throws Exception {
    Path store = Cinch.quickStore(temp);
    logs = store.resolve("logs");
    cinch = Cinch.on(store);
    cinch.settled("alpha", "in alpha\n");
    cinch.settled("beta", "in beta\n");
    everyoneReads("in alpha\n");
  }

  private void everyoneReads(String expected) {
    for (String[] words : readers()) {
      assertEquals(expected, cinch.run(words).ended(0).out());
    }
    cinch.run("verify").ended(0);
  }

  private static List<String[]> readers() {
    return List.of(
        new String[] {"cat", "--log=alpha"},
        new String[] {"cat", "--log=alpha", "--live"},
        new String[] {"cat", "--log=alpha", "--tail=5"},
        new String[] {"view", "cat", "--log=alpha"});
  }

  private void everyoneRefuses(String what) throws IOException {
    for (String[] words : readers()) {
      cinch.run(words).failed(1, what);
    }
    cinch.feed("more\n", "append", "--log=alpha").failed(1, what);
    cinch.run("view", "build", "--log=alpha", "--wait=0s").failed(1, what);
    cinch.run("expire", "--log=alpha", "--keep=0s").failed(1, what);
    for (String words :
        List.of("verify", "audit", "status --no-server", "close", "gc --retention=0s")) {
      Cinch.Ran ran = cinch.run(words.split(" ")).ended(1);
      assertTrue((ran.out() + ran.err()).contains(what), words + ": " + ran);
    }
  }

  private static void copy(Path from, Path to) throws IOException {
    try (Stream<Path> all = Files.walk(from)) {
      for (Path path : all.toList()) {
        Files.copy(path, to.resolve(from.relativize(path).toString()));
      }
    }
  }

  @Test
  void twoDirectoriesThatWereSwapped() throws Exception {
    Files.move(logs.resolve("alpha"), logs.resolve("x"));
    Files.move(logs.resolve("beta"), logs.resolve("alpha"));
    Files.move(logs.resolve("x"), logs.resolve("beta"));
    everyoneRefuses("expected the identity of log alpha, found that of log beta");
  }

  @Test
  void aDirectoryThatWasCopied() throws Exception {
    Files.move(logs.resolve("alpha"), temp.resolve("kept"));
    copy(logs.resolve("beta"), logs.resolve("alpha"));
    everyoneRefuses("expected the identity of log alpha, found that of log beta");
  }

  /** A tombstone of another log would hide this one from closers, and from who looks at all. */
  @Test
  void theTombstoneOfAnotherLog() throws Exception {
    cinch.run("log", "rm", "beta", "--yes=beta").ended(0);
    Files.copy(logs.resolve("beta/removed"), logs.resolve("alpha/removed"));
    Files.delete(logs.resolve("alpha/identity"));
    everyoneRefuses("expected the removal of log alpha, found that of beta");
  }
}
