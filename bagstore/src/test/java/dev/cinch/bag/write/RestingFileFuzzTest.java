package dev.cinch.bag.write;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.code_intelligence.jazzer.junit.FuzzTest;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.fuzz.Hostile;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Optional;

/**
 * What the last process left for the next one. The first byte says whether the rest is the state,
 * or the document in it.
 */
final class RestingFileFuzzTest {
  private static final Path SLOT = Path.of("slot");
  private static final Path BUCKET = Path.of("/store/bucket");

  @FuzzTest
  void decode(byte[] data) throws DamagedException {
    if (data.length == 0) {
      return;
    }
    byte[] rest = Arrays.copyOfRange(data, 1, data.length);
    byte[] state = (data[0] & 1) == 0 ? rest : wrapped(rest);
    Optional<RestingFile> found =
        Hostile.parse(state.length, () -> RestingFile.decode(state, SLOT), DamagedException.class);
    if (found.isPresent()) {
      RestingFile resting = found.get();
      assertArrayEquals(resting.encode(), RestingFile.decode(resting.encode(), SLOT).encode());
      if (LogLayout.isTemporary(resting.token())) { // the one file that is removed
        assertEquals(BUCKET, BUCKET.resolve(resting.token()).normalize().getParent());
      }
    }
  }

  private static byte[] wrapped(byte[] body) {
    try {
      if (new JsonMapper().readTree(body) instanceof ObjectNode document) {
        return Envelope.encode("resting", document);
      }
    } catch (IOException e) {
      return body; // no JSON: as it is
    }
    return body;
  }
}
