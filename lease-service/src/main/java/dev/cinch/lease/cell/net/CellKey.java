package dev.cinch.lease.cell.net;

import static java.nio.charset.StandardCharsets.US_ASCII;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.OwnersFile;
import dev.cinch.lease.access.Caller;
import dev.cinch.lease.access.FileVersion;
import dev.cinch.lease.cell.Bytes;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What a member of a cell authenticates its datagrams with, from a file of text.
 *
 * <p>Nodes have the <b>cell's key</b>, 32 bytes, and so may clients that are trusted like a node:
 * with it they can take, end and grant all leases of the cell. The file has a line {@code
 * cinch-cell-key-1} and 64 hexadecimal digits. Up to {@value #MOST} such lines are keys that count
 * beside each other while one takes the place of another; the first one signs.
 *
 * <p>Other clients have a {@link CellPass}, in a file of one line: {@code cinch-cell-pass-1}, the
 * digits of its key, and what it says.
 *
 * <p>Immutable and thread-safe.
 */
@CheckReturnValue
public final class CellKey {
  static final int BYTES = 32;
  static final int MOST = 4;
  private static final String KEY = "cinch-cell-key-1 ";
  private static final String PASS = "cinch-cell-pass-1 ";
  private static final int DIGITS = 2 * BYTES;
  private static final int LONGEST = 1_000;

  private final List<byte[]> keys;
  private final @Nullable CellPass pass;

  private CellKey(List<byte[]> keys, @Nullable CellPass pass) {
    this.keys = List.copyOf(keys);
    this.pass = pass;
  }

  /** Of 32 bytes each; the first signs. */
  static CellKey of(byte[]... keys) {
    return new CellKey(List.of(keys), null);
  }

  /** Of a pass, whose key was made of the cell's. */
  static CellKey of(CellPass pass, byte[] key) {
    return new CellKey(List.of(key), pass);
  }

  /** All that count; the first signs. */
  List<byte[]> keys() {
    return keys;
  }

  /** How many keys count. */
  public int size() {
    return keys.size();
  }

  /** What is permitted; null to members that have the cell's key, which may do all. */
  @Nullable CellPass pass() {
    return pass;
  }

  /**
   * Reads the file of a client, or of a node.
   *
   * @throws IOException if it can't be read, or is not such a file; one line that names it, and
   *     never a key
   */
  public static CellKey load(Path file) throws IOException {
    String text = Files.size(file) > LONGEST ? "" : Files.readString(file, US_ASCII);
    List<String> lines = text.lines().toList();
    try {
      if (lines.size() == 1 && lines.get(0).startsWith(PASS)) {
        String rest = lines.get(0).substring(PASS.length());
        byte[] key = HexFormat.of().parseHex(rest.substring(0, DIGITS));
        return of(CellPass.parse(rest.substring(DIGITS + 1)), key);
      }
      var keys = new ArrayList<byte[]>();
      for (String line : lines) {
        if (!line.startsWith(KEY) || line.length() != KEY.length() + DIGITS) {
          keys.clear();
          break;
        }
        keys.add(HexFormat.of().parseHex(line, KEY.length(), line.length()));
      }
      if (!keys.isEmpty() && keys.size() <= MOST) {
        return new CellKey(keys, null);
      }
    } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
      // Its message would quote the secret.
    }
    throw new IOException(
        file + " is not a cell's key: one line, \"" + KEY + "\" and 64 hexadecimal digits");
  }

  /**
   * Reads the cell's key.
   *
   * @throws IOException likewise, and if it is a client's pass
   */
  public static CellKey loadWhole(Path file) throws IOException {
    CellKey key = load(file);
    if (key.pass != null) {
      throw new IOException(
          file + " is a pass of a client, \"" + key.pass.name() + "\": this needs the cell's key");
    }
    return key;
  }

  /**
   * Writes a new key, with mode 0600 from the start where the filesystem knows modes, and forces
   * it.
   *
   * @throws FileAlreadyExistsException if there is such a file; it is left alone
   */
  public static void create(Path file) throws IOException {
    of(drawn()).write(file);
  }

  private static byte[] drawn() {
    var key = new byte[BYTES];
    new SecureRandom().nextBytes(key);
    return key;
  }

  /**
   * One more key, that counts from now on, and does not sign yet.
   *
   * @throws IllegalStateException if there are as many as can be
   */
  public CellKey added() {
    if (keys.size() == MOST) {
      throw new IllegalStateException("there are " + MOST + " keys already: drop some first");
    }
    var all = new ArrayList<>(keys);
    all.add(drawn());
    return new CellKey(all, null);
  }

  /**
   * The last key signs; the others go on to count.
   *
   * @throws IllegalStateException if there is one alone
   */
  public CellKey turned() {
    requireSeveral("add one first");
    var all = new ArrayList<>(keys);
    all.add(0, all.remove(all.size() - 1));
    return new CellKey(all, null);
  }

  /**
   * The first key alone counts from now on.
   *
   * @throws IllegalStateException if it does already
   */
  public CellKey alone() {
    requireSeveral("nothing is to be dropped");
    return new CellKey(keys.subList(0, 1), null);
  }

  private void requireSeveral(String otherwise) {
    if (keys.size() == 1) {
      throw new IllegalStateException("there is one key: " + otherwise);
    }
  }

  /** A client's pass, by the key that signs. */
  public CellKey pass(CellPass pass) {
    return of(pass, pass.key(keys.get(0)));
  }

  /**
   * Writes it, to a new file, as {@link #create}.
   *
   * @throws FileAlreadyExistsException if there is such a file; it is left alone
   */
  public void write(Path file) throws IOException {
    OwnersFile.writeNew(file, text());
  }

  /** Writes it in the place of a file, of which others see all or nothing. */
  public void replace(Path file) throws IOException {
    OwnersFile.replace(file, text());
  }

  /** How many bytes of each datagram a pass takes. */
  int bytesOfPass() {
    return pass == null ? 0 : 1 + pass.text().length();
  }

  /**
   * The client, if it has a pass, and what that permits; empty for members that may do all.
   *
   * @param wallNanos the time, nanoseconds since the Unix epoch
   */
  public Optional<Caller> caller(long wallNanos) {
    return Optional.ofNullable(pass).map(known -> known.caller(wallNanos));
  }

  /** A name for which nodes answer a member that has it. */
  public Bytes askable() {
    String prefix = pass == null ? "" : pass.permissions().get(0).prefix();
    return Bytes.of(prefix.isEmpty() ? "0" : prefix);
  }

  private String text() {
    var text = new StringBuilder();
    for (byte[] key : keys) {
      String digits = HexFormat.of().formatHex(key);
      text.append(pass == null ? KEY + digits : PASS + digits + " " + pass.text()).append('\n');
    }
    return text.toString();
  }

  /** The key as it is now. Thread-safe. */
  public static final class Live implements Supplier<CellKey> {
    private static final Logger LOG = LoggerFactory.getLogger(CellKey.class);
    private final @Nullable Path file;
    private Optional<FileVersion> version;
    private volatile CellKey now;

    private Live(@Nullable Path file, Optional<FileVersion> version, CellKey now) {
      this.file = file;
      this.version = version;
      this.now = now;
    }

    /** What a file has, and {@link #reload} reads again. */
    static Live of(Path file) throws IOException {
      Optional<FileVersion> version = FileVersion.of(file);
      return new Live(file, version, load(file));
    }

    /** One that stays. */
    static Live of(CellKey key) {
      return new Live(null, Optional.empty(), key);
    }

    @Override
    public CellKey get() {
      return now;
    }

    /**
     * Reads the file again if it has changed; may block for file I/O. One that is damaged, or a
     * pass in the place of the cell's key, changes nothing but what the log says.
     */
    public synchronized void reload() {
      if (file == null) {
        return;
      }
      try {
        Optional<FileVersion> found = FileVersion.of(file);
        if (!found.equals(version)) {
          version = found;
          now = now.pass == null ? loadWhole(file) : load(file);
          LOG.info("{} was read again: {} keys count", file, now.size());
        }
      } catch (IOException e) {
        LOG.warn("the cell's key is as it was, since {}", e.getMessage());
      }
    }
  }
}
