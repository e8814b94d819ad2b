package dev.cinch.bag.storage;

import java.io.IOException;
import java.nio.ByteBuffer;

/** A bucket that a writer has entered, and the writer's data file there. Not thread-safe. */
public interface Entered {
  /**
   * Writes a whole frame behind what was written. When it returns others see the frame, and it is
   * durable where the writer asked for that. An error leaves its fate open; nothing may be appended
   * afterwards (rule A2).
   *
   * @param frame in this order
   */
  void append(ByteBuffer[] frame) throws IOException;

  /**
   * Asked after {@link #append} failed: how many bytes the file can have at most, whatever arrives
   * late. With fewer than up to the end of the frame nobody will ever measure that. As many as
   * before: nothing of it is there (rule A2).
   */
  default long mostThere() {
    return Long.MAX_VALUE;
  }

  /** What a look at a bucket's mark tells. */
  enum Mark {
    /** It has none, past every cache (S1). */
    OPEN,
    /** It has one, or is another bucket than the one that was entered. */
    SEALED,
    /** None was seen, but only intents and records tell: append, step 4. */
    UNSURE
  }

  /** Looks for the mark: append, step 4. Asked after {@link #append} returned (rule A6). */
  Mark look() throws IOException;

  /** The storage's clock at the last append, or later. */
  long changedAt() throws IOException;

  /**
   * Writes no more to it. An error then concerns no frame: each was where {@link #append} says when
   * that returned.
   */
  default void leave() {}
}
