package dev.cinch.lease;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.cinch.lease.instance.Rig;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessCodec;
import dev.cinch.lease.witness.WitnessSigner;
import dev.cinch.lease.witness.WitnessVerifier;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What people could not see, or would see in another order, is refused or escaped. */
final class HiddenTextTest {
  static IntStream hidden() {
    return IntStream.of(
        0, 7, '\n', 0x1b, 0x7f, 0x80, 0x85, 0x9f, 0x61c, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a,
        0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069);
  }

  private static final int[] SHOWN = {
    ' ', '~', 0xa0, 0xe4, 0x61b, 0x61d, 0x200b, 0x200d, 0x2010, 0x2027, 0x202f, 0x2065, 0x206a,
    0xfffd, 0x1f600
  };

  @ParameterizedTest
  @MethodSource("hidden")
  void aHolderHasNone(int c) {
    Operation.Acquire good = new Rig().request("a");
    String holder = "web" + Character.toString(c) + "1";
    IllegalArgumentException e =
        assertThrows(
            IllegalArgumentException.class,
            () ->
                new Operation.Acquire(
                    good.id(), good.names(), holder, good.durationMs(), good.logs(), false));
    assertEquals(
        "the holder has U+%04X at character 3; controls, line ends and marks that turn the"
                .formatted(c)
            + " direction of text can't be shown",
        e.getMessage());
    var metadata = new LeaseReport.Metadata(new Id(1, 2), 0, holder);
    assertThrows(
        IllegalArgumentException.class,
        () -> new LeaseReport(OptionalLong.empty(), false, List.of(metadata)));
  }

  @Test
  void allElseMayStandInAHolder() throws Exception {
    Rig rig = new Rig();
    String holder = new String(SHOWN, 0, SHOWN.length);
    Operation.Acquire r = rig.request("a");
    var request = new Operation.Acquire(r.id(), r.names(), holder, r.durationMs(), r.logs(), false);
    Grant grant = rig.service.acquire(request);
    assertEquals(holder, grant.witnesses().get(0).witness().holder());
  }

  /** Whoever has the key may sign it. */
  @ParameterizedTest
  @MethodSource("hidden")
  void aWitnessWithOneIsReadAndNotMade(int c) throws Exception {
    Witness w = new Rig().acquire("a").witnesses().get(0).witness();
    Witness made = Altered.with(w, "holder", "web" + Character.toString(c));
    byte[] payload = WitnessCodec.encode(made);
    assertEquals(
        made, WitnessVerifier.decode(Arrays.copyOf(payload, payload.length + 72)).witness());
    var signer = new WitnessSigner(SigningKey.ofSeed(new byte[32]));
    assertThrows(IllegalArgumentException.class, () -> signer.sign(made));
  }

  @Test
  void jsonEscapesThemAndNothingElse() throws Exception {
    var json =
        JsonMapper.builder(
                new JsonFactoryBuilder().characterEscapes(JsonTree.Escapes.INSTANCE).build())
            .build();
    for (int c : hidden().toArray()) {
      String text = "a" + Character.toString(c) + "z";
      String expected = c == '\n' ? "\"a\\nz\"" : "\"a\\u%04xz\"".formatted(c);
      assertEquals(expected, json.writeValueAsString(text));
      assertArrayEquals(expected.getBytes(UTF_8), json.writeValueAsBytes(text));
      assertEquals(text, json.readTree(expected).textValue());
    }
    String shown = new String(SHOWN, 0, SHOWN.length);
    assertEquals("\"" + shown + "\"", json.writeValueAsString(shown));
    String basic = new String(SHOWN, 0, SHOWN.length - 1); // Jackson escapes pairs of surrogates
    assertArrayEquals(("\"" + basic + "\"").getBytes(UTF_8), json.writeValueAsBytes(basic));
    assertEquals("\"\\\"\\\\/\"", json.writeValueAsString("\"\\/"));
  }
}
