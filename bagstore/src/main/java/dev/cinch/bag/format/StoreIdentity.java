package dev.cinch.bag.format;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.lease.Id;
import dev.cinch.lease.JsonTree;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The content of {@code store.json}.
 *
 * @param id drawn at random by {@code init}
 * @param created the filesystem's clock then
 * @param settings decided then
 * @param firstKey SHA-256 of the first trusted key, in hexadecimal; empty if {@code init} was given
 *     none
 * @param backup whether it is a backup, which nobody writes to before it is restored
 */
public record StoreIdentity(
    Id id, long created, StoreSettings settings, String firstKey, boolean backup) {
  /** The type of the envelope that the identity of a log is. */
  public static final String OF_LOG = "log";

  /** The longest {@code store.json} that is read, bytes. */
  public static final int MAX_BYTES = 1 << 16;

  /** The version of the store's format. */
  public static final int FORMAT = 3;

  private static final Pattern MODE = Pattern.compile("[0-7]{1,5}");
  private static final Pattern PIN = Pattern.compile("|[0-9a-f]{64}");

  private static final JsonTree JSON = JsonTree.of(JsonFactory.builder(), true);
  private static final String DIGEST = "sha256";
  private static final String BACKUP = "backup";
  private static final String YES = "yes";

  /** Of a store that is no backup. */
  public StoreIdentity(Id id, long created, StoreSettings settings, String firstKey) {
    this(id, created, settings, firstKey, false);
  }

  /** The same of a backup, or of what a backup becomes. */
  public StoreIdentity asBackup(boolean is) {
    return new StoreIdentity(id, created, settings, firstKey, is);
  }

  /** The file's bytes: a JSON object whose last field is the digest of the others. */
  public byte[] encode() {
    StoreSettings s = settings;
    ObjectNode node = JsonNodeFactory.instance.objectNode();
    node.put("format", FORMAT).put("store", id.toString()).put("created", created);
    node.put("bucketWidthMs", s.bucketWidthMs()).put("graceMs", s.graceMs());
    node.put("clockAheadMs", s.clockAheadMs()).put("clockBehindMs", s.clockBehindMs());
    node.put("timestampDistanceMs", s.timestampDistanceMs()).put("slowAppendMs", s.slowAppendMs());
    node.put("longestLeaseMs", s.longestLeaseMs()).put("leaseMarginMs", s.leaseMarginMs());
    node.put("fileMode", Integer.toOctalString(s.fileMode()));
    node.put("directoryMode", Integer.toOctalString(s.directoryMode()));
    node.put("group", s.group().orElse(""));
    node.put("messageLimit", s.messageLimit());
    node.put("confirm", word(s.confirm()));
    node.put("leases", word(s.leases()));
    node.put("firstKey", firstKey);
    if (backup) {
      node.put(BACKUP, YES);
    }
    node.put(DIGEST, digest(node));
    byte[] json = JSON.write(node);
    byte[] line = Arrays.copyOf(json, json.length + 1);
    line[json.length] = '\n';
    return line;
  }

  private static String word(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT);
  }

  /** SHA-256 of the other fields, each as {@code name=value} and a newline, in the file's order. */
  private static String digest(ObjectNode node) {
    var text = new StringBuilder();
    node.fields()
        .forEachRemaining(
            f -> {
              if (!f.getKey().equals(DIGEST)) {
                text.append(f.getKey()).append('=').append(f.getValue().asText()).append('\n');
              }
            });
    return Envelope.sha256(text.toString().getBytes(StandardCharsets.UTF_8));
  }

  /**
   * @throws NewerFormatException if it is of a later format
   * @throws DamagedException if it is no {@code store.json} that this code can read
   */
  public static StoreIdentity decode(byte[] bytes, Name path)
      throws DamagedException, NewerFormatException {
    JsonNode node;
    try {
      node = JSON.readUtf8(bytes);
    } catch (IOException e) {
      throw new DamagedException(path, 0, "a JSON object in UTF-8", bytes.length + " other bytes");
    }
    if (!(node instanceof ObjectNode object)) {
      throw new DamagedException(path, 0, "a JSON object", bytes.length + " other bytes");
    }
    var in = new Reader(object, path);
    int format = in.number("format");
    if (format > FORMAT) { // before anything else: the rest may mean something else there
      throw new NewerFormatException(path, format);
    }
    if (format < FORMAT) {
      throw new DamagedException(path, 0, "store format " + FORMAT, "" + format);
    }
    for (String name : (Iterable<String>) object::fieldNames) {
      if (!object.get(name).isTextual()) {
        long unused = in.longNumber(name); // so that the text that the digest is of is one for all
      }
    }
    String digest = digest(object);
    if (!digest.equals(in.text(DIGEST))) {
      throw new DamagedException(path, 0, "sha256 " + digest, in.text(DIGEST));
    }
    try {
      var settings =
          new StoreSettings(
              in.number("bucketWidthMs"),
              in.number("graceMs"),
              in.number("clockAheadMs"),
              in.number("clockBehindMs"),
              in.number("timestampDistanceMs"),
              in.number("slowAppendMs"),
              in.number("longestLeaseMs"),
              in.number("leaseMarginMs"),
              in.mode("fileMode"),
              in.mode("directoryMode"),
              Optional.of(in.text("group")).filter(g -> !g.isEmpty()),
              in.number("messageLimit"),
              in.constant("confirm", StoreSettings.Confirm.values()),
              in.constant("leases", StoreSettings.Leases.values()));
      if (!settings.problems().isEmpty()) {
        throw new DamagedException(path, 0, "settings that work", settings.problems().get(0));
      }
      String firstKey = in.text("firstKey");
      if (!PIN.matcher(firstKey).matches()) {
        throw new DamagedException(path, 0, "a SHA-256 or nothing in \"firstKey\"", firstKey);
      }
      boolean backup = object.has(BACKUP);
      if (backup && !in.text(BACKUP).equals(YES)) {
        throw new DamagedException(path, 0, "\"yes\" in \"backup\"", in.text(BACKUP));
      }
      return new StoreIdentity(
          in.id("store"), in.longNumber("created"), settings, firstKey, backup);
    } catch (IllegalArgumentException e) {
      throw new DamagedException(path, 0, "a known setting", String.valueOf(e.getMessage()));
    }
  }

  private record Reader(ObjectNode node, Name path) {
    String text(String name) throws DamagedException {
      JsonNode v = node.get(name);
      if (v == null || !v.isTextual()) {
        throw new DamagedException(path, 0, "text in \"" + name + "\"", String.valueOf(v));
      }
      return v.textValue();
    }

    long longNumber(String name) throws DamagedException {
      JsonNode v = node.get(name);
      if (v == null || !v.canConvertToLong() || !v.isIntegralNumber()) {
        throw new DamagedException(path, 0, "a number in \"" + name + "\"", String.valueOf(v));
      }
      return v.longValue();
    }

    Id id(String name) throws DamagedException {
      String text = text(name);
      Id id = Id.parse(text);
      if (!id.toString().equals(text)) {
        throw new DamagedException(path, 0, "lower-case digits in \"" + name + "\"", text);
      }
      return id;
    }

    /** Octal digits. */
    int mode(String name) throws DamagedException {
      String text = text(name);
      if (!MODE.matcher(text).matches()) {
        throw new DamagedException(path, 0, "octal digits in \"" + name + "\"", text);
      }
      return Integer.parseInt(text, 8);
    }

    /** One of some words, in lower case. */
    <E extends Enum<E>> E constant(String name, E[] all) throws DamagedException {
      String text = text(name);
      for (E one : all) {
        if (word(one).equals(text)) {
          return one;
        }
      }
      throw new DamagedException(path, 0, "a known word in \"" + name + "\"", text);
    }

    int number(String name) throws DamagedException {
      long value = longNumber(name);
      if (value != (int) value) {
        throw new DamagedException(path, 0, "a 32-bit number in \"" + name + "\"", "" + value);
      }
      return (int) value;
    }
  }
}
