package dev.cinch.bag.fs;

import java.io.IOException;
import java.nio.file.Path;

/** A filesystem that machines share, and whose change times are those of a coarse clock. */
public final class CoarseFs extends FilterFs {
  private final long tickNanos;

  public CoarseFs(StoreFs inner, long tickNanos) {
    super(inner);
    this.tickNanos = tickNanos;
  }

  @Override
  public boolean isLocal(Path file) {
    return false;
  }

  @Override
  public FileStatus status(Path path) throws IOException {
    FileStatus s = inner.status(path);
    return changedAt(s, s.changeTime() - Math.floorMod(s.changeTime(), tickNanos));
  }
}
