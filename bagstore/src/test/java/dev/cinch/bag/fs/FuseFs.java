package dev.cinch.bag.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A FUSE client (seen with GlusterFS 10.3 on Linux 6.18) all within the second for which its
 * attributes last: a file that it looked at and found empty stays so for it, also for who opens it
 * and reads past the cache.
 */
public final class FuseFs extends FilterFs {
  private final Map<Path, FileStatus> empty = new ConcurrentHashMap<>();

  public FuseFs(StoreFs inner) {
    super(inner);
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
    FileStatus known = empty.get(path);
    if (known == null) {
      known = inner.status(path);
      if (known.size() == 0) {
        empty.put(path, known);
      }
    }
    return known;
  }

  @Override
  public StoreFile readUncached(Path file) throws IOException {
    StoreFile opened = inner.readUncached(file);
    return empty.containsKey(file) ? new Empty(opened) : opened;
  }

  private record Empty(StoreFile file) implements StoreFile {
    @Override
    public void write(ByteBuffer... buffers) throws IOException {
      file.write(buffers);
    }

    @Override
    public void force() throws IOException {
      file.force();
    }

    @Override
    public int read(ByteBuffer into, long offset) {
      return 0;
    }

    @Override
    public long size() {
      return 0;
    }

    @Override
    public void close() throws IOException {
      file.close();
    }
  }
}
