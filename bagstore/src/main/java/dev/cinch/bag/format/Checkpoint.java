package dev.cinch.bag.format;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.bag.layout.Numbered;
import dev.cinch.lease.Id;
import java.nio.file.Path;

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
 */
public record Checkpoint(Id log, long number, long to, String digest, long segment) {
  private static final String TYPE = "checkpoint";

  public byte[] encode() {
    ObjectNode document = Envelope.JSON.createObjectNode();
    document.put("log", log.toString()).put("number", number).put("to", to);
    document.put("digest", digest).put("segment", segment);
    return Envelope.encode(TYPE, document);
  }

  /**
   * @param path for error messages
   * @throws DamagedException if it is not a checkpoint, was cut short or altered
   */
  public static Checkpoint decode(byte[] bytes, Path path) throws DamagedException {
    Fields in = Envelope.decode(TYPE, bytes, path);
    return new Checkpoint(
        in.id("log"),
        in.number("number", 1, Numbered.MAX),
        in.number("to"),
        in.text("digest"),
        in.number("segment", 1, Numbered.MAX));
  }
}
