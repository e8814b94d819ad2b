package dev.cinch.bag.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.function.Predicate;

/** A client whose cache gives wrong bytes for some files; past the cache they are right (N5). */
public final class CorruptCacheFs extends FilterFs {
  private final Predicate<Path> which;
  private final long from;

  /**
   * @param from every byte from this offset on is wrong
   */
  public CorruptCacheFs(StoreFs inner, Predicate<Path> which, long from) {
    super(inner);
    this.which = which;
    this.from = from;
  }

  @Override
  public StoreFile read(Path file) throws IOException {
    StoreFile open = inner.read(file);
    return which.test(file) ? new Handle(open) : open;
  }

  private final class Handle extends FilterFile {
    Handle(StoreFile file) {
      super(file);
    }

    @Override
    public int read(ByteBuffer into, long offset) throws IOException {
      int at = into.position();
      int n = file.read(into, offset);
      for (int i = 0; i < n; i++) {
        if (offset + i >= from) {
          into.put(at + i, (byte) ~into.get(at + i));
        }
      }
      return n;
    }
  }
}
