package dev.cinch.bag.storage;

import java.io.Closeable;
import java.io.IOException;

/** An open data file or segment. Not thread-safe. */
public interface Stored extends ByteSource, Closeable {
  /** Its size when it was opened, or later; bytes. */
  long size() throws IOException;

  @Override
  void close() throws IOException;
}
