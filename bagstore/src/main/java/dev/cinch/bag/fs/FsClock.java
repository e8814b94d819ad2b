package dev.cinch.bag.fs;

import java.io.IOException;
import java.nio.file.Path;

/**
 * The filesystem's own clock: the change time of a directory just made (section 5). Thread-safe.
 *
 * <p>A directory and not a file, because a file's times can come from a client: users set them, and
 * NFS delegates them.
 */
public final class FsClock {
  private final StoreFs fs;
  private final Fresh fresh;
  private final Path directory;
  private final int mode;

  /**
   * @param directory where to make the temporary directories
   * @param mode theirs
   */
  public FsClock(StoreFs fs, Fresh fresh, Path directory, int mode) {
    this.fs = fs;
    this.fresh = fresh;
    this.directory = directory;
    this.mode = mode;
  }

  /** The filesystem's now, nanoseconds since the Unix epoch. Three operations. */
  public long now() throws IOException {
    Path probe = fresh.temporary(directory);
    fs.mkdir(probe, mode);
    try {
      return fs.status(probe).changeTime();
    } finally {
      try {
        fs.rmdir(probe);
      } catch (IOException e) {
        // Swept by others; an empty directory with a temporary name means nothing.
      }
    }
  }
}
