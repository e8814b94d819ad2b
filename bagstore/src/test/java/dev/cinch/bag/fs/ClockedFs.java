package dev.cinch.bag.fs;

import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.nio.file.Path;

/**
 * A real filesystem whose clock a test owns: the directories made to read its clock, and the
 * intents that are compared with that, have the test's time; everything else is as it is.
 */
public final class ClockedFs extends FilterFs {
  private final TimeSource time;

  public ClockedFs(StoreFs inner, TimeSource time) {
    super(inner);
    this.time = time;
  }

  @Override
  public FileStatus status(Path path) throws IOException {
    FileStatus s = inner.status(path);
    Path parent = path.getParent();
    return parent != null && (parent.endsWith("clock") || parent.endsWith("intents"))
        ? changedAt(s, time.wallNanos())
        : s;
  }
}
