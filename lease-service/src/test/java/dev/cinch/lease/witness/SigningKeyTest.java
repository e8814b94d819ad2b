package dev.cinch.lease.witness;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.jimfs.Configuration;
import com.google.common.jimfs.Jimfs;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class SigningKeyTest {
  @TempDir Path dir;

  @Test
  void aKeyComesBackFromItsFileWhichOnlyItsOwnerReads() throws IOException {
    Path file = dir.resolve("key");
    SigningKey key = SigningKey.loadOrCreate(file);
    assertEquals(key.publicKey(), SigningKey.load(file).publicKey());
    assertEquals(key.publicKey(), SigningKey.loadOrCreate(file).publicKey());
    assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file)));
    assertFalse(SigningKey.readableByOthers(file));
    assertThrows(FileAlreadyExistsException.class, () -> SigningKey.generate().write(file));
    var unused = Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r--r--"));
    assertTrue(SigningKey.readableByOthers(file));
  }

  @Test
  void aFullDiskIsToldWithTheNameOfTheKeyAndLeavesNone() throws Exception {
    var tiny =
        Configuration.unix().toBuilder()
            .setWorkingDirectory("/keys")
            .setBlockSize(8)
            .setMaxSize(32)
            .build();
    try (FileSystem disk = Jimfs.newFileSystem(tiny)) {
      Path file = disk.getPath("/keys/key");
      var e = assertThrows(FileSystemException.class, () -> SigningKey.loadOrCreate(file));
      assertEquals("/keys/key", e.getFile());
      try (Stream<Path> left = Files.list(file.getParent())) {
        assertEquals(0, left.count());
      }
    }
  }

  /** Two servers that are started for the first time, with one key. */
  @Test
  void thoseThatMakeAKeyAtOnceEndUpWithTheSame() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(2);
    try {
      for (int i = 0; i < 300; i++) {
        Path file = dir.resolve("key-" + i);
        var both = new CyclicBarrier(2);
        Callable<PublicKey> make =
            () -> {
              int unused = both.await();
              return SigningKey.loadOrCreate(file).publicKey();
            };
        Future<PublicKey> other = threads.submit(make);
        assertEquals(threads.submit(make).get(), other.get());
      }
    } finally {
      threads.shutdown();
    }
    try (Stream<Path> all = Files.list(dir)) {
      assertEquals(300, all.count());
    }
  }

  @Test
  void aFileThatIsNoKeyIsNamedInOneLineWithoutItsContent() throws IOException {
    Path file = dir.resolve("key");
    String seed = "ab".repeat(32);
    for (String text :
        new String[] {
          "",
          seed,
          "cinch-signing-key-2 " + seed,
          "cinch-signing-key-1 " + seed + "0",
          "cinch-signing-key-1 x" + seed.substring(1),
          "cinch-signing-key-1 " + seed + "\n".repeat(2_000)
        }) {
      var unused = Files.writeString(file, text);
      IOException e = assertThrows(IOException.class, () -> SigningKey.load(file));
      String message = String.valueOf(e.getMessage());
      assertTrue(message.startsWith(file + " is not a signing key"), message);
      assertEquals(1, message.lines().count());
      assertFalse(message.contains("abab"), message);
    }
    var unused = Files.writeString(file, "cinch-signing-key-1 " + seed + "\n");
    assertEquals(
        "SigningKey[" + SigningKey.load(file).publicKey().idText() + "]",
        SigningKey.load(file).toString());
  }

  @Test
  void publicKeysAreReadAsTheyAreWritten() {
    PublicKey key = SigningKey.generate().publicKey();
    assertEquals(key, PublicKey.parse(" " + key + "\n"));
    for (String wrong : new String[] {"", "00", "x".repeat(64)}) {
      assertThrows(IllegalArgumentException.class, () -> PublicKey.parse(wrong));
    }
    assertThrows(IllegalArgumentException.class, () -> new PublicKey(new byte[31]));
  }
}
