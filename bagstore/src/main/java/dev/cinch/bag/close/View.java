package dev.cinch.bag.close;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.Floor;
import java.io.IOException;
import java.util.Optional;

/**
 * How far a log was settled, retired and expired when somebody looked. What a reader goes by may be
 * retired, or expire, at any moment. So readers go by one view, fail where something is not as it
 * says, and begin again by the next one: the failure counts only if the view is still the same.
 * Immutable.
 *
 * @param tip the last record; empty if there is none, or nobody asked
 * @param checkpoint the last one; what lies behind it is read from segments (rule R2)
 * @param floor what lies before it expired (rule R4); not held against segments yet
 */
public record View(Optional<Link> tip, Optional<Checkpoint> checkpoint, Floor floor) {
  /** The time through which the log is settled; {@link Long#MIN_VALUE} if nothing is. */
  public long settled() {
    return tip.map(t -> t.record().to()).orElse(Long.MIN_VALUE);
  }

  /** The time through which it is retired; {@link Long#MIN_VALUE} if nothing is. */
  public long retired() {
    return checkpoint.map(Checkpoint::to).orElse(Long.MIN_VALUE);
  }

  /** The first record that counts: the one at the line, or number 1. */
  public long firstRecord() {
    return checkpoint.map(Checkpoint::number).orElse(1L);
  }

  /** The last segment that the checkpoint covers, 0 if there is none. */
  public long lastSegment() {
    return checkpoint.map(Checkpoint::segment).orElse(0L);
  }

  /** Takes a look. */
  @FunctionalInterface
  public interface Look {
    View now() throws IOException;
  }

  /** Reads by a view. */
  @FunctionalInterface
  public interface Reading<T> {
    T by(View view) throws IOException;
  }

  /** Reads by what a look says, once more where that has changed under its hands. */
  @CheckReturnValue
  public static <T> T read(Look look, Reading<T> reading) throws IOException {
    View view = look.now();
    while (true) {
      try {
        return reading.by(view);
      } catch (IOException e) {
        View now = look.now();
        if (now.equals(view)) {
          throw e;
        }
        view = now;
      }
    }
  }
}
