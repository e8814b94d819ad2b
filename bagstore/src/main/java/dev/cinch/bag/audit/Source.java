package dev.cinch.bag.audit;

import java.io.Closeable;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** Messages of one bucket in the order of the log. Not thread-safe. */
interface Source extends Closeable {
  /** Goes on; null at the end. */
  @Nullable Salvaged next() throws IOException;

  /** What {@link #next} gave last. */
  @Nullable Salvaged current();
}
