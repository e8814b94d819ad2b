package dev.cinch.lease.cell.net;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.Set;

/**
 * The key that all nodes of a cell have, clients that propose, and nobody else: 32 bytes, in a file
 * of one line. Whoever has it can take, end and grant leases of the cell.
 */
public final class CellKey {
  static final int BYTES = 32;
  private static final String PREFIX = "cinch-cell-key-1 ";
  private static final int LONGEST = 1_000;

  private CellKey() {}

  /**
   * Reads a key.
   *
   * @throws IOException if it can't be read, or is not such a file; one line that names it, and
   *     never the key
   */
  static byte[] load(Path file) throws IOException {
    String text = Files.size(file) > LONGEST ? "" : Files.readString(file, US_ASCII);
    String line = text.stripTrailing();
    if (line.startsWith(PREFIX) && line.length() == PREFIX.length() + 2 * BYTES) {
      try {
        return HexFormat.of().parseHex(line, PREFIX.length(), line.length());
      } catch (IllegalArgumentException e) {
        // Its message would quote the secret.
      }
    }
    throw new IOException(
        file + " is not a cell's key: one line, \"" + PREFIX + "\" and 64 hexadecimal digits");
  }

  /**
   * Writes a new key, with mode 0600 from the start where the filesystem knows modes, and forces
   * it.
   *
   * @throws FileAlreadyExistsException if there is such a file; it is left alone
   */
  public static void create(Path file) throws IOException {
    var key = new byte[BYTES];
    new SecureRandom().nextBytes(key);
    boolean posix = file.getFileSystem().supportedFileAttributeViews().contains("posix");
    FileAttribute<?>[] owner =
        posix
            ? new FileAttribute<?>[] {
              PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))
            }
            : new FileAttribute<?>[0];
    var options = Set.of(StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW);
    try (var channel = FileChannel.open(file, options, owner)) {
      String line = PREFIX + HexFormat.of().formatHex(key) + "\n";
      ByteBuffer bytes = ByteBuffer.wrap(line.getBytes(US_ASCII));
      while (bytes.hasRemaining()) {
        channel.write(bytes);
      }
      channel.force(true);
    }
  }
}
