package dev.cinch.bag.model;

import dev.cinch.bag.storage.ByteSource;
import java.io.Closeable;
import java.io.IOException;

/** An open data file or segment. Not thread-safe. */
public interface Stored extends ByteSource, Closeable {
  /** Its size when it was opened, or later; bytes. */
  long size() throws IOException;

  @Override
  void close() throws IOException;
}
