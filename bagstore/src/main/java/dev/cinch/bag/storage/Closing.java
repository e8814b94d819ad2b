package dev.cinch.bag.storage;

import dev.cinch.bag.model.DataFileName;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * One process's closing of one bucket, whose mark is set: close, steps 2 to 5. To be closed
 * whatever happens. Not thread-safe.
 */
public interface Closing extends Closeable {
  /** The data files there are (S1): step 2. Write-protects them, as a courtesy. */
  List<DataFileName> files() throws IOException;

  /** Takes the next bytes of the lock. */
  void write(ByteBuffer bytes) throws IOException;

  /**
   * Publishes what was written as the lock (S3), durable before it is visible: step 4. The truth is
   * what the lock holds then: these bytes, or those of a closer that was faster.
   */
  void publish() throws IOException;

  /** Removes what closers left behind, and shows the lock past caches: step 5. */
  void finish();
}
