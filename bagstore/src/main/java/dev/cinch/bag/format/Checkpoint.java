package dev.cinch.bag.format;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Numbered;
import dev.cinch.lease.Id;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.ToLongFunction;

/**
 * The line behind which a log's buckets and records are retired (rule R2): what lies before {@code
 * to} is read from segments only, whatever still stands, or stands again, in buckets and records.
 *
 * <p>Published as {@code horizon/checkpoints/<number>}. Its content follows from the segment, so
 * all who publish the same number publish the same bytes.
 *
 * @param log the log's id
 * @param number of the record at the line; it and later ones stay, those below it are retired
 * @param to of that record, nanoseconds since the Unix epoch
 * @param digest SHA-256 of that record, in hexadecimal
 * @param segment number of the segment whose last record it is; it and all below are needed
 * @param segments what it says of each of these, in order
 */
public record Checkpoint(
    Id log, long number, long to, String digest, long segment, List<Covered> segments) {
  /** The longest file of a checkpoint that is read: one of 1.5 million segments. */
  public static final int MAX_BYTES = 1 << 28;

  private static final String TYPE = "checkpoint";

  private static final int VERSION = 4;

  /**
   * What a checkpoint says of a segment.
   *
   * @param digest SHA-256 of its header, its index block with the head, and its trailer, one after
   *     another, in hexadecimal: the index has a checksum of every other block
   * @param messages in it; what is left of a segment that expired (rule R4)
   * @param bytes of the locks of its buckets, as records count them
   */
  public record Covered(String digest, long messages, long bytes) {}

  public Checkpoint {
    segments = List.copyOf(segments);
    if (segments.size() != segment) {
      throw new IllegalArgumentException(segments.size() + " digests of " + segment + " segments");
    }
  }

  /** The digest of a segment; empty if it does not cover it. */
  public Optional<String> digestOf(long number) {
    return number < 1 || number > segments.size()
        ? Optional.empty()
        : Optional.of(segments.get((int) number - 1).digest());
  }

  /** How many messages the segments up to a number have; empty if it does not cover all of them. */
  public OptionalLong messagesThrough(long number) {
    return through(number, Covered::messages);
  }

  /** As {@link #messagesThrough}, of the bytes of locks. */
  public OptionalLong bytesThrough(long number) {
    return through(number, Covered::bytes);
  }

  private OptionalLong through(long number, ToLongFunction<Covered> part) {
    return number < 1 || number > segments.size()
        ? OptionalLong.empty()
        : OptionalLong.of(segments.stream().limit(number).mapToLong(part).sum());
  }

  public byte[] encode() {
    ObjectNode document = JsonNodeFactory.instance.objectNode();
    document.put("log", log.toString()).put("number", number).put("to", to);
    document.put("digest", digest).put("segment", segment);
    var array = document.putArray("segments");
    for (Covered s : segments) {
      array
          .addObject()
          .put("digest", s.digest())
          .put("messages", s.messages())
          .put("bytes", s.bytes());
    }
    return Envelope.encode(TYPE, VERSION, document);
  }

  /**
   * @param path for error messages
   * @throws DamagedException if it is not a checkpoint, was cut short or altered, or contradicts
   *     itself
   */
  public static Checkpoint decode(byte[] bytes, Name path) throws DamagedException {
    Fields in = Envelope.decode(TYPE, VERSION, VERSION, bytes, path).fields();
    long number = in.number("number", 1, Numbered.MAX);
    long segment = in.number("segment", 1, number); // each has a record at least
    var segments = new ArrayList<Covered>();
    long left = Long.MAX_VALUE; // so that nobody's sum is more than a number holds
    long bytesLeft = Long.MAX_VALUE;
    for (Fields s : in.objects("segments")) {
      long messages = s.number("messages", 0, left);
      left -= messages;
      long locks = s.number("bytes", 0, bytesLeft);
      bytesLeft -= locks;
      segments.add(new Covered(s.sha256("digest"), messages, locks));
    }
    if (segments.size() != segment) {
      throw new DamagedException(
          path, 0, "the digests of " + segment + " segments", "" + segments.size());
    }
    return new Checkpoint(
        in.id("log"), number, in.number("to"), in.sha256("digest"), segment, segments);
  }
}
