package dev.cinch.lease.witness;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.lease.Id;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * {@code docs/vectors/witnesses.jsonl}: what is signed is signed the same way again, and each line
 * is taken or refused as it says.
 */
final class WitnessVectorsTest {
  private static final Path FILE = Path.of("..", "docs", "vectors", "witnesses.jsonl");
  private static final SigningKey KEY = SigningKey.ofSeed(new byte[32]);
  private static final JsonMapper JSON = new JsonMapper();

  @Test
  void theSoftwareWritesTheSame() throws IOException {
    assertEquals(lines(), Files.readAllLines(FILE, UTF_8));
  }

  @Test
  void eachIsTakenOrRefusedAsItSays() throws IOException {
    for (String line : Files.readAllLines(FILE, UTF_8)) {
      JsonNode vector = JSON.readTree(line);
      PublicKey key = PublicKey.parse(vector.get("key").textValue());
      byte[] signed = HexFormat.of().parseHex(vector.get("signed").textValue());
      boolean good;
      try {
        SignedWitness unused = new WitnessVerifier(TrustedKeys.of(key)).verify(signed);
        good = true;
      } catch (WitnessException e) {
        good = false;
      }
      assertEquals(vector.get("good").booleanValue(), good, line);
    }
  }

  /** Not a check: makes the file anew where somebody asks for it. */
  @Test
  void make() throws IOException {
    String where = System.getProperty("cinch.vectors");
    assumeTrue(where != null, "nobody asked for new vectors");
    Files.write(Path.of(where + "").resolve("witnesses.jsonl"), lines(), UTF_8);
  }

  private static List<String> lines() {
    var signer = new WitnessSigner(KEY);
    Witness one = WitnessCodecTest.example();
    var lines = new ArrayList<String>();
    alone(signer, one, lines);
    for (int n : new int[] {2, 3, 5, 8}) {
      List<SignedWitness> tree = signer.sign(SharedSignatureTest.witnesses(n));
      for (int leaf = 0; leaf < n; leaf++) {
        lines.add(line("leaf " + leaf + " of " + n, tree.get(leaf).bytes(), true));
      }
      byte[] last = tree.get(n - 1).bytes();
      int payload = SharedSignatureTest.payload(last);
      String of = ", the last of " + n;
      lines.add(line("another payload" + of, changed(last, 30), false));
      lines.add(line("another key id" + of, changed(last, payload), false));
      lines.add(line("another signature" + of, changed(last, payload + 9), false));
      lines.add(line("another number" + of, changed(last, payload + 72), false));
      lines.add(line("a number beyond the tree" + of, changed(last, payload + 75), false));
      lines.add(line("another path" + of, changed(last, payload + 76), false));
      lines.add(line("without its path" + of, Arrays.copyOf(last, payload + 72), false));
      lines.add(line("an empty path" + of, Arrays.copyOf(last, payload + 76), false));
      lines.add(line("a byte more" + of, Arrays.copyOf(last, last.length + 1), false));
      lines.add(line("a level more" + of, Arrays.copyOf(last, last.length + 32), false));
      byte[] deep = Arrays.copyOf(last, payload + 76 + 17 * 32);
      lines.add(line("17 levels" + of, deep, false));
    }
    return lines;
  }

  /** Each field of the bound of time changed, signed as it is; and other versions. */
  private static void alone(WitnessSigner signer, Witness one, List<String> lines) {
    byte[] alone = signer.sign(one).bytes();
    lines.add(line("version 3", alone, true));
    lines.add(line("version 3, another payload", changed(alone, 30), false));
    lines.add(line("version 3, another kind of bound", changed(alone, 11, 3), false));
    for (int at : new int[] {108, 116, 124}) {
      lines.add(line("version 3, another byte " + at, changed(alone, at), false));
    }
    List<SignedWitness> tree =
        signer.sign(List.of(one, SharedSignatureTest.named(one, "tenant/8")));
    lines.add(line("version 3, leaf 1 of 2", tree.get(1).bytes(), true));
    byte[] payload = WitnessCodec.encode(one);
    lines.add(line("version 4", resigned(changed(payload, 7, 3 ^ 4)), true));
    lines.add(line("version 5", resigned(changed(payload, 7, 3 ^ 5)), false));
    lines.add(line("version 3 with what version 1 has", resigned(shorter(payload, 3, 1)), false));
    lines.add(line("version 1", resigned(shorter(payload, 1, 0)), false));
    lines.add(line("version 2", resigned(shorter(payload, 2, 0)), false));
    lines.add(line("version 3, no kind of bound", resigned(changed(payload, 11, 2)), false));
    lines.add(line("version 3, an unknown kind of bound", resigned(changed(payload, 11)), false));
    lines.add(line("version 3, a bound that ends first", resigned(changed(payload, 115)), false));
    byte[] none = withoutFence(payload);
    lines.add(line("version 3, no fence, yet all logs", resigned(none), false));
    buffer(none).putShort(134 + Id.BYTES, (short) 0); // behind the one log that may be written to
    lines.add(line("version 3, no fence and no logs", resigned(none), true));
  }

  private static byte[] withoutFence(byte[] payload) {
    byte[] none = payload.clone();
    buffer(none).putLong(100, Long.MIN_VALUE);
    return none;
  }

  private static ByteBuffer buffer(byte[] bytes) {
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** Without a bound of time. */
  private static byte[] shorter(byte[] payload, int version, int kind) {
    int less = 3 * Long.BYTES;
    byte[] rest = Arrays.copyOf(payload, payload.length - less);
    System.arraycopy(payload, 132, rest, 132 - less, payload.length - 132);
    buffer(rest).putInt(0, rest.length);
    rest[7] = (byte) version;
    rest[11] = (byte) kind;
    return rest;
  }

  /** A payload as whoever has the key may sign it, which need not be one of a witness. */
  private static byte[] resigned(byte[] payload) {
    return SignedForm.alone(payload, KEY.publicKey(), KEY.sign(payload));
  }

  private static byte[] changed(byte[] good, int at) {
    return changed(good, at, 1);
  }

  private static byte[] changed(byte[] good, int at, int bits) {
    byte[] bad = good.clone();
    bad[at] ^= (byte) bits;
    return bad;
  }

  private static String line(String what, byte[] signed, boolean good) {
    ObjectNode line = JSON.createObjectNode();
    line.put("case", what).put("key", KEY.publicKey().toString());
    line.put("signed", HexFormat.of().formatHex(signed)).put("good", good);
    return line.toString();
  }
}
