package dev.cinch.bag.file;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.storage.Patience;
import dev.cinch.bag.store.LogContext;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * What the last checkpoint says of the segments that it covers: how they begin and end, and how
 * many messages they have. Of segments that were published before it was made. Not thread-safe.
 */
@CheckReturnValue
public final class SegmentMarks {
  private final Optional<Checkpoint> checkpoint;
  private final Patience wait;

  /**
   * @param checkpoint the last one
   */
  public SegmentMarks(LogContext log, Optional<Checkpoint> checkpoint) {
    this.checkpoint = checkpoint;
    this.wait = log.storage().patience(log.layout().segments());
  }

  /** Of segments that no checkpoint covers, or that are to be compared by the caller. */
  public static SegmentMarks none(LogContext log) {
    return new SegmentMarks(log, Optional.empty());
  }

  /** See {@link Checkpoint#messagesThrough}; empty if there is no checkpoint. */
  public OptionalLong messagesThrough(long number) {
    return checkpoint.map(c -> c.messagesThrough(number)).orElse(OptionalLong.empty());
  }

  /** See {@link Checkpoint#bytesThrough}; empty if there is no checkpoint. */
  public OptionalLong bytesThrough(long number) {
    return checkpoint.map(c -> c.bytesThrough(number)).orElse(OptionalLong.empty());
  }

  /**
   * @throws DamagedException if the checkpoint says that a segment has another number of messages
   */
  void checkMessages(long number, long messages, Name path) throws DamagedException {
    OptionalLong through = messagesThrough(number);
    long before = messagesThrough(number - 1).orElse(0);
    if (through.isPresent() && through.getAsLong() - before != messages) {
      throw new DamagedException(
          path,
          0,
          through.getAsLong() - before + " messages, as the checkpoint says",
          "" + messages);
    }
  }

  /** The digest that the checkpoint says of a segment; empty if it does not cover it. */
  Optional<String> of(long number) {
    return checkpoint.flatMap(c -> c.digestOf(number));
  }

  /**
   * Patience with a segment that looks missing. All wait together: they were published before this
   * was made.
   */
  Patience patience() {
    return wait;
  }
}
