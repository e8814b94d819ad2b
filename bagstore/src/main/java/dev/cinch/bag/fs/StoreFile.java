package dev.cinch.bag.fs;

import dev.cinch.bag.model.Stored;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * An open file. Not thread-safe. Errors of {@link #force} and {@link #close} are write errors (rule
 * N4): what was written may or may not be there.
 */
public interface StoreFile extends Stored {
  /**
   * Writes all that remains in the buffers, in their order, at the end of the file (or on from
   * where an overwriting handle is).
   */
  void write(ByteBuffer... buffers) throws IOException;

  /**
   * Forces what was written through this handle to stable storage; on a filesystem of one kernel
   * all that was written to the file, also through a handle that only reads.
   */
  void force() throws IOException;
}
