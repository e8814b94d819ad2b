package dev.cinch.lease.cell.net;

import static java.nio.charset.StandardCharsets.US_ASCII;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.OwnersFile;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.HexFormat;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * What the nodes of a cell authenticate their datagrams with: 32 bytes. Whoever has it can take,
 * end and grant all leases of the cell. Its file has one line, {@code cinch-cell-key-1} and 64
 * hexadecimal digits.
 *
 * <p>Immutable and thread-safe.
 */
@CheckReturnValue
public final class CellKey {
  static final int BYTES = 32;
  private static final String KEY = "cinch-cell-key-1 ";
  private static final String MAC = "HmacSHA256";
  private static final int LONGEST = 1_000;

  private final byte[] key;

  CellKey(byte[] key) {
    this.key = key.clone();
  }

  /**
   * Reads the cell's key.
   *
   * @throws IOException if it can't be read, or is not such a file; one line that names it, and
   *     never the key
   */
  static CellKey load(Path file) throws IOException {
    String text =
        Files.size(file) > LONGEST ? "" : Files.readString(file, US_ASCII).stripTrailing();
    try {
      if (text.startsWith(KEY) && text.length() == KEY.length() + 2 * BYTES) {
        return new CellKey(HexFormat.of().parseHex(text, KEY.length(), text.length()));
      }
    } catch (IllegalArgumentException e) {
      // Its message would quote the secret.
    }
    throw new IOException(
        file + " is not a cell's key: one line, \"" + KEY + "\" and 64 hexadecimal digits");
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
    OwnersFile.writeNew(file, KEY + HexFormat.of().formatHex(key) + "\n");
  }

  Mac mac() {
    try {
      Mac mac = Mac.getInstance(MAC);
      mac.init(new SecretKeySpec(key, MAC));
      return mac;
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every Java has " + MAC, e);
    }
  }
}
