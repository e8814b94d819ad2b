package dev.cinch.lease.witness;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.cinch.lease.Id;
import dev.cinch.lease.OwnersFile;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.Set;
import org.bouncycastle.crypto.params.Ed25519PrivateKeyParameters;
import org.bouncycastle.crypto.signers.Ed25519Signer;

/**
 * An Ed25519 private key, from its 32-byte seed (RFC 8032). Immutable and thread-safe.
 *
 * <p>Its file is one line of ASCII, {@code cinch-signing-key-1 } and the seed as 64 hexadecimal
 * digits, readable by its owner alone.
 */
public final class SigningKey {
  /** Bytes of a seed. */
  public static final int SEED_BYTES = 32;

  private static final String PREFIX = "cinch-signing-key-1 ";

  private final byte[] seed;
  private final Ed25519PrivateKeyParameters key;
  private final PublicKey publicKey;

  private SigningKey(byte[] seed) {
    this.seed = seed.clone();
    this.key = new Ed25519PrivateKeyParameters(seed, 0);
    this.publicKey = new PublicKey(key.generatePublicKey().getEncoded());
  }

  /**
   * @throws IllegalArgumentException if there are not 32 bytes
   */
  public static SigningKey ofSeed(byte[] seed) {
    if (seed.length != SEED_BYTES) {
      throw new IllegalArgumentException("a seed has 32 bytes, not " + seed.length);
    }
    return new SigningKey(seed);
  }

  /** Draws a new key from the platform's secure generator. */
  public static SigningKey generate() {
    var seed = new byte[SEED_BYTES];
    new SecureRandom().nextBytes(seed);
    return new SigningKey(seed);
  }

  /**
   * Reads a key's file.
   *
   * @throws IOException if it can't be read, or is not such a file; one line that names it, and
   *     never the seed
   */
  public static SigningKey load(Path file) throws IOException {
    long size = Files.size(file);
    String text = size > 1_000 ? "" : new String(Files.readAllBytes(file), US_ASCII);
    String line = text.stripTrailing();
    if (!line.startsWith(PREFIX) || line.length() != PREFIX.length() + 2 * SEED_BYTES) {
      throw notAKey(file);
    }
    try {
      return new SigningKey(HexFormat.of().parseHex(line, PREFIX.length(), line.length()));
    } catch (IllegalArgumentException e) {
      // Without its cause: that would quote the secret.
      throw notAKey(file);
    }
  }

  private static IOException notAKey(Path file) {
    return new IOException(
        file + " is not a signing key: one line, \"" + PREFIX + "\" and 64 hexadecimal digits");
  }

  /**
   * Writes a new file, with mode 0600 from the start where the filesystem knows modes, and forces
   * it. Nobody ever sees a part of it.
   *
   * @throws FileAlreadyExistsException if there is one; it is left alone
   */
  public void write(Path file) throws IOException {
    Path whole = file.resolveSibling(file.getFileName() + "." + Id.random(new SecureRandom()));
    try {
      OwnersFile.writeNew(whole, PREFIX + HexFormat.of().formatHex(seed) + "\n");
      try {
        Files.createLink(file, whole);
      } catch (FileAlreadyExistsException e) {
        throw e;
      } catch (FileSystemException | UnsupportedOperationException e) {
        Files.move(whole, file); // some filesystems have no links
      }
    } catch (NoSuchFileException e) {
      throw new NoSuchFileException(file.toString());
    } catch (AccessDeniedException e) {
      throw new AccessDeniedException(file.toString());
    } catch (FileAlreadyExistsException e) {
      throw new FileAlreadyExistsException(file.toString());
    } catch (FileSystemException e) {
      throw new FileSystemException(file.toString(), null, e.getReason());
    } finally {
      Files.deleteIfExists(whole);
    }
  }

  /**
   * Reads the file, or writes one with a new key if there is none. Two processes that do so at once
   * end up with the same key.
   */
  public static SigningKey loadOrCreate(Path file) throws IOException {
    if (!Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
      SigningKey key = generate();
      try {
        key.write(file);
        return key;
      } catch (FileAlreadyExistsException e) {
        return load(file);
      }
    }
    return load(file);
  }

  /** Whether others than the owner may read the file, which deserves a warning. */
  public static boolean readableByOthers(Path file) throws IOException {
    if (!file.getFileSystem().supportedFileAttributeViews().contains("posix")) {
      return false;
    }
    Set<PosixFilePermission> modes = Files.getPosixFilePermissions(file);
    return modes.contains(PosixFilePermission.GROUP_READ)
        || modes.contains(PosixFilePermission.OTHERS_READ);
  }

  /** The key that checks this one's signatures. */
  public PublicKey publicKey() {
    return publicKey;
  }

  /**
   * The signature (RFC 8032) of bytes that are given in parts and signed as one. What is signed
   * begins with text that says what it is: a witness begins with a length below 32,768, so none of
   * them can be taken for a witness, or for another kind. The same yields the same bytes.
   */
  public byte[] sign(byte[]... parts) {
    var signer = new Ed25519Signer();
    signer.init(true, key);
    for (byte[] part : parts) {
      signer.update(part, 0, part.length);
    }
    return signer.generateSignature();
  }

  /** Names the public key only. */
  @Override
  public String toString() {
    return "SigningKey[" + publicKey.idText() + "]";
  }
}
