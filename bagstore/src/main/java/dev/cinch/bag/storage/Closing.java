package dev.cinch.bag.storage;

import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.format.LockedFile;
import dev.cinch.bag.model.DataFileName;
import java.io.Closeable;
import java.io.IOException;
import java.util.Collection;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * One process's closing of one bucket, whose mark is set: close, steps 2 to 5. To be closed
 * whatever happens. Not thread-safe.
 */
public interface Closing extends Closeable {
  /**
   * Measures the data files there are (S1): step 3. Write-protects them, as a courtesy.
   *
   * @param header that the file of a name must have
   * @param maxCopies bytes of copies of their ends at most, where forcing them does as well
   * @param leftOut told of each entry that no writer can have made (rule N7)
   */
  List<LockedFile> measure(
      Function<DataFileName, FileHeader> header,
      long maxCopies,
      Consumer<ForeignEntryException> leftOut)
      throws IOException;

  /** Publishes a part of the lock, which is named by its digest. */
  void publishPart(String sha256, byte[] part) throws IOException;

  /**
   * Publishes the lock (S3): step 4.
   *
   * @return what the lock holds then: these bytes, or those of a closer that was faster
   */
  byte[] publish(byte[] lock) throws IOException;

  /**
   * Removes what closers left behind, and shows the lock past caches: step 5.
   *
   * @param parts digests of the parts that the lock names; others count for nothing
   */
  void finish(Collection<String> parts);
}
