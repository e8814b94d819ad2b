package dev.cinch.bag.fs;

import static java.util.Objects.requireNonNull;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.abort;

import dev.cinch.bag.format.ForeignEntryException;
import dev.cinch.bag.model.InWords;
import dev.cinch.bag.model.Name;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Rule N7, operation by operation: below the root nothing is followed, and no pipe is opened. */
@SuppressWarnings("NullAway.Init")
@Timeout(600)
final class ForeignEntriesTest {
  @TempDir Path temp;
  private Path root;
  private Path outside;
  private Path victim;
  private PosixFs fs;

  @BeforeEach
  void make() throws IOException {
    root = Files.createDirectory(temp.resolve("store"));
    outside = Files.createDirectories(temp.resolve("outside/inner"));
    victim = Files.writeString(outside.resolve("victim"), "what must stay");
    Files.setPosixFilePermissions(victim, PosixFilePermissions.fromString("rw-------"));
    fs = new PosixFs(root, null);
  }

  private interface Operation {
    void on(PosixFs fs, Path path) throws IOException;
  }

  private static final Map<String, Operation> ON_FILES = new LinkedHashMap<>();

  static {
    ON_FILES.put("read", (fs, p) -> fs.read(p).close());
    ON_FILES.put("readUncached", (fs, p) -> fs.readUncached(p).close());
    ON_FILES.put("readShared", (fs, p) -> fs.readShared(p).close());
    ON_FILES.put("freshStatus", (fs, p) -> fs.freshStatus(p));
    ON_FILES.put("overwrite", ForeignEntriesTest::overwrite);
    ON_FILES.put("chmod", (fs, p) -> fs.chmod(p, 0444));
    ON_FILES.put("unlink", (fs, p) -> fs.unlink(p));
    ON_FILES.put("link", (fs, p) -> fs.link(p, p.resolveSibling("another")));
  }

  private static void overwrite(PosixFs fs, Path path) throws IOException {
    try (StoreFile out = fs.overwrite(path)) {
      out.write(ByteBuffer.wrap(new byte[] {'x'}));
    }
  }

  static Stream<Arguments> filesAndKinds() {
    return ON_FILES.keySet().stream()
        .flatMap(name -> Stream.of(Planted.values()).map(planted -> Arguments.of(name, planted)));
  }

  private void plant(Planted planted, Path place, Path target) throws IOException {
    try {
      planted.plant(place, target);
    } catch (UnsupportedOperationException e) {
      abort(planted + " can't be made here: " + e.getMessage());
    }
  }

  private void victimIsWhole() throws IOException {
    assertEquals("what must stay", Files.readString(victim));
    assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(victim)));
  }

  @ParameterizedTest
  @MethodSource("filesAndKinds")
  void whatIsNoFileIsNotOpened(String name, Planted planted) throws Exception {
    Path place = root.resolve("prelock");
    plant(planted, place, victim);
    Operation operation = requireNonNull(ON_FILES.get(name));
    boolean changes = List.of("overwrite", "append", "chmod").contains(name);
    boolean directory = planted == Planted.DIRECTORY && name.equals("chmod");
    if (directory || (planted == Planted.HARD_LINK && !changes)) {
      operation.on(fs, place); // a name more than one stops no reading, and takes no bytes
    } else {
      ForeignEntryException e =
          assertThrows(ForeignEntryException.class, () -> operation.on(fs, place));
      assertEquals(Name.of(place), e.path());
      String expected =
          planted == Planted.HARD_LINK ? "a file with one name, found one with 2" : planted.words();
      assertTrue(e.getMessage().startsWith(place + ": expected "), e.getMessage());
      assertTrue(e.getMessage().contains(expected), e.getMessage());
      assertTrue(Files.exists(place, java.nio.file.LinkOption.NOFOLLOW_LINKS));
    }
    victimIsWhole();
  }

  private static final Map<String, Operation> BELOW = new LinkedHashMap<>(ON_FILES);

  static {
    BELOW.put("status", (fs, p) -> fs.status(p));
    BELOW.put("list", (fs, p) -> fs.list(p));
    BELOW.put("forceDirectory", (fs, p) -> fs.forceDirectory(p));
    BELOW.put("mkdir", (fs, p) -> fs.mkdir(p.resolveSibling("made"), 0755));
    BELOW.put("create", (fs, p) -> fs.create(p.resolveSibling("made"), 0644).close());
    BELOW.put("rmdir", (fs, p) -> fs.rmdir(p.resolveSibling("empty")));
  }

  static Stream<Arguments> operationsBelow() {
    return BELOW.keySet().stream()
        .flatMap(
            name ->
                Stream.of(Planted.LINK, Planted.PIPE, Planted.SOCKET, Planted.DEVICE)
                    .map(planted -> Arguments.of(name, planted)));
  }

  /** In any component: the link stands two levels above what is asked for. */
  @ParameterizedTest
  @MethodSource("operationsBelow")
  void noOperationIsLedElsewhereByADirectoryThatIsNone(String name, Planted planted)
      throws Exception {
    Files.createDirectory(outside.resolve("empty"));
    Path bucket = root.resolve("bucket");
    plant(planted, bucket, temp.resolve("outside"));
    boolean lists = name.equals("list") || name.equals("forceDirectory");
    Path asked = bucket.resolve(lists ? "inner" : "inner/victim");
    Operation operation = requireNonNull(BELOW.get(name));
    ForeignEntryException e =
        assertThrows(ForeignEntryException.class, () -> operation.on(fs, asked));
    assertEquals(Name.of(bucket), e.path());
    assertTrue(e.getMessage().contains("expected a directory, found " + planted.words()));
    victimIsWhole();
    assertEquals(List.of("empty", "victim"), fs(outside).stream().sorted().toList());
  }

  private static List<String> fs(Path directory) throws IOException {
    try (Stream<Path> all = Files.list(directory)) {
      return all.map(p -> p.getFileName().toString()).toList();
    }
  }

  /** Also for who looked at the way before, when it was still a directory. */
  @ParameterizedTest
  @MethodSource("operationsBelow")
  void whatWasADirectoryIsLookedAtAgain(String name, Planted planted) throws Exception {
    Path bucket = Files.createDirectories(root.resolve("group/bucket"));
    Files.writeString(bucket.resolve("victim"), "a file of the store");
    fs.read(bucket.resolve("victim")).close();
    Files.move(root.resolve("group"), temp.resolve("moved"));
    Files.createDirectory(outside.resolve("bucket"));
    plant(planted, root.resolve("group"), outside);
    boolean lists = name.equals("list") || name.equals("forceDirectory");
    assertThrows(
        ForeignEntryException.class,
        () -> requireNonNull(BELOW.get(name)).on(fs, lists ? bucket : bucket.resolve("victim")));
  }

  /** The look sees a directory, and the operation would meet a link: swapped in between. */
  @Test
  void whatIsSwappedAfterTheLookLeadsNowhere() throws Exception {
    Path bucket = Files.createDirectory(root.resolve("bucket"));
    Files.writeString(bucket.resolve("victim"), "a file of the store");
    Files.move(bucket, temp.resolve("moved"));
    Files.createSymbolicLink(bucket, outside);
    ForeignEntryException e =
        assertThrows(
            ForeignEntryException.class,
            () -> HeldParent.of(bucket.resolve("victim"), new LinkGuard(root)).close());
    assertTrue(e.getMessage().contains("one that is not in the store"), e.getMessage());
    victimIsWhole();
  }

  /** The name itself is taken relative to the directory, and not followed. */
  @Test
  void aNameThatIsSwappedAfterTheLookIsNotFollowed() throws Exception {
    Path place = root.resolve("prelock");
    Files.createSymbolicLink(place, victim);
    try (HeldParent parent = HeldParent.of(place, new LinkGuard(root))) {
      assertThrows(FileSystemException.class, () -> parent.chmod(0444));
      assertThrows(
          FileSystemException.class,
          () ->
              parent.open(
                  java.util.Set.of(
                      java.nio.file.StandardOpenOption.WRITE,
                      java.nio.file.LinkOption.NOFOLLOW_LINKS)));
      parent.unlink();
    }
    victimIsWhole();
    assertFalse(Files.exists(place, java.nio.file.LinkOption.NOFOLLOW_LINKS));
  }

  @Test
  void theRootAndWhatIsAboveItMayBeLinks() throws Exception {
    Path way = Files.createSymbolicLink(temp.resolve("way"), temp);
    Path named = Files.createSymbolicLink(temp.resolve("named"), way.resolve("store"));
    var linked = new PosixFs(named, null);
    linked.mkdir(named.resolve("logs"), 02775);
    linked.mkdir(named.resolve("logs/jobs"), 02775);
    Path file = named.resolve("logs/jobs/identity");
    linked.create(file, 0664).close();
    linked.chmod(file, 0440);
    assertEquals(0440, linked.status(file).mode());
    assertEquals(02775, linked.status(named.resolve("logs")).mode());
    linked.unlink(file);
    linked.rmdir(named.resolve("logs/jobs"));
    linked.forceDirectory(named);
    assertEquals(List.of("logs"), linked.list(named));
  }

  /** As `--store .` and `--store store` name it. */
  @Test
  void theRootMayBeNamedRelatively() throws Exception {
    Path here = Path.of("").toAbsolutePath().relativize(root.toAbsolutePath());
    var relative = new PosixFs(here, null);
    relative.mkdir(here.resolve("keys"), 0755);
    relative.create(here.resolve("keys/1"), 0644).close();
    relative.unlink(here.resolve("keys/1"));
    Files.createSymbolicLink(root.resolve("logs"), outside);
    assertThrows(ForeignEntryException.class, () -> relative.read(here.resolve("logs/victim")));
    var dot = new LinkGuard(Path.of("."));
    assertTrue(dot.isBelow(Path.of("./logs")));
    var empty = new LinkGuard(Path.of(""));
    assertTrue(empty.isBelow(Path.of("logs")));
    assertEquals(2, empty.depth(Path.of("logs/jobs")));
    assertFalse(empty.isBelow(Path.of("")));
  }

  /** A look is never the source of a "no": what is missing is the operation's to say. */
  @Test
  void errorsAreThoseOfTheOperationAndNameTheWholePath() throws Exception {
    Path none = root.resolve("none/file");
    for (Operation operation : BELOW.values()) {
      NoSuchFileException e = assertThrows(NoSuchFileException.class, () -> operation.on(fs, none));
      assertTrue(String.valueOf(e.getFile()).startsWith(root + "/none"), e.getFile());
    }
    Path file = Files.writeString(root.resolve("file"), "");
    assertThrows(
        java.nio.file.FileAlreadyExistsException.class, () -> fs.create(file, 0644).close());
    Files.createDirectories(root.resolve("full/of"));
    FileSystemException full =
        assertThrows(
            java.nio.file.DirectoryNotEmptyException.class, () -> fs.rmdir(root.resolve("full")));
    assertEquals(root.resolve("full").toString(), full.getFile());
    assertThrows(NotDirectoryException.class, () -> new PosixFs(file, null).list(file));
  }

  @ParameterizedTest
  @EnumSource(names = {"PIPE", "SOCKET", "DEVICE"})
  void whatIsNoDirectoryIsNotListedWhereTheRootShouldBe(Planted planted) throws Exception {
    Path place = temp.resolve("elsewhere");
    plant(planted, place, victim);
    assertThrows(NotDirectoryException.class, () -> new PosixFs(place, null).list(place));
  }

  /** The kernel says what it met, and not where. */
  @Test
  void aReadThatFailsNamesItsFile() throws Exception {
    Path file = Files.writeString(root.resolve("file"), "text");
    var failing =
        new ShortChannel(FileChannel.open(file), 1, 1) {
          @Override
          public int read(ByteBuffer into, long position) throws IOException {
            throw new IOException("Input/output error");
          }
        };
    try (StoreFile in = new ChannelFile(failing, 1, file)) {
      FileSystemException e =
          assertThrows(FileSystemException.class, () -> in.read(ByteBuffer.allocate(1), 0));
      assertEquals(file + ": Input/output error", InWords.line(e));
    }
  }
}
