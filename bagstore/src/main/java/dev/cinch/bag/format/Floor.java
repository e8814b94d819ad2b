package dev.cinch.bag.format;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Numbered;
import dev.cinch.lease.Id;

/**
 * The time before which a log's messages expired (rule R4): segments up to a number are dropped,
 * and mean nothing where they still stand.
 *
 * <p>Published as {@code horizon/checkpoints/floor-<segment>}. Its content follows from the
 * segment, so all who publish the same number publish the same bytes.
 *
 * @param log the log's id
 * @param segment number of the last one that is dropped; a checkpoint names a later one
 * @param to the end of that segment, nanoseconds since the Unix epoch
 * @param record number of the last record in it
 * @param messages in all segments that are dropped, so that those which stay keep their numbers
 * @param bytes of the locks of their buckets, as records count them
 */
public record Floor(Id log, long segment, long to, long record, long messages, long bytes) {
  private static final String TYPE = "floor";

  private static final int VERSION = 2;

  /** Of a log of which nothing expired: its first segment begins with record 1. */
  public static Floor none(Id log) {
    return new Floor(log, 0, Long.MIN_VALUE, 0, 0, 0);
  }

  /** Whether nothing expired. */
  public boolean isNone() {
    return segment == 0;
  }

  public byte[] encode() {
    ObjectNode document = JsonNodeFactory.instance.objectNode();
    document.put("log", log.toString()).put("segment", segment);
    document.put("to", to).put("record", record).put("messages", messages);
    document.put("bytes", bytes);
    return Envelope.encode(TYPE, VERSION, document);
  }

  /**
   * @param path for error messages
   * @throws DamagedException if it is none, was cut short or altered, or contradicts itself
   */
  public static Floor decode(byte[] bytes, Name path) throws DamagedException {
    Fields in = Envelope.decode(TYPE, VERSION, VERSION, bytes, path).fields();
    long segment = in.number("segment", 1, Numbered.MAX);
    return new Floor(
        in.id("log"),
        segment,
        in.number("to"),
        in.number("record", segment, Numbered.MAX),
        in.number("messages", 0, Long.MAX_VALUE),
        in.number("bytes", 0, Long.MAX_VALUE));
  }

  /**
   * Checks that a segment is the first that is kept.
   *
   * @param path of the floor
   * @throws DamagedException if the segment does not go on where this ends
   */
  public void precedes(SegmentHeader first, Name path) throws DamagedException {
    if (first.from() != to || first.firstRecord() != record + 1) {
      throw new DamagedException(
          path,
          0,
          "the time %d and record %d, where segment %d begins"
              .formatted(first.from(), first.firstRecord() - 1, first.number()),
          "%d and %d".formatted(to, record));
    }
  }
}
