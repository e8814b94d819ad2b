package dev.cinch.bag.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** Hands every operation on; fakes with one fault each change one of them. */
public class FilterFs implements StoreFs {
  final StoreFs inner;

  public FilterFs(StoreFs inner) {
    this.inner = inner;
  }

  /** The fake itself: what it stands before keeps knowing no root. */
  @Override
  public StoreFs forStore(Path root, Optional<String> group) {
    return this;
  }

  @Override
  public boolean isLocal(Path file) throws IOException {
    return inner.isLocal(file);
  }

  @Override
  public boolean readsReachServer(Path file) throws IOException {
    return inner.readsReachServer(file);
  }

  @Override
  public FileStatus status(Path path) throws IOException {
    return inner.status(path);
  }

  @Override
  public void mkdir(Path directory, int mode) throws IOException {
    inner.mkdir(directory, mode);
  }

  @Override
  public void rmdir(Path directory) throws IOException {
    inner.rmdir(directory);
  }

  @Override
  public StoreFile create(Path file, int mode) throws IOException {
    return inner.create(file, mode);
  }

  @Override
  public StoreFile overwrite(Path file) throws IOException {
    return inner.overwrite(file);
  }

  @Override
  public StoreFile read(Path file) throws IOException {
    return inner.read(file);
  }

  @Override
  public StoreFile readUncached(Path file) throws IOException {
    return inner.readUncached(file);
  }

  @Override
  public StoreFile readShared(Path file) throws IOException {
    inner.readShared(file).close(); // for whether this user may
    return readUncached(file);
  }

  @Override
  public List<String> list(Path directory) throws IOException {
    return inner.list(directory);
  }

  @Override
  public void link(Path existing, Path name) throws IOException {
    inner.link(existing, name);
  }

  @Override
  public void chmod(Path path, int mode) throws IOException {
    inner.chmod(path, mode);
  }

  @Override
  public void unlink(Path file) throws IOException {
    inner.unlink(file);
  }

  @Override
  public void forceDirectory(Path directory) throws IOException {
    inner.forceDirectory(directory);
  }

  /** The same with another time of its last change. */
  static FileStatus changedAt(FileStatus s, long changed) {
    return new FileStatus(s.device(), s.inode(), s.size(), changed, s.mode(), s.uid());
  }

  /** The same for an open file. */
  static class FilterFile implements StoreFile {
    final StoreFile file;

    FilterFile(StoreFile file) {
      this.file = file;
    }

    @Override
    public void write(ByteBuffer... buffers) throws IOException {
      file.write(buffers);
    }

    @Override
    public void force() throws IOException {
      file.force();
    }

    @Override
    public int read(ByteBuffer into, long offset) throws IOException {
      return file.read(into, offset);
    }

    @Override
    public long size() throws IOException {
      return file.size();
    }

    @Override
    public void close() throws IOException {
      file.close();
    }
  }
}
