package dev.cinch.bag.model;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;

/** An open data file or segment, which is read by position. Not thread-safe. */
public interface Stored extends Closeable {
  /**
   * Reads from an offset until the buffer is full or the bytes end.
   *
   * @return the number of bytes read, 0 at the end
   */
  int read(ByteBuffer into, long offset) throws IOException;

  /** Its size when it was opened, or later; bytes. */
  long size() throws IOException;

  @Override
  void close() throws IOException;
}
