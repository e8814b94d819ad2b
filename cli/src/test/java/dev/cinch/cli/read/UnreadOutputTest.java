package dev.cinch.cli.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.cli.Cinch;
import dev.cinch.cli.Main;
import dev.cinch.cli.Served;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.Stop;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Standard output that nobody reads, or that can't be written: what commands end with. */
@SuppressWarnings("NullAway.Init")
@Timeout(600)
class UnreadOutputTest {
  private static final String LEFT = "standard output: Broken pipe";

  @TempDir Path temp;

  private Path store;

  @BeforeEach
  void settle() throws Exception {
    store = Cinch.quickStore(temp);
    Cinch.on(store).settled("jobs", "text\n".repeat(1_000));
  }

  private Cinch unread() {
    return Cinch.on(store).unwritable("Broken pipe");
  }

  private void damage() throws Exception {
    try (var all = Files.walk(store.resolve("logs/jobs/buckets"))) {
      Path lock =
          all.filter(p -> p.endsWith("lock"))
              .max(Comparator.comparingLong(p -> p.toFile().length()))
              .orElseThrow();
      byte[] bytes = Files.readAllBytes(lock);
      bytes[bytes.length / 2] ^= 4;
      Files.delete(lock);
      Files.write(lock, bytes);
    }
  }

  @Test
  void whoHadEnoughOfAnAnswerIsNoError() {
    for (String[] command :
        List.of(
            new String[] {"cat", "--log=jobs"},
            new String[] {"cat", "--log=jobs", "--live"},
            new String[] {"view", "cat", "--log=jobs"},
            new String[] {"logs"},
            new String[] {"status"},
            new String[] {"status", "--prometheus"},
            new String[] {"shards"},
            new String[] {"completion"},
            new String[] {"--help"},
            new String[] {"cat", "--help"},
            new String[] {"--version"})) {
      assertEquals("", unread().run(command).ended(0).err());
    }
    for (String[] command :
        List.of(
            new String[] {"cat", "--log=jobs"},
            new String[] {"--help"},
            new String[] {"close", "--help"},
            new String[] {"--version"})) {
      Cinch.on(store)
          .unwritable("No space left on device")
          .run(command)
          .failed(4, "standard output: No space left on device");
    }
  }

  @Test
  void elsewhereAnAnswerThatIsLostIsAnError() throws Exception {
    unread().run("verify").failed(4, LEFT);
    unread().run("audit").failed(4, LEFT);
    unread().run("doctor").failed(4, LEFT);
    unread().run("view", "build", "--wait=0s").failed(4, LEFT);
    unread().run("keygen", "--key=" + temp.resolve("key")).failed(4, LEFT);
    assertEquals(4, unread().run("salvage", "--log=jobs").code());
    unread().run("close", "--every=1ms").failed(4, LEFT);
    try (var served = new Served(Files.createDirectory(temp.resolve("other")))) {
      served.cinch.unwritable("Broken pipe").run("lease", "acquire", "a").failed(4, LEFT);
      for (List<String> asked :
          List.of(List.of("list"), List.of("show", "a"), List.of("who", "a"))) {
        var command = new ArrayList<>(List.of("lease"));
        command.addAll(asked);
        assertEquals("", served.cinch.run(command.toArray(new String[0])).ended(0).err());
      }
    }
  }

  @Test
  void damageThatWasFoundIsToldAllTheSame() throws Exception {
    damage();
    unread().run("verify").failed(1, LEFT);
    unread().run("audit").failed(1, LEFT);
    unread().run("cat", "--log=jobs").failed(1, ": damaged at byte ");
    assertEquals(1, unread().run("salvage", "--log=jobs").code());
    unread().run("doctor", "--clock-offset=-10m").failed(1, LEFT);
  }

  /** What each write to standard output had. */
  private List<String> writes(String... command) {
    var writes = new ArrayList<String>();
    var out =
        new OutputStream() {
          @Override
          public void write(int b) {
            throw new AssertionError("one byte at a time");
          }

          @Override
          public void write(byte[] b, int offset, int length) {
            if (length > 0) {
              writes.add(new String(b, offset, length, StandardCharsets.UTF_8));
            }
          }
        };
    var args = new ArrayList<>(List.of(command));
    args.add("--store=" + store);
    var io =
        new Io(
            InputStream.nullInputStream(), out, System.err, v -> null, false, false, Stop.byHand());
    int unused = Main.run(args.toArray(String[]::new), io);
    return writes;
  }

  @Test
  void whatWasFoundAndDoneIsToldAtOnce() throws Exception {
    Cinch.on(store).overdue("one", "a");
    Cinch.on(store).overdue("two", "a");
    List<String> closed = writes("close");
    assertEquals(3, closed.size(), closed::toString);
    damage();
    List<String> verified = writes("verify");
    assertTrue(verified.size() > 1, verified::toString);
    assertTrue(verified.get(0).contains("jobs"), verified::toString);
    assertTrue(verified.get(verified.size() - 1).startsWith("DAMAGED"), verified::toString);
  }
}
