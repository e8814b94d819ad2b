package dev.cinch.cli.base;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.cinch.lease.JsonTree.Escapes;
import dev.cinch.lease.OneLine;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

/** JSON of the command line, and of the API. */
final class JsonLinesTest {
  private static String json(String text) throws IOException {
    var bytes = new ByteArrayOutputStream();
    try (var out = new Output(bytes)) {
      var unused = new JsonLines(out).object().text("t", text).end();
    }
    String line = bytes.toString(StandardCharsets.UTF_8);
    return line.substring("{\"t\":".length(), line.length() - 2);
  }

  @Test
  void whatHidesInTextIsEscaped() throws Exception {
    assertEquals(
        "\"a\\u009b31m\\u2028\\u061c\\u202eb\\u2066ä…\\u200f\\u007f\\u001b\\n\\\"\\\\\"",
        json("a\u009b31m\u2028\u061c\u202eb\u2066ä…\u200f\u007f\u001b\n\"\\"));
  }

  /** But for backspace and form feed, which have short forms there. */
  @Test
  void everyCharacterIsWrittenAsJacksonWritesIt() throws Exception {
    var jackson =
        JsonMapper.builder(new JsonFactoryBuilder().characterEscapes(Escapes.INSTANCE).build())
            .build();
    for (int c = 0; c <= Character.MAX_CODE_POINT; c += c < 0x3000 ? 1 : 97) {
      if ((c < Character.MIN_SURROGATE || c > Character.MAX_SURROGATE) && c != '\b' && c != '\f') {
        String text = Character.toString(c) + "x";
        assertEquals(jackson.writeValueAsString(text), json(text), () -> "U+" + text);
        assertEquals(0, json(text).chars().filter(OneLine::isHidden).count());
      }
    }
  }
}
