package dev.cinch.examples;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.model.Numbered;
import java.io.IOException;
import java.nio.charset.Charset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Edits of a document that leave it consistent: one thing in it is another one, or is written in
 * another form, and length and digest are right again, as somebody would make them who may write in
 * the store.
 */
final class DocumentEdits {
  private static final ObjectMapper JSON = JsonMapper.builder().build();
  private static final long SECOND = 1_000_000_000L;
  private static final Pattern FIELD =
      Pattern.compile("\"([a-zA-Z0-9]+)\" *: *(\"[^\"]*\"|[^,}\\s]+)");

  /** Begins what an edit is called that leaves a document which says the same. */
  static final String HARMLESS = "harmless: ";

  private final List<Edit> edits = new ArrayList<>();
  private final String firstLine;
  private final String body;
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

  private DocumentEdits(String text) throws IOException {
    boolean envelope = text.startsWith("cinch ");
    this.firstLine = envelope ? text.substring(0, text.indexOf('\n')) : "";
    this.body = envelope ? text.substring(text.indexOf('\n') + 1) : text;
    this.document = JSON.readTree(body);
  }

  static boolean isDocument(byte[] file) {
    String text = new String(file, ISO_8859_1);
    return text.startsWith("cinch ") || text.startsWith("{");
  }

  /** All edits of a file; none if it is no document. */
  static List<Edit> of(byte[] file) throws IOException {
    if (!isDocument(file)) {
      return List.of();
    }
    var all = new DocumentEdits(new String(file, ISO_8859_1));
    all.walk(new ArrayList<>(), all.document);
    all.forms();
    return all.edits;
  }

  /** The document with other words in it. */
  static byte[] replaced(byte[] file, UnaryOperator<String> change) throws IOException {
    var all = new DocumentEdits(new String(file, ISO_8859_1));
    return all.sealed(change.apply(all.body).getBytes(ISO_8859_1));
  }

  /** The same in forms that docs/format.md might be read to allow. */
  private void forms() {
    for (String charset : List.of("UTF-16LE", "UTF-16BE", "UTF-16", "UTF-32")) {
      form(charset, body.getBytes(Charset.forName(charset)));
    }
    form("a mark", ("\u00ef\u00bb\u00bf" + body).getBytes(ISO_8859_1));
    form("something behind", (body + "x").getBytes(ISO_8859_1));
    form("another document behind", (body + "{}").getBytes(ISO_8859_1));
    for (String odd :
        List.of(
            "\"\u00ff\"", "\"\u00ed\u00a0\u0080\"", "\"\u00c0\u0080\"", "NaN", "Infinity", "01")) {
      form("odd " + odd, ("{\"odd\":" + odd + "," + body.substring(1)).getBytes(ISO_8859_1));
    }
    for (String more : List.of("true", "null", "7")) {
      form(HARMLESS + more, ("{\"more\":" + more + "," + body.substring(1)).getBytes(ISO_8859_1));
    }
    Matcher field = FIELD.matcher(body);
    while (field.find()) {
      String value = field.group(2);
      if (document.has(field.group(1))) {
        String twice = "{\"" + field.group(1) + "\":" + value + "," + body.substring(1);
        form(field.group(1) + " twice", twice.getBytes(ISO_8859_1));
      }
      for (String other :
          value.startsWith("\"")
              ? List.of(value.toUpperCase(Locale.ROOT), "0", "null", value.replace("0", ""))
              : List.of(
                  value + ".0", "1e18", "null", "36893488147419103232", "\"" + value + "\"")) {
        String changed = body.substring(0, field.start(2)) + other + body.substring(field.end(2));
        form(field.group(1) + " as " + other, changed.getBytes(ISO_8859_1));
      }
    }
    if (!firstLine.isEmpty()) {
      lines();
    }
  }

  private void form(String what, byte[] content) {
    if (!Arrays.equals(content, body.getBytes(ISO_8859_1))) {
      edits.add(new Edit(what, sealed(content)));
    }
  }

  /** Other first lines, and the longest document. */
  private void lines() {
    String[] w = firstLine.split(" ");
    String rest = w[3] + " " + w[4];
    for (String line :
        List.of(
            "cinch %s 0%s %s".formatted(w[1], w[2], rest),
            "cinch %s +%s %s".formatted(w[1], w[2], rest),
            "cinch %s  %s %s".formatted(w[1], w[2], rest),
            "cinch %s\t%s %s".formatted(w[1], w[2], rest),
            " " + firstLine,
            firstLine + "\r",
            firstLine + " ",
            "cinch %s %s 0%s".formatted(w[1], w[2], rest),
            "cinch %s %s +%s".formatted(w[1], w[2], rest),
            "cinch %s %s 1%s".formatted(w[1], w[2], rest),
            "cinch %s %s %s %s".formatted(w[1], w[2], w[3], w[4].toUpperCase(Locale.ROOT)),
            "cinch another %s %s".formatted(w[2], rest),
            "cinch %s 0 %s".formatted(w[1], rest),
            "cinch %s %d %s".formatted(w[1], Integer.parseInt(w[2]) - 1, rest),
            "cinch %s %d %s".formatted(w[1], Integer.parseInt(w[2]) + 1, rest))) {
      edits.add(new Edit("first line " + line, (line + "\n" + body).getBytes(ISO_8859_1)));
    }
    int most = w[1].equals("record") ? HorizonRecord.MAX_BYTES : Envelope.MAX_SMALL_BYTES;
    if (!w[1].equals("checkpoint")) { // which may be as long as memory is
      for (int length : new int[] {most, most + 1}) {
        int line = firstLine.length() - w[3].length() + 1 + ("" + (length - 90)).length();
        form(
            (length == most ? HARMLESS : "") + length + " bytes",
            (body + " ".repeat(length)).substring(0, length - line).getBytes(ISO_8859_1));
      }
    }
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
    for (long other :
        new long[] {
          0,
          1,
          -1,
          n - 1,
          n + 1,
          n - SECOND / 2,
          n + SECOND / 2,
          n - SECOND,
          n + SECOND,
          n + (SECOND << 16),
          1L << 32,
          1L << 62,
          Numbered.MAX + 1,
          Long.MIN_VALUE,
          Long.MAX_VALUE
        }) {
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
    edits.add(
        new Edit(String.join(".", path) + " " + what, sealed(copy.toString().getBytes(UTF_8))));
  }

  /** With the length and the digest that it must have. */
  private byte[] sealed(byte[] content) {
    if (firstLine.isEmpty()) {
      String text = new String(content, ISO_8859_1);
      var fields = new StringBuilder();
      Matcher field = FIELD.matcher(text);
      while (field.find()) {
        if (!field.group(1).equals("sha256")) {
          String value = field.group(2).replace("\"", "");
          fields.append(field.group(1)).append('=').append(value).append('\n');
        }
      }
      String digest = Envelope.sha256(fields.toString().getBytes(ISO_8859_1));
      return text.replaceFirst("(\"sha256\" *: *\")[0-9a-f]*", "$1" + digest).getBytes(ISO_8859_1);
    }
    String[] w = firstLine.split(" ");
    String line =
        "cinch %s %s %d %s\n".formatted(w[1], w[2], content.length, Envelope.sha256(content));
    byte[] all = Arrays.copyOf(line.getBytes(ISO_8859_1), line.length() + content.length);
    System.arraycopy(content, 0, all, line.length(), content.length);
    return all;
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
