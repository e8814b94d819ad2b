package dev.cinch.bag.format;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.cinch.bag.model.Name;
import dev.cinch.fuzz.Hostile;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;
import java.util.function.Function;

/**
 * Records and checkpoints from anywhere. The first byte says whether the rest is the whole file, or
 * what an envelope with the right length and digest holds.
 */
final class DocumentFuzzTest {
  private static final Name FILE = new Name("file");

  /** Reads a file of one type. */
  private interface Decoder<T> {
    T decode(byte[] bytes, Name name) throws DamagedException;
  }

  @FuzzTest
  void record(byte[] data) throws DamagedException {
    check("record", data, HorizonRecord::decode, HorizonRecord::encode);
  }

  @FuzzTest
  void record3(byte[] data) throws DamagedException {
    check("record", 3, data, HorizonRecord::decode, HorizonRecord::encode);
  }

  @FuzzTest
  void checkpoint(byte[] data) throws DamagedException {
    check("checkpoint", data, Checkpoint::decode, Checkpoint::encode);
  }

  private static <T> void check(
      String type, byte[] data, Decoder<T> decoder, Function<T, byte[]> encoder)
      throws DamagedException {
    check(type, 1, data, decoder, encoder);
  }

  private static <T> void check(
      String type, int version, byte[] data, Decoder<T> decoder, Function<T, byte[]> encoder)
      throws DamagedException {
    if (data.length == 0) {
      return;
    }
    byte[] rest = Arrays.copyOfRange(data, 1, data.length);
    byte[] file = (data[0] & 1) == 0 ? rest : wrapped(type, version, rest);
    Optional<T> found =
        Hostile.parse(file.length, () -> decoder.decode(file, FILE), DamagedException.class);
    if (found.isPresent()) {
      byte[] again = encoder.apply(found.get());
      assertArrayEquals(again, encoder.apply(decoder.decode(again, FILE)));
    }
  }

  private static byte[] wrapped(String type, int version, byte[] body) {
    byte[] line =
        "cinch %s %d %d %s\n"
            .formatted(type, version, body.length, Envelope.sha256(body))
            .getBytes(StandardCharsets.US_ASCII);
    byte[] all = Arrays.copyOf(line, line.length + body.length);
    System.arraycopy(body, 0, all, line.length, body.length);
    return all;
  }
}
