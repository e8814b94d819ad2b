package dev.cinch.cli.base;

import dev.cinch.bag.fs.FileStatus;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.fs.StoreFs;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * Tells a {@link HangWatch} of every operation while it lasts. Thread-safe as what is behind it.
 */
public final class WatchedFs implements StoreFs {
  private final StoreFs inner;
  private final HangWatch watch;

  public WatchedFs(StoreFs inner, HangWatch watch) {
    this.inner = inner;
    this.watch = watch;
  }

  private interface Work<T> {
    T run() throws IOException;
  }

  private interface Act {
    void run() throws IOException;
  }

  private static <T> T watched(HangWatch watch, String what, Path path, Work<T> work)
      throws IOException {
    HangWatch.Waiting waiting = watch.begin(what, path);
    try {
      return work.run();
    } finally {
      watch.end(waiting);
    }
  }

  private static void act(HangWatch watch, String what, Path path, Act act) throws IOException {
    HangWatch.Waiting waiting = watch.begin(what, path);
    try {
      act.run();
    } finally {
      watch.end(waiting);
    }
  }

  private StoreFile open(Path file, Work<StoreFile> work) throws IOException {
    return new WatchedFile(watched(watch, "opening", file, work), file, watch);
  }

  @Override
  public StoreFs forStore(Path root, Optional<String> group) {
    return new WatchedFs(inner.forStore(root, group), watch);
  }

  @Override
  public void mkdir(Path directory, int mode) throws IOException {
    act(watch, "making", directory, () -> inner.mkdir(directory, mode));
  }

  @Override
  public void rmdir(Path directory) throws IOException {
    act(watch, "removing", directory, () -> inner.rmdir(directory));
  }

  @Override
  public StoreFile create(Path file, int mode) throws IOException {
    return open(file, () -> inner.create(file, mode));
  }

  @Override
  public StoreFile overwrite(Path file) throws IOException {
    return open(file, () -> inner.overwrite(file));
  }

  @Override
  public StoreFile read(Path file) throws IOException {
    return open(file, () -> inner.read(file));
  }

  @Override
  public StoreFile readUncached(Path file) throws IOException {
    return open(file, () -> inner.readUncached(file));
  }

  @Override
  public StoreFile readShared(Path file) throws IOException {
    return open(file, () -> inner.readShared(file));
  }

  @Override
  public boolean isLocal(Path file) throws IOException {
    return watched(watch, "looking at", file, () -> inner.isLocal(file));
  }

  @Override
  public boolean readsReachServer(Path file) throws IOException {
    return watched(watch, "looking at", file, () -> inner.readsReachServer(file));
  }

  @Override
  public FileStatus status(Path path) throws IOException {
    return watched(watch, "looking at", path, () -> inner.status(path));
  }

  @Override
  public FileStatus freshStatus(Path file) throws IOException {
    return watched(watch, "looking at", file, () -> inner.freshStatus(file));
  }

  @Override
  public List<String> list(Path directory) throws IOException {
    return watched(watch, "listing", directory, () -> inner.list(directory));
  }

  @Override
  public void link(Path existing, Path name) throws IOException {
    act(watch, "linking", name, () -> inner.link(existing, name));
  }

  @Override
  public void chmod(Path path, int mode) throws IOException {
    act(watch, "changing the mode of", path, () -> inner.chmod(path, mode));
  }

  @Override
  public void unlink(Path file) throws IOException {
    act(watch, "removing", file, () -> inner.unlink(file));
  }

  @Override
  public void forceDirectory(Path directory) throws IOException {
    act(watch, "forcing", directory, () -> inner.forceDirectory(directory));
  }

  private record WatchedFile(StoreFile file, Path path, HangWatch watch) implements StoreFile {
    @Override
    public void write(ByteBuffer... buffers) throws IOException {
      act(watch, "writing to", path, () -> file.write(buffers));
    }

    @Override
    public void force() throws IOException {
      act(watch, "forcing", path, file::force);
    }

    @Override
    public int read(ByteBuffer into, long offset) throws IOException {
      return watched(watch, "reading", path, () -> file.read(into, offset));
    }

    @Override
    public long size() throws IOException {
      return watched(watch, "looking at", path, file::size);
    }

    @Override
    public void close() throws IOException {
      act(watch, "closing", path, file::close);
    }
  }
}
