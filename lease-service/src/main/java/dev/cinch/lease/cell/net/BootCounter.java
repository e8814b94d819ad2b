package dev.cinch.lease.cell.net;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * How often a node has started (rule R4), in the file {@code boot} of its own directory: one line
 * like {@code node 2 boot 17}. The directory is locked until this is closed. A node whose directory
 * is lost must come back with another id.
 *
 * <p>The directory is on a disk of the node's machine, and no part of a store. So the file may be
 * renamed and locked, which is not so on a shared filesystem (rule N1).
 */
final class BootCounter implements AutoCloseable {
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
    Files.createDirectories(directory);
    FileChannel lock =
        FileChannel.open(
            directory.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    try {
      lock(lock, directory);
      int boot = read(directory.resolve("boot"), node) + 1;
      write(directory, "node " + node + " boot " + boot + "\n");
      return new BootCounter(lock, boot);
    } catch (IOException | RuntimeException e) {
      lock.close();
      throw e;
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

  private static int read(Path file, int node) throws IOException {
    if (!Files.exists(file)) {
      return 0;
    }
    String text = Files.size(file) > LONGEST ? "" : Files.readString(file, US_ASCII);
    Matcher line = LINE.matcher(text);
    if (!line.matches()) {
      throw new IOException(
          file + ": damaged; give the node another id in the cell's file, and a new directory");
    }
    if (Long.parseLong(line.group(1)) != node) {
      throw new IOException(file + ": of node " + line.group(1) + ", not of node " + node);
    }
    long boot = Long.parseLong(line.group(2));
    if (boot >= Integer.MAX_VALUE) {
      throw new IOException(file + ": starts are used up; give the node another id");
    }
    return (int) boot;
  }

  private static void write(Path directory, String line) throws IOException {
    Path written = directory.resolve("boot.new");
    try (FileChannel out =
        FileChannel.open(
            written,
            StandardOpenOption.CREATE,
            StandardOpenOption.WRITE,
            StandardOpenOption.TRUNCATE_EXISTING)) {
      ByteBuffer bytes = ByteBuffer.wrap(line.getBytes(US_ASCII));
      while (bytes.hasRemaining()) {
        out.write(bytes);
      }
      out.force(true);
    }
    Files.move(written, directory.resolve("boot"), StandardCopyOption.ATOMIC_MOVE);
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
