package dev.cinch.cli.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.cli.Cinch;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Salvage as its user sees it; what it finds is tested where it is built. */
class SalvageCommandTest {
  @TempDir Path temp;

  private static Path only(Path store, String glob) throws IOException {
    try (Stream<Path> all = Files.walk(store)) {
      return all.filter(p -> p.toString().endsWith(glob)).findFirst().orElseThrow();
    }
  }

  @Test
  void printsWhatIsWholeWithoutStoreJsonAndSaysWhatItLeft() throws Exception {
    Path store = Cinch.quickStore(temp);
    Cinch cinch = Cinch.on(store);
    cinch.feed("one\n", "append", "--log", "jobs").ended(0);
    cinch.feed("two\n", "append", "--log", "jobs").ended(0);
    Cinch.Ran whole = cinch.run("salvage", "--log", "jobs").ended(0);
    assertEquals("one\ntwo\n", whole.out());
    assertTrue(whole.err().contains("2 not settled yet"), whole.err());
    assertEquals("", cinch.run("salvage", "--log", "jobs", "--proven").ended(0).out());

    Files.delete(store.resolve("store.json"));
    Files.write(store.resolve("logs/jobs/identity"), new byte[] {1, 2, 3});
    assertEquals(whole.out(), cinch.run("salvage", "--log", "jobs").ended(0).out());

    Path file = only(store, ".log");
    byte[] bytes = Files.readAllBytes(file);
    bytes[20] ^= 4; // in the header
    Files.write(file, bytes);
    Cinch.Ran damaged = cinch.run("salvage", "--log", "jobs", "--json").ended(1);
    assertTrue(
        damaged.out().contains("\"state\":\"UNSETTLED\",\"payload\":\"one\""), damaged.out());
    assertTrue(damaged.err().contains("damage: " + file + " at byte 0"), damaged.err());
    assertFalse(damaged.err().contains("Exception"), damaged.err());
  }

  @Test
  void aLogThatIsNotThereIsToldInOneLine() throws Exception {
    Path store = Cinch.quickStore(temp);
    Cinch.on(store).run("salvage", "--log", "jobs").failed(4, "there is no log \"jobs\"");
    Cinch.on(temp.resolve("nothing")).run("salvage", "--log", "jobs").failed(4, "there is no log");
  }
}
