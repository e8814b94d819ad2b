package dev.cinch.bag.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.FileSystemException;
import java.nio.file.Path;
import java.util.List;

/**
 * A disk that can't read some page of a file, past the cache neither, or list a directory. Like the
 * kernel it fails a read that touches the page.
 */
public final class UnreadableFs extends FilterFs {
  private static final int PAGE = 4096;

  private final Path place;
  private final long page;

  /**
   * @param place a file or a directory
   * @param page of the file, from 0
   */
  public UnreadableFs(StoreFs inner, Path place, long page) {
    super(inner);
    this.place = place;
    this.page = page;
  }

  @Override
  public List<String> list(Path directory) throws IOException {
    if (directory.equals(place)) {
      throw failure();
    }
    return inner.list(directory);
  }

  @Override
  public StoreFile read(Path file) throws IOException {
    return file.equals(place) ? new Handle(inner.read(file)) : inner.read(file);
  }

  @Override
  public StoreFile readUncached(Path file) throws IOException {
    return file.equals(place) ? new Handle(inner.readUncached(file)) : inner.readUncached(file);
  }

  private FileSystemException failure() {
    return new FileSystemException(place.toString(), null, "Input/output error");
  }

  private final class Handle extends FilterFile {
    Handle(StoreFile file) {
      super(file);
    }

    @Override
    public int read(ByteBuffer into, long offset) throws IOException {
      long end = Math.min(offset + into.remaining(), file.size());
      if (offset < (page + 1) * PAGE && end > page * PAGE) {
        into.put(into.position(), (byte) 1); // what a failed read leaves in the buffer is anything
        throw failure();
      }
      return file.read(into, offset);
    }
  }
}
