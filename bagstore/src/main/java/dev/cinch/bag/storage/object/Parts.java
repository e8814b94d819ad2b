package dev.cinch.bag.storage.object;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.format.Fields;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Numbered;
import dev.cinch.lease.Id;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * What stands in the place of a document that is too large for one object: where its parts are
 * (rule O9, and format.md).
 *
 * @param id of the draft whose parts they are
 * @param each size of all but the last one, bytes
 * @param size of the document, bytes
 */
record Parts(Id id, int each, long size) {
  /** A small one: what is read of a document at first has all of it. */
  static final int MAX_BYTES = 1 << 10;

  private static final String TYPE = "parts";
  private static final byte[] BEGIN = ("cinch " + TYPE + " ").getBytes(StandardCharsets.US_ASCII);
  private static final String INFIX = ".parts-";
  private static final Pattern PLACE = Pattern.compile(".*[.]parts-[0-9a-f]{32}");
  private static final int DIGITS = 8;

  /** Of one document. */
  private static final int MOST = 1_000_000;

  /** Whether a name is that of a place of parts. */
  static boolean isPlace(String last) {
    return PLACE.matcher(last).matches();
  }

  /** The document whose parts stand in a place. */
  static Name documentOf(Name place) {
    return new Name(place.text().substring(0, place.text().lastIndexOf(INFIX)));
  }

  /** What the names of all places begin with that have parts of a document. */
  static Name anyOf(Name document) {
    return new Name(document.text() + INFIX);
  }

  /** Of one draft of it. */
  static Name place(Name document, Id id) {
    return new Name(anyOf(document).text() + id);
  }

  static Name part(Name document, Id id, int number) {
    return place(document, id).resolve(Numbered.padded(number, DIGITS));
  }

  /** All, in their order. */
  List<Name> of(Name document) {
    return IntStream.rangeClosed(1, count()).mapToObj(i -> part(document, id, i)).toList();
  }

  private int count() {
    return Math.toIntExact((size + each - 1) / each);
  }

  long[] sizes() {
    var sizes = new long[count()];
    Arrays.fill(sizes, each);
    sizes[sizes.length - 1] = size - (sizes.length - 1L) * each;
    return sizes;
  }

  byte[] encode() {
    return Envelope.encode(
        TYPE,
        JsonNodeFactory.instance
            .objectNode()
            .put("id", id.toString())
            .put("each", each)
            .put("size", size));
  }

  /**
   * @param bytes of an object, from its begin
   * @return empty if it is the document itself
   */
  static Optional<Parts> decode(byte[] bytes, Name document) throws DamagedException {
    if (bytes.length > MAX_BYTES || !startsWith(bytes)) {
      return Optional.empty();
    }
    Fields fields = Envelope.decode(TYPE, bytes, document);
    int each = (int) fields.number("each", 1, Integer.MAX_VALUE);
    long most = (long) each * MOST;
    return Optional.of(new Parts(fields.id("id"), each, fields.number("size", 1, most)));
  }

  private static boolean startsWith(byte[] bytes) {
    return bytes.length >= BEGIN.length
        && Arrays.equals(bytes, 0, BEGIN.length, BEGIN, 0, BEGIN.length);
  }
}
