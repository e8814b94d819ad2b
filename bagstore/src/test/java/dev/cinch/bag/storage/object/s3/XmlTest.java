package dev.cinch.bag.storage.object.s3;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Documents as servers send them, and as nobody should. */
class XmlTest {
  private static Xml read(String document) throws IOException {
    return Xml.read(document.getBytes(UTF_8));
  }

  @Test
  void elementsHaveTextOrChildren() throws Exception {
    Xml xml =
        read(
            "<?xml version='1.0' encoding='UTF-8'?>\n<!-- a --><a xmlns='urn:x'>\n"
                + "<b>1 &lt; <![CDATA[2]]></b><b/><c><d>3</d></c></a>\n");
    assertEquals("a", xml.name());
    assertEquals(2, xml.all("b").size());
    assertEquals(Optional.of("1 < 2"), xml.get("b"));
    assertEquals(Optional.of("3"), xml.all("c").get(0).get("d"));
    assertEquals(Optional.empty(), xml.get("d"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "a",
        "<a>",
        "<a></b>",
        "<a/><b/>",
        "<a>&b;</a>",
        "<!DOCTYPE a><a/>",
        "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
        "<a><a><a><a><a><a><a><a><a/></a></a></a></a></a></a></a></a>"
      })
  void whatIsNoneIsRefused(String document) {
    assertThrows(IOException.class, () -> read(document));
  }

  /** Nothing of this machine is sent to whoever answers. */
  @Test
  void aDocumentRefersToNoFile(@TempDir Path temp) throws Exception {
    Path file = Files.writeString(temp.resolve("file"), "secret");
    String document = "<!DOCTYPE a [<!ENTITY b SYSTEM '%s'>]><a>&b;</a>".formatted(file.toUri());
    assertThrows(IOException.class, () -> read(document));
  }
}
