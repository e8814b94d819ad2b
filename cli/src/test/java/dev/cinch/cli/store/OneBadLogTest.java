package dev.cinch.cli.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.cli.Cinch;
import dev.cinch.cli.Main;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.Stop;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A log that is damaged or lost its identity stops nobody who works on the others. */
@SuppressWarnings("NullAway.Init")
@Timeout(600)
class OneBadLogTest {
  @TempDir Path temp;

  private Path store;
  private Cinch cinch;
  private Path bad;

  @BeforeEach
  void settle() throws Exception {
    store = Cinch.quickStore(temp);
    cinch = Cinch.on(store);
    cinch.settled("bad", "text\n");
    cinch.settled("worse", "text\n");
    cinch.settled("zebra", "text\n"); // the last one
    bad = store.resolve("logs/bad/identity");
    Files.delete(store.resolve("logs/worse/identity"));
    damage(bad);
  }

  private static void damage(Path file) throws IOException {
    Files.delete(file);
    Files.writeString(file, "nonsense");
  }

  @Test
  void damageDeeperInALogIsPassedOverToo() throws Exception {
    cinch.settled("deep", "text\n");
    try (var all = Files.walk(store.resolve("logs/deep/horizon/records"))) {
      for (Path record : all.filter(Files::isRegularFile).toList()) {
        damage(record);
      }
    }
    for (String[] command :
        List.of(new String[] {"close"}, new String[] {"view", "build", "--wait=0s"})) {
      Cinch.Ran ran = cinch.run(command).ended(1);
      assertEquals(3, ran.err().lines().count(), ran.err());
      assertTrue(ran.out().startsWith("zebra: "), ran.out());
    }
  }

  /** Its reader leaves after so many rounds. */
  private static final class Leaving extends OutputStream {
    private int rounds;

    Leaving(int rounds) {
      this.rounds = rounds;
    }

    @Override
    public void write(int b) {}

    @Override
    public void flush() throws IOException {
      if (rounds-- == 0) {
        throw new IOException("Broken pipe");
      }
    }
  }

  @Test
  void everyGoesOnUntilNobodyListensAndSaysWhatFailsOnceAMinute() throws Exception {
    for (String log : List.of("", "--log=bad")) {
      var err = new ByteArrayOutputStream();
      var io =
          new Io(
              new ByteArrayInputStream(new byte[0]),
              new Leaving(20),
              new PrintStream(err, true, StandardCharsets.UTF_8),
              name -> null,
              false,
              false,
              Stop.byHand());
      var args = new java.util.ArrayList<>(List.of("close", "--every=1ms", "--store=" + store));
      if (!log.isEmpty()) {
        args.add(log);
      }
      int code = Main.run(args.toArray(String[]::new), io);
      String said = err.toString(StandardCharsets.UTF_8);
      long told = said.lines().filter(line -> line.contains(bad + ": damaged at byte 0")).count();
      assertEquals(1, told, said);
      assertEquals(log.isEmpty() ? 1 : 0, said.lines().filter(l -> l.contains("worse")).count());
      assertEquals(1, code, said); // what the last round found
      assertFalse(said.contains("unexpected"), said);
    }
  }
}
