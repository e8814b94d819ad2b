package dev.cinch.bag.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * An NFSv4 client that has a delegation for every prelock and data file that it opened once, and
 * does not know that it was revoked: it says what the file was like, whatever it is opened for, and
 * keeps what was closed. What it reads past its cache is the server's, and what it forces gets
 * there.
 */
public final class DelegatedFs extends FilterFs {
  private final Map<Path, FileStatus> delegated = new ConcurrentHashMap<>();

  public DelegatedFs(StoreFs inner) {
    super(inner);
  }

  @Override
  public boolean isLocal(Path file) {
    return false;
  }

  @Override
  public StoreFile read(Path file) throws IOException {
    StoreFile opened = delegated(file, inner.read(file));
    FileStatus known = delegated.get(file);
    return known == null ? opened : new Handle(opened, known.size());
  }

  @Override
  public StoreFile create(Path file, int mode) throws IOException {
    return new Handle(inner.create(file, mode), Long.MAX_VALUE);
  }

  private StoreFile delegated(Path file, StoreFile opened) throws IOException {
    String name = String.valueOf(file.getFileName());
    if (name.equals("prelock") || name.endsWith(".log")) {
      delegated.putIfAbsent(file, inner.status(file));
    }
    return opened;
  }

  @Override
  public FileStatus status(Path path) throws IOException {
    FileStatus known = delegated.get(path);
    return known != null ? known : inner.status(path);
  }

  private static final class Handle extends FilterFile {
    private final long known;
    private final List<ByteBuffer> kept = new ArrayList<>();

    Handle(StoreFile file, long known) {
      super(file);
      this.known = known;
    }

    @Override
    public void write(ByteBuffer... buffers) {
      for (ByteBuffer b : buffers) {
        var bytes = new byte[b.remaining()];
        b.get(bytes);
        kept.add(ByteBuffer.wrap(bytes));
      }
    }

    @Override
    public void force() throws IOException {
      file.write(kept.toArray(ByteBuffer[]::new));
      kept.clear();
      file.force();
    }

    @Override
    public int read(ByteBuffer into, long offset) throws IOException {
      int most = (int) Math.max(0, Math.min(into.remaining(), known - offset));
      int limit = into.limit();
      into.limit(into.position() + most);
      try {
        return file.read(into, offset);
      } finally {
        into.limit(limit);
      }
    }

    @Override
    public long size() throws IOException {
      return Math.min(known, file.size());
    }
  }
}
