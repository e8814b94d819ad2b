package dev.cinch.cli.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.fs.PosixFs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DirectReadsTest {
  /** A filesystem that has them or not, and reads so. */
  private record Fake(boolean supported, int read) implements DirectReads.Access {
    @Override
    public boolean areSupported(Path file) {
      return supported;
    }

    @Override
    public int read(Path file) throws IOException {
      if (read < 0) {
        throw new IOException("Invalid argument");
      }
      return read;
    }
  }

  private static Diagnosed probed(DirectReads.Access access, boolean oneMachine, Path file)
      throws IOException {
    var diagnosed = new Diagnosed();
    diagnosed.diagnosis.look(
        "read",
        "nothing works",
        () -> new DirectReads(access, oneMachine, diagnosed.diagnosis).probe(file));
    assertEquals(1, diagnosed.lines().size());
    return diagnosed;
  }

  @Test
  void whereMachinesShareAndThereAreNoneItFails() throws Exception {
    var none = new Fake(false, 1);
    probed(none, false, Path.of("file")).has("FAIL no reads past the cache (O_DIRECT)", "lost");
    probed(none, true, Path.of("file")).has("warn no reads past the cache (O_DIRECT)", "cached");
  }

  @Test
  void openingIsNotEnough() throws Exception {
    probed(new Fake(true, -1), true, Path.of("file")).has("FAIL read: Invalid argument", "nothing");
    probed(new Fake(true, 0), true, Path.of("file")).has("FAIL a read past", "0 bytes of 1");
    probed(new Fake(true, 1), false, Path.of("file")).has("ok   reads past the cache", "seen");
  }

  @Test
  void aRealFileIsRead(@TempDir Path temp) throws Exception {
    var access = DirectReads.Access.of(new PosixFs(null, null));
    Path file = Files.write(temp.resolve("file"), new byte[] {1});
    assertEquals(1, access.read(file));
    Diagnosed probed = probed(access, true, file);
    assertTrue(!probed.diagnosis.failed(), probed.lines().toString());
    assertThrows(IOException.class, () -> access.areSupported(temp.resolve("none")));
  }
}
