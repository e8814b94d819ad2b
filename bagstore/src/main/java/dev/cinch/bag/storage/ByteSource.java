package dev.cinch.bag.storage;

import java.io.IOException;
import java.nio.ByteBuffer;

/** Bytes that are read by position. Not thread-safe. */
@FunctionalInterface
public interface ByteSource {
  /**
   * Reads from an offset until the buffer is full or the bytes end.
   *
   * @return the number of bytes read, 0 at the end
   */
  int read(ByteBuffer into, long offset) throws IOException;
}
