package dev.cinch.bag.fs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.cinch.bag.format.ForeignEntryException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.UserPrincipalNotFoundException;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Where direct reads are supported, and (tmpfs of older kernels) where they are not. */
final class PosixFsTest {
  private final PosixFs fs = new PosixFs(null, null);

  private int readShared(Path file, ByteBuffer into) throws IOException {
    try (StoreFile in = fs.readShared(file)) {
      return in.read(into, 0);
    }
  }

  @Test
  void readsWhatOthersWritePastTheCache(@TempDir Path directory) throws Exception {
    Path file = directory.resolve("prelock");
    Files.createFile(file);
    ByteBuffer into = ByteBuffer.allocate(1);
    assertEquals(0, readShared(file, into));
    Files.write(file, new byte[] {'x', 'y'});
    assertEquals(1, readShared(file, into));
    assertEquals('x', into.get(0));
  }

  @Test
  void readsAMegabyteAndAPart(@TempDir Path directory) throws Exception {
    Path file = directory.resolve("large");
    byte[] bytes = new byte[(1 << 20) + 77];
    bytes[bytes.length - 1] = 7;
    Files.write(file, bytes);
    ByteBuffer into = ByteBuffer.allocate(bytes.length + 1);
    assertEquals(bytes.length, readShared(file, into));
    assertEquals(7, into.get(bytes.length - 1));
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 4_095, 4_096, 65_536, (1 << 20) + 77})
  void theSizePastTheCacheIsWhereReadingEnds(int length, @TempDir Path directory) throws Exception {
    Path file = directory.resolve("file");
    Files.write(file, new byte[length]);
    try (StoreFile in = fs.readUncached(file)) {
      assertEquals(length, in.size());
      Files.write(file, new byte[3], StandardOpenOption.APPEND);
      assertEquals(length + 3, in.size());
    }
  }

  @Test
  void readsWhereThereAreNoDirectReads() throws Exception {
    Path none = Path.of("/proc/self/comm");
    assertEquals(1, readShared(none, ByteBuffer.allocate(1)));
    assertFalse(new PosixFs(null, null).hasDirectReads(none));
  }

  /** Only EINVAL says that there are none. */
  @Test
  void anotherErrorSaysNothingAboutDirectReads(@TempDir Path directory) {
    var fs = new PosixFs(null, null);
    assertThrows(NoSuchFileException.class, () -> fs.hasDirectReads(directory.resolve("none")));
    assertThrows(ForeignEntryException.class, () -> fs.hasDirectReads(directory));
  }

  @Test
  void aMissingFileIsMissing(@TempDir Path directory) {
    ByteBuffer into = ByteBuffer.allocate(1);
    assertThrows(NoSuchFileException.class, () -> readShared(directory.resolve("none"), into));
  }

  /** Where a part of a direct read fails, the kernel gives what came before it, and no error. */
  @Test
  void aShortReadPastTheCacheIsNotTheEndOfTheFile(@TempDir Path directory) throws Exception {
    Path file = directory.resolve("file");
    byte[] bytes = new byte[200_000];
    bytes[bytes.length - 1] = 7;
    Files.write(file, bytes);
    var channel =
        new ShortChannel(FileChannel.open(file, StandardOpenOption.READ), 8_192, bytes.length - 1);
    try (StoreFile in = new ChannelFile(channel, 4_096, file)) {
      ByteBuffer into = ByteBuffer.allocate(bytes.length + 1);
      assertEquals(bytes.length, in.read(into, 0));
      assertEquals(7, into.get(bytes.length - 1));
      assertEquals(bytes.length, in.size());
      assertEquals(50, in.read(ByteBuffer.allocate(50), bytes.length - 50));
    }
  }

  /** A FUSE client asks the server for nothing that begins at the end that it believes in. */
  @Test
  void theSizePastTheCacheIsAskedForBeforeTheEndThatIsBelieved(@TempDir Path directory)
      throws Exception {
    Path file = directory.resolve("file");
    Files.write(file, new byte[8_292]);
    long believed = 8_192;
    var channel =
        new ShortChannel(FileChannel.open(file, StandardOpenOption.READ), 1 << 16, believed) {
          @Override
          public int read(ByteBuffer into, long position) throws IOException {
            return position == believed ? -1 : super.read(into, position);
          }
        };
    try (StoreFile in = new ChannelFile(channel, 4_096, file)) {
      assertEquals(8_292, in.size());
    }
  }

  /** As network filesystems do where an entry's position changes while the directory is read. */
  @Test
  void aNameThatTheKernelListsTwiceIsListedOnce() {
    List<Path> entries = Stream.of("a/two", "a/one", "a/two").map(Path::of).toList();
    assertEquals(List.of("two", "one"), PosixFs.names(entries));
  }

  @Test
  void aMissingDirectoryIsMissingAlsoForWhoForcesIt(@TempDir Path directory) throws Exception {
    fs.forceDirectory(directory);
    assertThrows(NoSuchFileException.class, () -> fs.forceDirectory(directory.resolve("none")));
    Path file = Files.createFile(directory.resolve("file"));
    assertThrows(NotDirectoryException.class, () -> fs.forceDirectory(file));
  }

  /** Every look would leave one behind on a machine that does not know the group. */
  @Test
  void nothingIsMadeForAGroupThatIsNotKnown(@TempDir Path directory) throws Exception {
    var fs = new PosixFs(null, "no-such-group");
    assertThrows(
        UserPrincipalNotFoundException.class, () -> fs.mkdir(directory.resolve("a"), 0775));
    assertThrows(
        UserPrincipalNotFoundException.class, () -> fs.create(directory.resolve("b"), 0664));
    assertEquals(List.of(), fs.list(directory));
  }

  @Test
  void whoDoesNotKnowTheGroupMayReadAllTheSame(@TempDir Path directory) throws Exception {
    Files.createFile(directory.resolve("a"));
    var fresh = new Fresh(new PosixFs(null, "no-such-group"));
    assertEquals(List.of("a"), fresh.listAsPermitted(directory));
  }
}
