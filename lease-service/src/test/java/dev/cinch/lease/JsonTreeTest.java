package dev.cinch.lease;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Says what an {@code ObjectMapper} of the same strictness says, in the same bytes. */
class JsonTreeTest {
  private static final ObjectMapper MAPPER =
      JsonMapper.builder()
          .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .enable(SerializationFeature.INDENT_OUTPUT)
          .build();
  private static final JsonTree TREE = JsonTree.of(JsonFactory.builder(), true);

  private static JsonNode node(Random random, int depth) {
    JsonNodeFactory nodes = JsonNodeFactory.instance;
    switch (random.nextInt(depth > 4 ? 7 : 9)) {
      case 0:
        return nodes.textNode("t\u00fc\"\\\n" + random.nextInt());
      case 1:
        return nodes.booleanNode(random.nextBoolean());
      case 2:
        return nodes.nullNode();
      case 3:
        return nodes.numberNode(random.nextInt());
      case 4:
        return nodes.numberNode(random.nextLong());
      case 5:
        return nodes.numberNode(random.nextGaussian());
      case 6:
        return nodes.numberNode(new java.math.BigInteger(100, random).setBit(99));
      case 7:
        var array = nodes.arrayNode();
        for (int i = random.nextInt(4); i > 0; i--) {
          array.add(node(random, depth + 1));
        }
        return array;
      default:
        var object = nodes.objectNode();
        for (int i = random.nextInt(4); i > 0; i--) {
          object.set("f" + i, node(random, depth + 1));
        }
        return object;
    }
  }

  @Test
  void documentsAreReadAndWrittenAsByAMapper() throws Exception {
    var random = new Random(20);
    for (int i = 0; i < 2_000; i++) {
      JsonNode node = node(random, 0);
      byte[] bytes = MAPPER.writeValueAsBytes(node);
      assertEquals(
          new String(bytes, StandardCharsets.UTF_8),
          new String(TREE.write(node), StandardCharsets.UTF_8));
      assertEquals(MAPPER.readTree(bytes), TREE.read(bytes));
      assertEquals(MAPPER.readTree(bytes), TREE.read(new String(bytes, StandardCharsets.UTF_8)));
    }
  }

  @Test
  void bytesAreWrittenInBase64urlWithoutPadding() {
    var random = new Random(21);
    JsonNodeFactory nodes = JsonNodeFactory.instance;
    var plain = JsonTree.of(JsonFactory.builder(), false);
    for (int length = 0; length < 3_000; length += 1 + length / 10) {
      byte[] bytes = new byte[length];
      random.nextBytes(bytes);
      String text = Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
      JsonNode binary = nodes.arrayNode().add(bytes).add(true);
      JsonNode textual = nodes.arrayNode().add(text).add(true);
      assertArrayEquals(plain.write(textual), plain.write(binary));
      assertArrayEquals(TREE.write(textual), TREE.write(binary));
    }
  }

  @Test
  void whatIsNoDocumentIsRefused() throws Exception {
    for (String text :
        List.of(
            "{",
            "[1,]",
            "{\"a\":1,\"a\":1}",
            "{} {}",
            "1 2",
            "nul",
            "{\"a\"}",
            "]",
            "[1",
            "\u0001")) {
      assertThrows(JsonProcessingException.class, () -> MAPPER.readTree(text), text);
      assertThrows(JsonProcessingException.class, () -> TREE.read(text), text);
      byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
      assertThrows(JsonProcessingException.class, () -> TREE.read(bytes), text);
    }
    String deep = "[".repeat(2_000) + "]".repeat(2_000);
    assertThrows(JsonProcessingException.class, () -> TREE.read(deep));
    assertTrue(TREE.read("").isMissingNode() && MAPPER.readTree("").isMissingNode());
  }
}
