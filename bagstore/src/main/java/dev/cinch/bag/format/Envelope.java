package dev.cinch.bag.format;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.JsonNode;
import dev.cinch.bag.model.Name;
import dev.cinch.lease.JsonTree;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The form of every small file that is written once and published by link: one line {@code cinch
 * <type> <version> <length> <sha256>}, then a JSON document of that length and digest. A person can
 * read it, and a file cut short or altered is known for one.
 */
public final class Envelope {
  /** The version of every type that has had no other. */
  public static final int FIRST_VERSION = 1;

  /** The longest envelope that is read of a type that has no lists, bytes. */
  public static final int MAX_SMALL_BYTES = 1 << 16;

  private static final Pattern FIRST_LINE =
      Pattern.compile("cinch ([a-z-]{1,32}) (0|[1-9]\\d{0,8}) ([1-9]\\d{0,8}) ([0-9a-f]{64})");
  private static final int MAX_FIRST_LINE = 128;

  private static final JsonTree JSON =
      JsonTree.of(
          JsonFactory.builder()
              .streamReadConstraints(
                  StreamReadConstraints.builder().maxStringLength(1 << 26).build()),
          true);

  private Envelope() {}

  /**
   * What an envelope holds.
   *
   * @param version of its type; says which fields there are
   * @param fields the document's
   */
  public record Document(int version, Fields fields) {}

  /** The bytes of a file of a type that has one version. */
  public static byte[] encode(String type, JsonNode document) {
    return encode(type, FIRST_VERSION, document);
  }

  /** The bytes of a file of the type in a version of it. */
  public static byte[] encode(String type, int version, JsonNode document) {
    byte[] body = JSON.write(document);
    String line = "cinch " + type + " " + version + " " + body.length + " " + sha256(body) + "\n";
    byte[] first = line.getBytes(StandardCharsets.US_ASCII);
    byte[] all = Arrays.copyOf(first, first.length + body.length);
    System.arraycopy(body, 0, all, first.length, body.length);
    return all;
  }

  /**
   * Reads a file of a type that has one version.
   *
   * @param path for the error message only
   */
  public static Fields decode(String type, byte[] bytes, Name path) throws DamagedException {
    return decode(type, FIRST_VERSION, FIRST_VERSION, bytes, path).fields();
  }

  /**
   * Reads what {@link #encode(String, int, JsonNode)} wrote.
   *
   * @param oldest the first version that the caller can read
   * @param newest the last one
   * @param path for the error message only
   */
  public static Document decode(String type, int oldest, int newest, byte[] bytes, Name path)
      throws DamagedException {
    int newline = -1;
    for (int i = 0; i < Math.min(bytes.length, MAX_FIRST_LINE); i++) {
      if (bytes[i] == '\n') {
        newline = i;
        break;
      }
    }
    String expected = "a first line \"cinch " + type + " " + newest + " <length> <sha256>\"";
    if (newline < 0) {
      throw new DamagedException(path, 0, expected, bytes.length + " bytes without one");
    }
    Matcher line = FIRST_LINE.matcher(new String(bytes, 0, newline, StandardCharsets.ISO_8859_1));
    if (!line.matches() || !line.group(1).equals(type)) {
      throw new DamagedException(path, 0, expected, "another one");
    }
    int version = Integer.parseInt(line.group(2));
    if (version < oldest || version > newest) {
      String known = oldest == newest ? "" + newest : oldest + " to " + newest;
      String newer = version > newest ? "; a newer Cinch may read it" : "";
      throw new DamagedException(path, 0, "format version " + known, version + newer);
    }
    int length = Integer.parseInt(line.group(3));
    if (bytes.length - newline - 1 != length) {
      throw new DamagedException(
          path, newline + 1, length + " bytes", (bytes.length - newline - 1) + " bytes");
    }
    byte[] body = Arrays.copyOfRange(bytes, newline + 1, bytes.length);
    String digest = sha256(body);
    if (!digest.equals(line.group(4))) {
      throw new DamagedException(path, newline + 1, "SHA-256 " + line.group(4), digest);
    }
    try {
      return new Document(version, new Fields(JSON.readUtf8(body), path));
    } catch (java.io.IOException e) {
      throw new DamagedException(path, newline + 1, "a JSON object in UTF-8", "something else");
    }
  }

  /** SHA-256 in 64 hexadecimal digits. */
  public static String sha256(byte[] bytes) {
    return HexFormat.of().formatHex(sha256().digest(bytes));
  }

  /** A new SHA-256, for what comes in pieces. */
  public static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }
}
