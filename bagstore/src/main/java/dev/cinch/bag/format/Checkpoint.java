package dev.cinch.bag.format;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.bag.layout.Numbered;
import dev.cinch.lease.Id;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

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
 * @param segments the digests of each of these, in order; empty in a checkpoint of version 1, which
 *     has none
 */
public record Checkpoint(
    Id log, long number, long to, String digest, long segment, List<SegmentDigests> segments) {
  private static final String TYPE = "checkpoint";

  /** The first version that names its segments by digest. */
  private static final int WITH_SEGMENTS = 2;

  public Checkpoint {
    segments = List.copyOf(segments);
    if (!segments.isEmpty() && segments.size() != segment) {
      throw new IllegalArgumentException(segments.size() + " digests of " + segment + " segments");
    }
  }

  /** 1 or 2, of its format. */
  public int version() {
    return segments.isEmpty() ? Envelope.FIRST_VERSION : WITH_SEGMENTS;
  }

  /** The same with the digests of its segments. */
  public Checkpoint with(List<SegmentDigests> digests) {
    return new Checkpoint(log, number, to, digest, segment, digests);
  }

  /** By which bytes it knows a segment; empty if it does not cover it, or has no digests. */
  public Optional<SegmentDigests> digests(long number) {
    return number < 1 || number > segments.size()
        ? Optional.empty()
        : Optional.of(segments.get((int) number - 1));
  }

  public byte[] encode() {
    ObjectNode document = JsonNodeFactory.instance.objectNode();
    document.put("log", log.toString()).put("number", number).put("to", to);
    document.put("digest", digest).put("segment", segment);
    if (version() >= WITH_SEGMENTS) {
      var array = document.putArray("segments");
      for (SegmentDigests s : segments) {
        array.addObject().put("sha256", s.sha256()).put("index", s.index());
      }
    }
    return Envelope.encode(TYPE, version(), document);
  }

  /**
   * @param path for error messages
   * @throws DamagedException if it is not a checkpoint, was cut short or altered, or contradicts
   *     itself
   */
  public static Checkpoint decode(byte[] bytes, Path path) throws DamagedException {
    Envelope.Document read =
        Envelope.decode(TYPE, Envelope.FIRST_VERSION, WITH_SEGMENTS, bytes, path);
    Fields in = read.fields();
    long number = in.number("number", 1, Numbered.MAX);
    long segment = in.number("segment", 1, number); // each has a record at least
    var segments = new ArrayList<SegmentDigests>();
    if (read.version() >= WITH_SEGMENTS) {
      for (Fields s : in.objects("segments")) {
        segments.add(new SegmentDigests(s.sha256("sha256"), s.sha256("index")));
      }
      if (segments.size() != segment) {
        throw new DamagedException(
            path, 0, "the digests of " + segment + " segments", "" + segments.size());
      }
    }
    return new Checkpoint(
        in.id("log"), number, in.number("to"), in.sha256("digest"), segment, segments);
  }
}
