package dev.cinch.bag.file;

import dev.cinch.bag.format.SegmentBucket.Hole;
import dev.cinch.bag.model.DataFileName;
import java.util.List;

/**
 * How much there is of a data file: what a closer finds when it has read all of it (close, step 3).
 *
 * @param name the file
 * @param validLength end of its last whole batch; 0: there is none
 * @param messages in whole batches
 * @param first timestamp of the first message; 0 if there is none
 * @param holes where batches are damaged that others stand behind, or that go on for longer than
 *     any single one (rule C4)
 */
public record DataFileExtent(
    DataFileName name, long validLength, long messages, long first, List<Hole> holes) {
  public DataFileExtent {
    holes = List.copyOf(holes);
  }

  /** The same up to the valid length. */
  DataFileExtent toValidLength() {
    return new DataFileExtent(
        name,
        validLength,
        messages,
        first,
        holes.stream().filter(h -> h.to() <= validLength).toList());
  }

  /** What a settled file says of it. */
  public dev.cinch.bag.format.SegmentBucket.DataFile listed() {
    return new dev.cinch.bag.format.SegmentBucket.DataFile(name, validLength, messages);
  }
}
