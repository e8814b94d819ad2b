package dev.cinch.cli.lease;

import dev.cinch.bag.model.LogName;
import dev.cinch.cli.base.Failure;
import dev.cinch.lease.Id;
import dev.cinch.lease.client.ServerAddresses;
import java.io.Closeable;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A grant that commands of one user on one machine share, as a directory that {@code CINCH_GRANT}
 * names and that only its user can open. Whoever holds the leases makes it; each append under them
 * uses it. It keeps rule L2 among them: the leases are given back only when every use has ended,
 * with the highest timestamp of all, and to the instance that all of them went by. Of an append
 * that was killed, nobody knows what it wrote: then they run out instead, and the next holder
 * fences.
 *
 * <ul>
 *   <li>{@code grant}: the id; the addresses of the lease service; how long each renewal makes the
 *       leases last, milliseconds
 *   <li>{@code limits}: until when the command of a {@code lease run} may go on, for its launcher
 *       and guard
 *   <li>{@code given-back}: made before the leases are given back, which may be tried again
 *   <li>{@code use-ID}: an append that has not ended; made before it looks for {@code given-back},
 *       so that either it finds that, or whoever gives back finds the use
 *   <li>{@code resume-LOG}: locked by an append that goes on with its input in a log; nobody else
 *       does so meanwhile
 *   <li>{@code wrote-ID}: its highest timestamp, or {@code none}, and the instance that it went by;
 *       whole before its {@code use-ID} is removed
 * </ul>
 */
public final class GrantDirectory {
  private static final String GRANT = "grant";
  private static final String GIVEN_BACK = "given-back";
  private static final String USE = "use-";
  private static final String WROTE = "wrote-";

  private final Path directory;
  private final Id id;
  private final ServerAddresses servers;
  private final Duration lasting;

  private GrantDirectory(Path directory, Id id, ServerAddresses servers, Duration lasting) {
    this.directory = directory;
    this.id = id;
    this.servers = servers;
    this.lasting = lasting;
  }

  /**
   * Makes one where the user's other sockets and secrets are, else where temporary files are.
   *
   * @param lasting how long the leases last unless they are renewed, at least 1 ms
   */
  static GrantDirectory make(
      Id id, ServerAddresses servers, Duration lasting, Function<String, @Nullable String> env)
      throws IOException {
    String runtime = env.apply("XDG_RUNTIME_DIR");
    Path parent =
        runtime != null && Files.isWritable(Path.of(runtime))
            ? Path.of(runtime)
            : Path.of(System.getProperty("java.io.tmpdir"));
    Path made = Files.createTempDirectory(parent, "cinch-grant-"); // with mode 0700
    var grant = new GrantDirectory(made, id, servers, lasting);
    boolean written = false;
    try {
      Files.createFile(
          made.resolve(GRANT),
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
      Files.write(
          made.resolve(GRANT),
          List.of(id.toString(), servers.toString(), Long.toString(lasting.toMillis())));
      written = true;
    } finally {
      if (!written) {
        grant.remove();
      }
    }
    return grant;
  }

  /**
   * Opens one.
   *
   * @throws Failure.Refusal if its leases were given back
   */
  public static GrantDirectory open(Path directory) throws IOException {
    List<String> lines = lines(directory);
    if (lines.size() < 3) {
      throw new IOException(directory + " is no grant of cinch lease");
    }
    try {
      return new GrantDirectory(
          directory,
          Id.parse(lines.get(0)),
          ServerAddresses.parse(lines.get(1)),
          Duration.ofMillis(Long.parseLong(lines.get(2))));
    } catch (IllegalArgumentException e) {
      throw new IOException(directory + " is no grant of cinch lease", e);
    }
  }

  private static List<String> lines(Path directory) throws IOException {
    try {
      return Files.readAllLines(directory.resolve(GRANT));
    } catch (NoSuchFileException e) {
      throw new Failure.Refusal(
          GrantOption.VARIABLE + ": there is no grant in " + directory + ", or it was given back");
    }
  }

  Path path() {
    return directory;
  }

  /** The file that says until when a command may go on; not made here. */
  Path limits() {
    return directory.resolve("limits");
  }

  public Id id() {
    return id;
  }

  public ServerAddresses servers() {
    return servers;
  }

  /** How long each renewal makes the leases last. */
  public Duration lasting() {
    return lasting;
  }

  /** Whether it is still there, and the leases are not being given back. */
  public boolean isOpen() {
    return Files.exists(directory.resolve(GRANT)) && !Files.exists(directory.resolve(GIVEN_BACK));
  }

  /** A command that may write under the leases. */
  public final class Use {
    private final String name = UUID.randomUUID().toString();

    /**
     * It has ended, and writes nothing more.
     *
     * @param highest the highest timestamp that it may have given; empty: it wrote nothing
     * @param instance whose witnesses it went by
     */
    public void ended(OptionalLong highest, long instance) throws IOException {
      String wrote = highest.isPresent() ? Long.toString(highest.getAsLong()) : "none";
      try {
        Files.writeString(directory.resolve(WROTE + name), wrote + " " + instance + "\n");
      } catch (NoSuchFileException e) {
        return; // nobody waited for it: the leases run out
      }
      unused();
    }

    /** It can't have written anything. */
    public void unused() throws IOException {
      Files.deleteIfExists(directory.resolve(USE + name));
    }
  }

  /**
   * Begins a use.
   *
   * @throws Failure.Refusal if the leases are being given back
   */
  public Use use() throws IOException {
    var use = new Use();
    try {
      Files.createFile(directory.resolve(USE + use.name));
    } catch (NoSuchFileException e) {
      throw gone();
    }
    if (!isOpen()) {
      use.unused();
      throw new Failure.Refusal(directory + ": its leases are being given back");
    }
    return use;
  }

  private Failure.Refusal gone() {
    return new Failure.Refusal(directory + " is gone: its leases were given back");
  }

  /**
   * Has an append that goes on with its input be the only one that does so under the grant in its
   * log, until what is returned is closed or the process ends: of two each would take the other's
   * lines for its own, and leave as many out.
   *
   * @throws Failure.Refusal if there is another one
   */
  public Closeable resuming(LogName log) throws IOException {
    FileChannel file;
    try {
      file =
          FileChannel.open(
              directory.resolve("resume-" + log),
              StandardOpenOption.CREATE,
              StandardOpenOption.WRITE);
    } catch (NoSuchFileException e) {
      throw gone();
    }
    boolean alone = false;
    try {
      alone = file.tryLock() != null;
    } catch (OverlappingFileLockException e) {
      // Of this process.
    } finally {
      if (!alone) {
        file.close();
      }
    }
    if (!alone) {
      throw new Failure.Refusal(
          "another append goes on with its input in log \"%s\" under the same grant; run one after the other, or under leases of their own"
              .formatted(log));
    }
    return file;
  }

  /**
   * What the uses left.
   *
   * @param open how many have not ended, or died
   * @param highest the highest timestamp of the others; empty if none wrote anything
   * @param instances that they went by
   */
  record Uses(int open, OptionalLong highest, Set<Long> instances) {}

  /** Lets nobody begin a use any more. */
  Uses close() throws IOException {
    try {
      Files.createFile(directory.resolve(GIVEN_BACK));
    } catch (FileAlreadyExistsException e) {
      // It was closed before.
    } catch (NoSuchFileException e) {
      // The directory is gone.
    }
    var open = new HashSet<String>();
    OptionalLong highest = OptionalLong.empty();
    var instances = new HashSet<Long>();
    for (Path file : files()) {
      if (isA(USE, file)) {
        open.add(String.valueOf(file.getFileName()).substring(USE.length()));
      }
    }
    // In a listing of its own, begun after the other one: a use that ended while that went on
    // may be missing there, and what it wrote too.
    for (Path file : files()) {
      if (isA(WROTE, file)
          && !open.contains(String.valueOf(file.getFileName()).substring(WROTE.length()))) {
        String[] words = Files.readString(file).strip().split(" ");
        if (!words[0].equals("none")) {
          long wrote = Long.parseLong(words[0]);
          highest = OptionalLong.of(Math.max(wrote, highest.orElse(wrote)));
        }
        instances.add(Long.parseLong(words[1]));
      }
    }
    return new Uses(open.size(), highest, instances);
  }

  private static boolean isA(String kind, Path file) {
    return String.valueOf(file.getFileName()).startsWith(kind);
  }

  /** Lets uses begin again, since nobody was asked to take the leases back. */
  void reopen() throws IOException {
    Files.deleteIfExists(directory.resolve(GIVEN_BACK));
  }

  /** Removes it: the leases were given back, or never will be. */
  void remove() throws IOException {
    Files.deleteIfExists(directory.resolve(GRANT)); // before what tells uses that it is given back
    for (Path file : files()) {
      Files.deleteIfExists(file);
    }
    try {
      Files.deleteIfExists(directory);
    } catch (DirectoryNotEmptyException e) {
      // A use that ended at this moment: what it left there concerns nobody any more.
    }
  }

  private List<Path> files() throws IOException {
    var found = new ArrayList<Path>();
    try (DirectoryStream<Path> names = Files.newDirectoryStream(directory)) {
      names.forEach(found::add);
    } catch (NoSuchFileException e) {
      // Somebody gave the leases back already: nobody can begin a use there.
    }
    return found;
  }
}
