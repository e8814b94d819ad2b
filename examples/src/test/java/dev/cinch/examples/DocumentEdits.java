package dev.cinch.examples;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/**
 * Edits of an envelope that leave it consistent: one thing in the document is another one, and
 * length and digest are right again, as somebody would make them who may write in the store.
 */
final class DocumentEdits {
  private static final ObjectMapper JSON = JsonMapper.builder().build();
  private static final long SECOND = 1_000_000_000L;

  private final List<Edit> edits = new ArrayList<>();
  private final String firstLine;
  private final JsonNode document;

  /**
   * A file's other content.
   *
   * @param what was changed
   */
  record Edit(String what, byte[] bytes) {}

  private interface Change {
    /** Makes the change in the parent of a node, or of a copy of it. */
    void in(JsonNode parent);
  }

  private DocumentEdits(byte[] file) throws IOException {
    String text = new String(file, StandardCharsets.UTF_8);
    this.firstLine = text.substring(0, text.indexOf('\n'));
    this.document = JSON.readTree(text.substring(text.indexOf('\n') + 1));
  }

  /** All edits of a file; none if it is no envelope. */
  static List<Edit> of(byte[] file) throws IOException {
    if (!new String(file, StandardCharsets.ISO_8859_1).startsWith("cinch ")) {
      return List.of();
    }
    var all = new DocumentEdits(file);
    all.walk(new ArrayList<>(), all.document);
    return all.edits;
  }

  private void walk(List<String> path, JsonNode node) {
    if (node instanceof ObjectNode object) {
      for (String field : List.copyOf(toList(object.fieldNames()))) {
        path.add(field);
        add(path, "left out", p -> ((ObjectNode) p).remove(field));
        walk(path, object.get(field));
        path.remove(path.size() - 1);
      }
    } else if (node instanceof ArrayNode array) {
      if (!array.isEmpty()) {
        int last = array.size() - 1;
        set(path, "emptied", JSON.createArrayNode());
        set(path, "without its first", without(array, 0));
        set(path, "without its last", without(array, last));
        set(path, "with its last twice", array.deepCopy().add(array.get(last)));
        set(path, "turned round", reversed(array));
      }
      for (int i = 0; i < array.size(); i++) {
        path.add(String.valueOf(i));
        walk(path, array.get(i));
        path.remove(path.size() - 1);
      }
    } else if (node.isIntegralNumber()) {
      numbers(path, node.longValue());
    } else if (node.isTextual()) {
      texts(path, node.textValue());
    }
  }

  private void numbers(List<String> path, long n) {
    for (long other : new long[] {0, 1, n - 1, n + 1, n + SECOND, Long.MIN_VALUE, Long.MAX_VALUE}) {
      if (other != n) {
        set(path, "as " + other, JsonNodeFactory.instance.numberNode(other));
      }
    }
  }

  private void texts(List<String> path, String text) {
    set(path, "empty", JsonNodeFactory.instance.textNode(""));
    if (!text.isEmpty()) {
      for (int at : new int[] {0, text.length() - 1}) {
        char c = text.charAt(at);
        char other = c == '1' ? '2' : '1';
        String changed = text.substring(0, at) + other + text.substring(at + 1);
        set(path, "with another character at " + at, JsonNodeFactory.instance.textNode(changed));
      }
    }
  }

  private void set(List<String> path, String what, JsonNode value) {
    String name = path.get(path.size() - 1);
    add(
        path,
        what,
        parent -> {
          if (parent instanceof ObjectNode object) {
            object.set(name, value);
          } else {
            ((ArrayNode) parent).set(Integer.parseInt(name), value);
          }
        });
  }

  private void add(List<String> path, String what, Change change) {
    JsonNode copy = document.deepCopy();
    JsonNode parent = copy;
    for (String name : path.subList(0, path.size() - 1)) {
      parent = parent.isArray() ? parent.get(Integer.parseInt(name)) : parent.get(name);
    }
    change.in(parent);
    if (copy.equals(document)) {
      return; // only written otherwise
    }
    edits.add(new Edit(String.join(".", path) + " " + what, sealed(copy)));
  }

  private byte[] sealed(JsonNode content) {
    String[] words = firstLine.split(" ");
    byte[] body = content.toString().getBytes(StandardCharsets.UTF_8);
    String line = "cinch %s %s %d %s\n".formatted(words[1], words[2], body.length, sha256(body));
    byte[] first = line.getBytes(StandardCharsets.US_ASCII);
    var all = new byte[first.length + body.length];
    System.arraycopy(first, 0, all, 0, first.length);
    System.arraycopy(body, 0, all, first.length, body.length);
    return all;
  }

  private static String sha256(byte[] bytes) {
    try {
      return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }

  private static ArrayNode without(ArrayNode array, int i) {
    ArrayNode copy = array.deepCopy();
    copy.remove(i);
    return copy;
  }

  private static ArrayNode reversed(ArrayNode array) {
    ArrayNode copy = JSON.createArrayNode();
    for (int i = array.size() - 1; i >= 0; i--) {
      copy.add(array.get(i));
    }
    return copy;
  }

  private static List<String> toList(java.util.Iterator<String> names) {
    var all = new ArrayList<String>();
    names.forEachRemaining(all::add);
    return all;
  }
}
