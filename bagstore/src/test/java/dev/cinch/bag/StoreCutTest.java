package dev.cinch.bag;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.bag.StoreCut.Part;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Name;
import dev.cinch.lease.Id;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** The document of a cut. */
class StoreCutTest {
  private static final Id STORE = new Id(1, 2);
  private static final Name PATH = Name.of(Path.of("/store/cuts/0000000007"));
  private static final StoreCut CUT =
      new StoreCut(
          STORE,
          7,
          new Id(5, 6),
          1_000,
          2_000,
          "m",
          List.of(part("a"), part("b-2"), part("b.1"), part("c")));

  private static Part part(String name) {
    return new Part(
        new LogName(name), new Id(3, name.hashCode()), 4, "0".repeat(64), Long.MIN_VALUE, -1);
  }

  private static StoreCut decode(byte[] bytes) throws DamagedException {
    return StoreCut.decode(bytes, STORE, 7, PATH);
  }

  private static void damaged(String found, Consumer<ObjectNode> change) throws IOException {
    byte[] bytes = CUT.encode();
    int body = new String(bytes, UTF_8).indexOf('\n') + 1;
    var json = (ObjectNode) new ObjectMapper().readTree(bytes, body, bytes.length - body);
    change.accept(json);
    byte[] changed = Envelope.encode("cut", json);
    var e = assertThrows(DamagedException.class, () -> decode(changed), found);
    assertTrue(("" + e.getMessage()).contains(found), e.getMessage());
  }

  private static ObjectNode log(ObjectNode cut, int index) {
    return (ObjectNode) cut.get("of").get(index);
  }

  @Test
  void whatIsEncodedIsDecoded() throws Exception {
    assertEquals(CUT, decode(CUT.encode()));
    var none = new StoreCut(STORE, 7, new Id(5, 6), 1_000, 2_000, "m", List.of());
    assertEquals(none, decode(none.encode()));
  }

  @Test
  void whatIsNoCutIsDamaged() throws Exception {
    byte[] bytes = CUT.encode();
    assertThrows(DamagedException.class, () -> decode(new byte[0]));
    assertThrows(DamagedException.class, () -> decode(Arrays.copyOf(bytes, bytes.length - 1)));
    bytes[bytes.length / 2] ^= 1;
    assertThrows(DamagedException.class, () -> decode(bytes));
    damaged("8 of " + STORE, cut -> cut.put("number", 8));
    damaged("7 of " + new Id(1, 3), cut -> cut.put("store", "" + new Id(1, 3)));
    damaged("\"time\"", cut -> cut.put("time", Long.MIN_VALUE));
    damaged("\"taken\"", cut -> cut.remove("taken"));
  }

  @Test
  void logsAscend() throws Exception {
    damaged("b.1 behind them", cut -> log(cut, 1).put("name", "b.1"));
    damaged("a behind them", cut -> log(cut, 1).put("name", "a"));
    damaged("names of logs", cut -> log(cut, 0).put("name", "../a"));
    damaged("\"record\"", cut -> log(cut, 0).put("record", 0));
    damaged("\"digest\"", cut -> log(cut, 0).put("digest", "0"));
    damaged("\"floor\"", cut -> log(cut, 0).put("floor", "x"));
  }
}
