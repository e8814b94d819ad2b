package dev.cinch.lease.cell.net;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * How often a node has started (rule P4): the highest number among the files of its own directory,
 * which are empty and have names like {@code node-2-boot-0000000017}. A node whose directory is
 * lost must come back with another id.
 *
 * <p>A start makes its file exclusively, and looks again: its number is its own only if there is no
 * higher one. Since the highest is never removed, a number that was used is not used again,
 * whatever starts at the same time. There is no rename, which clients of a shared filesystem may
 * repeat or undo (rule N1).
 *
 * <p>The directory is locked until this is closed, which keeps out a second process that is started
 * later by mistake. Numbers do not depend on the lock: some shared filesystems have none.
 */
final class BootCounter implements AutoCloseable {
  private static final Pattern NAME = Pattern.compile("node-(\\d{1,10})-boot-(\\d{10})");

  /** What versions before wrote into a file {@code boot}, and replaced by renaming. */
  private static final Pattern LINE = Pattern.compile("node (\\d{1,10}) boot (\\d{1,10})\n");

  private static final int LONGEST = 64;

  private final FileChannel lock;
  private final int boot;

  private BootCounter(FileChannel lock, int boot) {
    this.lock = lock;
    this.boot = boot;
  }

  /**
   * Counts a start. When it returns, the new count is durable.
   *
   * @param directory of the node alone; made if there is none
   * @throws IOException one line: another process has the directory, it is another node's, the
   *     count is damaged, or it can't be written
   */
  static BootCounter next(Path directory, int node) throws IOException {
    make(directory);
    FileChannel lock =
        FileChannel.open(
            directory.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    try {
      lock(lock, directory);
      return new BootCounter(lock, take(directory, node));
    } catch (IOException | RuntimeException e) {
      lock.close();
      throw e;
    }
  }

  private static void make(Path directory) throws IOException {
    if (!Files.isDirectory(directory)) {
      Path parent = directory.toAbsolutePath().normalize().getParent();
      if (parent != null) {
        make(parent);
        Files.createDirectories(directory);
        force(parent); // or its loss would begin the count anew
      }
    }
  }

  private static void lock(FileChannel channel, Path directory) throws IOException {
    FileLock locked;
    try {
      locked = channel.tryLock();
    } catch (OverlappingFileLockException e) {
      locked = null;
    }
    if (locked == null) {
      throw new IOException(directory + ": another process runs the node of this directory");
    }
  }

  /** Takes the next number, without the lock's help. */
  static int take(Path directory, int node) throws IOException {
    long last = Math.max(earlier(directory.resolve("boot"), node), highest(directory, node));
    if (last >= Integer.MAX_VALUE) {
      throw new IOException(directory + ": starts are used up; give the node another id");
    }
    int next = (int) last + 1;
    claim(directory, node, next);
    return next;
  }

  /** Makes a number this start's own, or throws: then nobody may use it. */
  static void claim(Path directory, int node, int boot) throws IOException {
    try (FileChannel made =
        FileChannel.open(
            directory.resolve(name(node, boot)),
            StandardOpenOption.CREATE_NEW,
            StandardOpenOption.WRITE)) {
      made.force(true);
    } catch (FileAlreadyExistsException e) {
      throw overtaken(directory);
    }
    force(directory);
    if (highest(directory, node) != boot) {
      throw overtaken(directory);
    }
    removeBelow(directory, boot);
  }

  private static IOException overtaken(Path directory) {
    return new IOException(
        directory + ": another process started the node of this directory at the same time");
  }

  private static String name(int node, long boot) {
    return "node-%d-boot-%010d".formatted(node, boot);
  }

  private static long highest(Path directory, int node) throws IOException {
    long highest = 0;
    for (Path file : list(directory)) {
      Matcher name = NAME.matcher(file.getFileName().toString());
      if (name.matches()) {
        requireOf(node, name.group(1), file);
        highest = Math.max(highest, Long.parseLong(name.group(2)));
      }
    }
    return highest;
  }

  /**
   * Lists the directory past what this machine remembers of it: a change of its own has it look
   * again (rule N2).
   */
  private static List<Path> list(Path directory) throws IOException {
    Files.delete(Files.createTempFile(directory, "look-", ""));
    try (Stream<Path> files = Files.list(directory)) {
      return files.toList();
    } catch (UncheckedIOException e) {
      throw new IOException(directory + ": " + e.getMessage(), e);
    }
  }

  /** What no start needs any more. It may stay: it is only in the way of people. */
  private static void removeBelow(Path directory, int boot) throws IOException {
    for (Path file : list(directory)) {
      Matcher name = NAME.matcher(file.getFileName().toString());
      if (name.matches() && Long.parseLong(name.group(2)) < boot) {
        Files.deleteIfExists(file);
      }
    }
  }

  /** The count of versions before. Its file is not written any more, and stays. */
  private static long earlier(Path file, int node) throws IOException {
    if (!Files.exists(file)) {
      return 0;
    }
    String text = Files.size(file) > LONGEST ? "" : Files.readString(file, US_ASCII);
    Matcher line = LINE.matcher(text);
    if (!line.matches()) {
      throw new IOException(
          file + ": damaged; give the node another id in the cell's file, and a new directory");
    }
    requireOf(node, line.group(1), file);
    return Long.parseLong(line.group(2));
  }

  private static void requireOf(int node, String id, Path file) throws IOException {
    if (Long.parseLong(id) != node) {
      throw new IOException(file + ": of node " + id + ", not of node " + node);
    }
  }

  private static void force(Path directory) throws IOException {
    try (FileChannel entries = FileChannel.open(directory, StandardOpenOption.READ)) {
      entries.force(true);
    }
  }

  int boot() {
    return boot;
  }

  @Override
  public void close() throws IOException {
    lock.close();
  }
}
