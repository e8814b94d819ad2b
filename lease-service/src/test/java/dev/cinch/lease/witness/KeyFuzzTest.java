package dev.cinch.lease.witness;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.cinch.fuzz.Hostile;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** Files of public and private keys from anywhere. */
@SuppressWarnings("NullAway.Init")
final class KeyFuzzTest {
  /** Nothing of the file is quoted. */
  private static final String REFUSED =
      "%s is not a signing key: one line, \"cinch-signing-key-1 \" and 64 hexadecimal digits";

  private static Path file;

  @BeforeAll
  static void make() throws IOException {
    file = Files.createTempFile("cinch", ".key");
  }

  @AfterAll
  static void remove() throws IOException {
    Files.delete(file);
  }

  @FuzzTest
  void publicKey(byte[] data) {
    String text = new String(data, StandardCharsets.ISO_8859_1);
    Optional<PublicKey> key =
        Hostile.parse(data.length, () -> PublicKey.parse(text), IllegalArgumentException.class);
    key.ifPresent(k -> assertEquals(text.strip().toLowerCase(Locale.ROOT), k.toString()));
  }

  /** A refused key's digits may be a secret all the same. */
  @FuzzTest
  void signingKey(byte[] data) throws IOException {
    Files.write(file, data);
    try {
      SigningKey key = SigningKey.load(file);
      String line = new String(data, StandardCharsets.US_ASCII).stripTrailing();
      byte[] seed = HexFormat.of().parseHex(line.substring(line.length() - 64));
      assertArrayEquals(SigningKey.ofSeed(seed).publicKey().bytes(), key.publicKey().bytes(), line);
    } catch (IOException e) {
      assertEquals(REFUSED.formatted(file), e.getMessage());
    }
  }
}
