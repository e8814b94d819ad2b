package dev.cinch.cli.store;

import static java.util.Objects.requireNonNull;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.abort;

import dev.cinch.bag.fs.Planted;
import dev.cinch.bag.model.TimeName;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.Forked;
import dev.cinch.lease.Share;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Every file and every directory of a small store is replaced by a link, a pipe, a socket, a device
 * and the like, and every command is run (rule N7): none hangs, none touches what stands outside,
 * each gives the answer of the untouched store or a code that is not 0, and errors say where and
 * what in words.
 */
@SuppressWarnings("NullAway.Init")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class ForeignEntriesTest {
  private static final Duration LIMIT = Duration.ofMinutes(10);

  /** Those that change nothing, and whose answer does not depend on when they are asked. */
  private static final List<String> READERS =
      List.of(
          "cat --log=jobs",
          "cat --log=jobs --live",
          "view cat --log=jobs",
          "salvage --log=jobs",
          "audit",
          "verify",
          "doctor");

  private static final List<String> WRITERS =
      List.of("append --log=jobs", "close", "view build --wait=0s", "gc --retention=0s");

  /** Not all of them each time; together they are all. */
  private static List<String> commands(Planted planted, boolean same) {
    var commands = new ArrayList<String>();
    switch (planted) {
      case LINK, PIPE -> commands.addAll(same ? READERS.subList(0, 4) : READERS);
      case SOCKET -> commands.addAll(List.of("cat --log=jobs", "cat --log=jobs --live"));
      case DEVICE -> commands.addAll(List.of("view cat --log=jobs", "salvage --log=jobs"));
      default -> commands.addAll(List.of("cat --log=jobs --live", "audit"));
    }
    if (!commands.contains("verify")) {
      commands.add("verify");
    }
    boolean writes = !same && planted == Planted.LINK;
    commands.addAll(writes || planted == Planted.HARD_LINK ? WRITERS : List.of("close"));
    return commands;
  }

  private Path temp;
  private Path template;
  private final Map<String, Cinch.Ran> right = new HashMap<>();

  @BeforeAll
  void make(@TempDir Path directory) throws Exception {
    temp = directory;
    template = Cinch.quickStore(temp);
    Cinch cinch = Cinch.on(template);
    for (String log : List.of("jobs", "other")) {
      // Minutes apart, so that no two come into one bucket, however fast the machine is.
      cinch.settled(log, "first of " + log + "\n", Duration.ofMinutes(30));
      cinch.run("view", "build", "--wait=0s", "--log=" + log).ended(0);
      cinch.run("gc", "--retention=0s", "--log=" + log).ended(0);
      cinch.settled(log, "second of " + log + "\n", Duration.ofMinutes(20));
      cinch.overdue(log, "third of " + log + "\n");
    }
    cinch.run("keygen", "--key=" + temp.resolve("cinch.key"), "--store=" + template).ended(0);
    Files.createFile(template.resolve("service/instances/0000000001"));
    for (String command : READERS) {
      right.put(command, run(template, command));
    }
  }

  private static Cinch.Ran run(Path store, String command) {
    return assertTimeoutPreemptively(
        LIMIT, () -> Cinch.on(store).feed("more\n", command.split(" ")), () -> command + " hangs");
  }

  /** All that stands in the store, but for the other log and the root. */
  Stream<Arguments> places() throws IOException {
    var all = new ArrayList<Arguments>();
    for (Path path : tree(template)) {
      String place = template.relativize(path).toString();
      if (place.isEmpty() || place.startsWith("logs/other")) {
        continue;
      }
      for (Planted planted : Planted.values()) {
        boolean directory = Files.isDirectory(path);
        if (directory && planted == Planted.DIRECTORY) {
          continue; // is what belongs there
        }
        all.add(Arguments.of(place, planted, false));
        if (planted == Planted.LINK) {
          all.add(Arguments.of(place, planted, true));
        }
      }
    }
    return Share.some(all, 11).stream();
  }

  private static List<Path> tree(Path top) throws IOException {
    try (Stream<Path> all = Files.walk(top)) {
      return all.sorted().toList();
    }
  }

  private static void copy(Path from, Path to) throws IOException {
    for (Path path : tree(from)) {
      Path there = to.resolve(from.relativize(path).toString());
      if (Files.isDirectory(path)) {
        Files.createDirectories(there);
      } else {
        Files.copy(path, there, StandardCopyOption.COPY_ATTRIBUTES);
      }
    }
  }

  private static void remove(Path top) throws IOException {
    try (Stream<Path> all = Files.walk(top)) {
      for (Path path : all.sorted(java.util.Comparator.reverseOrder()).toList()) {
        Files.delete(path);
      }
    }
  }

  /** The way to the only bucket that is not closed, and to one that is. */
  private Path bucket(Path store, boolean closed) throws IOException {
    return tree(store.resolve("logs/jobs/buckets")).stream()
        .filter(p -> p.endsWith("prelock"))
        .map(p -> requireNonNull(p.getParent()))
        .filter(p -> Files.exists(p.resolve("lock")) == closed)
        .findFirst()
        .orElseThrow();
  }

  private Path copied() throws IOException {
    Path store = Files.createTempDirectory(temp, "copied-").resolve("store");
    copy(template, store);
    return store;
  }

  /** Closing goes on without it, and says so; what is settled does not have it. */
  @Test
  void whatIsPlantedBesideDataFilesIsLeftOut() throws Exception {
    Path store = copied();
    Path pipe = bucket(store, false).resolve("m1-0123456789abcdef0123456789abcdef.log");
    Planted.PIPE.plant(pipe, pipe);
    Cinch.Ran live = run(store, "cat --log=jobs --live");
    live.failed(1, pipe + ": expected a regular file, found a named pipe; it was not opened");
    assertEquals("first of jobs\nsecond of jobs\nthird of jobs\n", live.out());
    Path other = pipe.resolveSibling("m2-0123456789abcdef0123456789abcdef.log");
    Planted.PIPE.plant(other, other);
    Cinch.Ran closed = run(store, "close").ended(1);
    for (Path each : List.of(pipe, other)) { // both are told
      String said = each + ": expected a regular file, found a named pipe; it was not opened";
      assertTrue(closed.err().contains(said), closed.err());
    }
    assertTrue(closed.out().contains("jobs: settled through"), closed.out());
    assertEquals(live.out(), run(store, "cat --log=jobs").ended(0).out());
    run(store, "close").ended(0);
  }

  /** Directories of other buckets, editors' backups, what filesystems and servers leave. */
  @Test
  void whatStandsWhereItDoesNotBelongIsPassedOver() throws Exception {
    Path store = copied();
    List<String> directories = List.of(".snapshot", "lost+found", "20200101T000000.000Z", "LOCK");
    List<String> files = List.of(".nfs0000000000000001", "lock~", ".#lock", "prelock.bak", "a b");
    var tree = tree(store).stream().filter(Files::isDirectory).toList();
    for (Path directory : tree) {
      for (String name : directories) {
        Files.createDirectory(directory.resolve(name));
      }
      for (String name : files) {
        Files.writeString(directory.resolve(name), "somebody's");
      }
    }
    for (Path directory : List.of(bucket(store, false), bucket(store, true))) {
      // Buckets that are there, in the groups of others.
      Path above = requireNonNull(requireNonNull(directory.getParent()).getParent());
      Files.createDirectories(
          above.resolve("20200101T000000.000Z").resolve(directory.getFileName()));
    }
    for (String command :
        List.of("cat --log=jobs", "cat --log=jobs --live", "view cat --log=jobs")) {
      assertEquals(requireNonNull(right.get(command)).out(), run(store, command).ended(0).out());
    }
    assertTrue(run(store, "salvage --log=jobs").out().endsWith("third of jobs\n"));
    String verified = run(store, "verify").ended(0).out();
    assertTrue(verified.contains("0 damaged"), verified);
    String notes = run(store, "verify --notes").ended(0).out();
    Path group = requireNonNull(bucket(store, false).getParent());
    assertTrue(notes.contains("note " + group.resolve("20200101T000000.000Z")), notes);
    assertTrue(run(store, "close").ended(0).out().contains("jobs: settled through"));
    assertEquals(
        requireNonNull(right.get("cat --log=jobs --live")).out(),
        run(store, "cat --log=jobs").ended(0).out());
    assertFalse(run(store, "status").out().contains("prelock.bak"));
    run(store, "view build --wait=0s").ended(0);
    run(store, "append --log=jobs").ended(0);
  }

  /** As cron runs it: a pipe in one log, and the next is closed all the same. */
  @Test
  void aProcessThatClosesTwoLogsIsNotStoppedByAPipe() throws Exception {
    Path store = copied();
    Path prelock = bucket(store, false).resolve("prelock");
    Files.delete(prelock);
    Planted.PIPE.plant(prelock, prelock);
    try (var close = new Forked("close", "--store=" + store)) {
      assertTimeoutPreemptively(
          LIMIT,
          () -> {
            close.endInput();
            assertTrue(close.line().startsWith("other: settled through"));
            String said = close.err();
            assertTrue(said.contains(prelock + ": expected a regular file, found a named pipe"));
            close.ended(1);
          },
          "close hangs");
    }
  }

  /** A backup that links files must not stop closing; only the prelock would be changed by it. */
  @Test
  void filesWithOtherNamesAreMeasuredAndLeftAsTheyAre() throws Exception {
    Path store = copied();
    Path bucket = bucket(store, false);
    Path data =
        tree(bucket).stream().filter(p -> p.toString().endsWith(".log")).findFirst().orElseThrow();
    Path backup = Files.createLink(temp.resolve("backup.log"), data);
    Object mode = Files.getAttribute(data, "unix:mode");
    run(store, "close").ended(0);
    assertEquals(mode, Files.getAttribute(backup, "unix:mode"));
    assertTrue(run(store, "cat --log=jobs").ended(0).out().endsWith("third of jobs\n"));

    Path other = copied();
    Path prelock = bucket(other, false).resolve("prelock");
    Path linked = Files.createLink(temp.resolve("prelock"), prelock);
    Cinch.Ran refused = run(other, "close");
    refused.failed(1, prelock + ": expected a file with one name, found one with 2; ");
    assertTrue(refused.out().contains("other: settled through"), refused.out());
    assertEquals(0, Files.size(linked));
    Files.delete(linked);
    run(other, "close").ended(0);
  }

  /** What is not ours stays, with its directory; all else of the retired goes. */
  @Test
  void retiringLeavesWhatIsNotOurs() throws Exception {
    Path store = copied();
    Path bucket = bucket(store, true);
    Path outside = Files.createDirectory(temp.resolve("elsewhere"));
    Files.writeString(outside.resolve("prelock"), "what must stay");
    Files.setPosixFilePermissions(bucket, PosixFilePermissions.fromString("rwxrwxr-x"));
    Path pipe = bucket.resolve("m1-0123456789abcdef0123456789abcdef.log");
    Planted.PIPE.plant(pipe, pipe);
    Path notes = Files.writeString(bucket.resolve("notes.txt"), "somebody's");
    Path group = requireNonNull(bucket.getParent());
    Path link = group.resolve(TimeName.of(earlier(bucket)));
    Files.createSymbolicLink(link, outside);
    run(store, "view build --wait=0s").ended(0);
    Cinch.Ran gc = run(store, "gc --retention=0s").ended(1);
    assertEquals(3, gc.err().lines().count(), gc.err());
    for (Path left : List.of(pipe, notes, link)) {
      assertTrue(gc.err().contains("cinch gc: " + left + ": expected "), gc.err());
    }
    assertEquals(List.of(bucket, pipe, notes), tree(bucket));
    assertTrue(Files.isSymbolicLink(link));
    assertEquals("what must stay", Files.readString(outside.resolve("prelock")));
    assertTrue(gc.out().contains("other: deleted"), gc.out());
    Files.delete(pipe);
    Files.delete(notes);
    Files.delete(link);
    run(store, "gc --retention=0s").ended(0);
    assertFalse(Files.exists(bucket));
  }

  private static long earlier(Path bucket) {
    return TimeName.parse(String.valueOf(bucket.getFileName())).orElseThrow() - 100_000_000;
  }

  /** What a tree holds: names, modes and bytes. */
  private static Map<String, String> content(Path top) throws IOException {
    var content = new TreeMap<String, String>();
    for (Path path : tree(top)) {
      Object mode = Files.getAttribute(path, "unix:mode", LinkOption.NOFOLLOW_LINKS);
      content.put(
          top.relativize(path).toString(),
          mode
              + (Files.isRegularFile(path)
                  ? new String(Files.readAllBytes(path), StandardCharsets.ISO_8859_1)
                  : ""));
    }
    return content;
  }

  @ParameterizedTest(name = "{0} is {1}, of the same content {2}")
  @Tag("share")
  @MethodSource("places")
  void nobodyFollowsOrHangs(String name, Planted planted, boolean same) throws Exception {
    Path work = Files.createTempDirectory(temp, "case-");
    Path store = work.resolve("store");
    Path outside = Files.createDirectory(work.resolve("outside"));
    copy(template, store);
    Path place = store.resolve(name);
    boolean directory = Files.isDirectory(place);
    Path target = outside.resolve("victim");
    if (same) {
      copy(place, target);
    } else if (directory && planted == Planted.LINK) {
      Files.createDirectory(target);
      for (String file : List.of("prelock", "lock", "m1-0123456789abcdef0123456789abcdef.log")) {
        Files.writeString(target.resolve(file), "what must stay");
      }
    } else {
      Files.writeString(target, "what must stay");
    }
    Map<String, String> before = content(outside);
    boolean foreign = planted != Planted.HARD_LINK || directory;
    boolean torn = !foreign && name.endsWith(".log"); // a file without a header has no length
    boolean needless = name.endsWith(".log") && Files.exists(place.resolveSibling("lock"));
    remove(place);
    try {
      planted.plant(place, target);
    } catch (UnsupportedOperationException e) {
      abort(planted + " can't be made here: " + e.getMessage());
    }
    var ends = new LinkedHashMap<String, Cinch.Ran>();
    for (String command : commands(planted, same)) {
      if (command.startsWith("append") && name.startsWith("logs/jobs/horizon")) {
        continue; // waits until somebody mends it (rule A1)
      }
      Cinch.Ran ran = run(store, command);
      ends.put(command, ran);
      String said = ran.err() + ran.out();
      assertEquals(before, content(outside), () -> command + ": " + said);
      assertFalse(
          ran.err().contains("Exception")
              || ran.err().contains("java.")
              || said.contains("java.nio"),
          () -> command + ": " + said);
      assertFalse(ran.err().contains("unexpected"), () -> command + ": " + said);
      if (!torn && ran.code() == 0 && READERS.contains(command) && command.contains("--log")) {
        assertEquals(requireNonNull(right.get(command)).out(), ran.out(), command);
      }
      if (ran.code() == 1 && foreign) {
        assertTrue(said.contains(name), () -> command + " names no path: " + said);
      }
    }
    if (name.startsWith("service/instances/")) { // no key signed it, so it counts for nothing
      assertTrue(requireNonNull(ends.get("verify")).out().contains(", 1 note"), name);
    } else if (foreign && !needless && !name.equals("logs/jobs")) { // nobody misses a whole log
      assertNotEquals(
          0,
          requireNonNull(ends.get("verify")).code(),
          () -> "verify with " + name + " as " + planted + ": " + ends.get("verify"));
    }
    if (name.startsWith("logs/jobs")) {
      String closed = requireNonNull(ends.get("close")).out();
      assertTrue(closed.contains("other: settled through"), () -> "close: " + ends.get("close"));
    }
    remove(work);
  }
}
