package dev.cinch.lease.http;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.dataformat.cbor.CBORFactory;
import dev.cinch.lease.Id;
import dev.cinch.lease.JsonTree;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Base64;
import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * How a body is written. Both have the same objects with the same fields; CBOR (RFC 8949), for
 * programs that send many, has bytes where JSON has text of them, numbers where it has strings of
 * nanoseconds, and leaves out what witnesses say beside their signed bytes. Thread-safe.
 */
enum Wire {
  JSON("application/json"),
  CBOR("application/cbor");

  private static final JsonTree TREES = JsonTree.of(CBORFactory.builder(), false);
  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

  /** Types of items, as the first three bits of each have them. */
  private static final int BYTES = 2;

  private static final int TEXT = 3;
  private static final int TAG = 6;

  /** As HTTP names it. */
  final String contentType;

  Wire(String contentType) {
    this.contentType = contentType;
  }

  /** What a body of this type is, and how it is answered; JSON unless it says CBOR. */
  static Wire of(@Nullable String contentType) {
    return contentType == null ? JSON : named(contentType).orElse(JSON);
  }

  /** What a type names, whatever its parameters; empty if it is none of these. */
  static Optional<Wire> named(String contentType) {
    int parameters = contentType.indexOf(';');
    String type = parameters < 0 ? contentType : contentType.substring(0, parameters);
    String lower = type.strip().toLowerCase(Locale.ROOT);
    return Arrays.stream(values()).filter(w -> w.contentType.equals(lower)).findFirst();
  }

  /**
   * Reads a body that is one object.
   *
   * @throws WireException if it is not
   */
  JsonFields read(byte[] body) throws WireException {
    if (this == JSON) {
      return JsonFields.parse(body);
    }
    if (hasTags(body)) {
      throw new WireException("a body of CBOR has no tags here");
    }
    try {
      return JsonFields.of(TREES.read(body), "the body", true);
    } catch (IOException | RuntimeException e) {
      // The parser throws a few unchecked exceptions of its own for bytes that are no CBOR.
      throw new WireException("not CBOR");
    }
  }

  /**
   * Whether some item of CBOR has a tag, as far as it is CBOR. No field wants one, and the parser
   * copies the tags that it has with each that follows.
   */
  private static boolean hasTags(byte[] body) {
    for (long at = 0; at < body.length; ) {
      int head = body[(int) at] & 0xff;
      int type = head >> 5;
      int info = head & 31;
      if (type == TAG) {
        return true;
      }
      int more = info >= 24 && info <= 27 ? 1 << (info - 24) : 0;
      long count = info < 24 ? info : 0;
      for (int i = 1; i <= more && at + i < body.length; i++) {
        count = count << 8 | body[(int) at + i] & 0xff;
      }
      if (count < 0) {
        return false; // longer than any body
      }
      // Strings have so many bytes; what arrays and maps have are items like others.
      at += 1 + more + (type == BYTES || type == TEXT ? Math.min(count, body.length) : 0);
    }
    return false;
  }

  byte[] write(JsonNode document) {
    return this == JSON ? LeaseDocuments.bytes(document) : TREES.write(document);
  }

  /** An id: 32 digits, or 16 bytes. */
  JsonNode id(Id id) {
    if (this == JSON) {
      return NODES.textNode(id.toString());
    }
    ByteBuffer bytes = ByteBuffer.allocate(Id.BYTES).putLong(id.high()).putLong(id.low());
    return NODES.binaryNode(bytes.array());
  }

  /** A time's nanoseconds: a string of them, since many readers round numbers, or a number. */
  JsonNode nanos(long nanos) {
    return this == JSON ? NODES.textNode(Long.toString(nanos)) : NODES.numberNode(nanos);
  }

  /** A signed witness: base64url, or its bytes. */
  JsonNode signed(byte[] witness) {
    return this == JSON
        ? NODES.textNode(Base64.getUrlEncoder().withoutPadding().encodeToString(witness))
        : NODES.binaryNode(witness);
  }
}
