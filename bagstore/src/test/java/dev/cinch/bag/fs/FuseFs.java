package dev.cinch.bag.fs;

import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A FUSE client (seen with GlusterFS 10.3 on Linux 6.18): a file that it looked at and found empty
 * stays so for it for a second, also for who opens it and reads past the cache.
 */
public final class FuseFs extends FilterFs {
  private static final long LASTS_NANOS = 1_000_000_000L;

  private final TimeSource time;
  private final Map<Path, Known> empty = new ConcurrentHashMap<>();

  private record Known(FileStatus status, long at) {}

  /**
   * @param time its machine's
   */
  public FuseFs(StoreFs inner, TimeSource time) {
    super(inner);
    this.time = time;
  }

  private boolean isKnown(Path path) {
    Known known = empty.get(path);
    return known != null && time.monotonicNanos() - known.at < LASTS_NANOS;
  }

  @Override
  public boolean isLocal(Path file) {
    return false;
  }

  @Override
  public boolean readsReachServer(Path file) {
    return false;
  }

  @Override
  public FileStatus status(Path path) throws IOException {
    Known known = empty.get(path);
    if (known != null && isKnown(path)) {
      return known.status;
    }
    FileStatus status = inner.status(path);
    if (status.size() == 0) {
      empty.put(path, new Known(status, time.monotonicNanos()));
    }
    return status;
  }

  @Override
  public StoreFile readUncached(Path file) throws IOException {
    StoreFile opened = inner.readUncached(file);
    return isKnown(file) ? new Empty(opened) : opened;
  }

  private static final class Empty extends FilterFile {
    Empty(StoreFile file) {
      super(file);
    }

    @Override
    public int read(ByteBuffer into, long offset) {
      return 0;
    }

    @Override
    public long size() {
      return 0;
    }
  }
}
