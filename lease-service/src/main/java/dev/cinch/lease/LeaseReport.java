package dev.cinch.lease;

import java.util.List;
import java.util.OptionalLong;

/**
 * What a holder tells about the leases of one grant when it renews or releases them.
 *
 * @param watermark highest timestamp written under them; empty: nothing was written, the inherited
 *     bound is passed on (rule L2)
 * @param fenced whether the horizon of the logs concerned has passed the fence of the last
 *     witnesses (rule L8)
 * @param metadata where recent messages stand (rule L7)
 * @param instance the number of the instance whose witnesses the holder goes by; another one
 *     refuses (rule L12). Empty: whichever it reaches, which serves leases that are never resumed
 */
public record LeaseReport(
    OptionalLong watermark, boolean fenced, List<Metadata> metadata, OptionalLong instance) {
  /**
   * Where a holder's recent messages stand (rule L7); a hint for readers, never needed for an
   * answer.
   *
   * @param log the log written to
   * @param bucketStart start of the bucket, nanoseconds since the Unix epoch
   * @param dataFile the data file's name, at most 255 characters
   */
  public record Metadata(Id log, long bucketStart, String dataFile) {}

  /** Nothing was written and nothing fenced. */
  public static final LeaseReport NOTHING = new LeaseReport(OptionalLong.empty(), false, List.of());

  /** Names no instance. */
  public LeaseReport(OptionalLong watermark, boolean fenced, List<Metadata> metadata) {
    this(watermark, fenced, metadata, OptionalLong.empty());
  }

  /** The same, told to the instance with this number. */
  public LeaseReport to(long number) {
    return new LeaseReport(watermark, fenced, metadata, OptionalLong.of(number));
  }

  /**
   * @throws IllegalArgumentException if the name of a data file has one of {@link OneLine#isHidden}
   */
  public LeaseReport {
    metadata = List.copyOf(metadata);
    metadata.forEach(m -> OneLine.check("the name of a data file", m.dataFile()));
  }
}
