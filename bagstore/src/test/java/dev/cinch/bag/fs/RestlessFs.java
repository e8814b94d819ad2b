package dev.cinch.bag.fs;

import java.io.IOException;
import java.nio.file.Path;

/**
 * A network filesystem all of whose files and directories have changed just now, as those have in
 * which whoever looks makes entries.
 */
public final class RestlessFs extends FilterFs {
  private final TestTime time;

  public RestlessFs(StoreFs inner, TestTime time) {
    super(inner);
    this.time = time;
  }

  @Override
  public boolean isLocal(Path file) {
    return false;
  }

  @Override
  public FileStatus status(Path path) throws IOException {
    FileStatus s = inner.status(path);
    return new FileStatus(s.device(), s.inode(), s.size(), time.wallNanos(), s.mode(), s.uid());
  }
}
