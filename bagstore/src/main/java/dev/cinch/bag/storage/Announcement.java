package dev.cinch.bag.storage;

import java.io.IOException;
import java.util.OptionalLong;

/** An intent that somebody left: see {@link LogStorage#announce}. Thread-safe. */
public interface Announcement {
  /** The boundary that it reaches; {@link Long#MAX_VALUE} for the end of time. */
  long to();

  /**
   * The storage's time of its making, or an earlier one from a cache.
   *
   * @return empty if it was removed
   */
  OptionalLong madeAt() throws IOException;

  /** Removes it. What stays behind is swept by others, so a failure is none. */
  void withdraw();
}
