package dev.cinch.bag.fs;

import dev.cinch.lease.time.ManualTime;
import java.io.IOException;
import java.nio.file.Path;

/**
 * A network filesystem all of whose files and directories have changed just now, as those have in
 * which whoever looks makes entries.
 */
public final class RestlessFs extends FilterFs {
  private final ManualTime time;

  public RestlessFs(StoreFs inner, ManualTime time) {
    super(inner);
    this.time = time;
  }

  @Override
  public boolean isLocal(Path file) {
    return false;
  }

  @Override
  public FileStatus status(Path path) throws IOException {
    return changedAt(inner.status(path), time.wallNanos());
  }
}
