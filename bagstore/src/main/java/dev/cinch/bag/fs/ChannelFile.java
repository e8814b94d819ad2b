package dev.cinch.bag.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * An open file of the real filesystem.
 *
 * @param alignment of all reads, which go past the cache then; 1: reads go through the cache
 * @param path named in errors
 */
record ChannelFile(FileChannel channel, int alignment, Path path) implements StoreFile {
  /** For direct reads: as large as a network filesystem's blocks, a megabyte. */
  private static final AtomicReference<@Nullable ByteBuffer> SPARE_BLOCK = new AtomicReference<>();

  private interface Work<T> {
    T run() throws IOException;
  }

  /** A channel's errors say what the kernel says, and not of which file. */
  private <T> T named(Work<T> work) throws IOException {
    try {
      return work.run();
    } catch (IOException e) {
      if (e.getClass() != IOException.class) {
        throw e;
      }
      var named = new FileSystemException(path.toString(), null, e.getMessage());
      named.initCause(e);
      throw named;
    }
  }

  @Override
  public void write(ByteBuffer... buffers) throws IOException {
    named(
        () -> {
          writeAll(buffers);
          return true;
        });
  }

  private void writeAll(ByteBuffer... buffers) throws IOException {
    if (buffers.length == 1) {
      while (buffers[0].hasRemaining()) {
        channel.write(buffers[0]);
      }
      return;
    }
    ByteBuffer last = buffers[buffers.length - 1];
    while (last.hasRemaining()) {
      channel.write(buffers);
    }
    for (ByteBuffer b : buffers) {
      if (b.hasRemaining()) {
        throw new IOException("short write");
      }
    }
  }

  @Override
  public void force() throws IOException {
    named(
        () -> {
          channel.force(false);
          return true;
        });
  }

  @Override
  public int read(ByteBuffer into, long offset) throws IOException {
    return named(() -> readAll(into, offset));
  }

  private int readAll(ByteBuffer into, long offset) throws IOException {
    if (alignment > 1) {
      return readAligned(into, offset);
    }
    int total = 0;
    while (into.hasRemaining()) {
      int n = channel.read(into, offset + total);
      if (n < 0) {
        break;
      }
      total += n;
    }
    return total;
  }

  private int readAligned(ByteBuffer into, long offset) throws IOException {
    int chunk = Math.max(alignment, 1 << 16);
    ByteBuffer block = SPARE_BLOCK.getAndSet(null);
    if (block == null || block.capacity() < chunk || block.alignmentOffset(0, alignment) != 0) {
      block = ByteBuffer.allocateDirect(chunk + alignment).alignedSlice(alignment);
    }
    try {
      return readAligned(into, offset, block, chunk);
    } finally {
      SPARE_BLOCK.set(block);
    }
  }

  private int readAligned(ByteBuffer into, long offset, ByteBuffer block, int chunk)
      throws IOException {
    int total = 0;
    while (into.hasRemaining()) {
      long position = offset + total;
      long start = position - position % alignment;
      block.clear().limit(chunk);
      int n = channel.read(block, start);
      int skip = (int) (position - start);
      if (n <= skip) {
        break;
      }
      int take = Math.min(n - skip, into.remaining());
      into.put(block.duplicate().position(skip).limit(skip + take));
      total += take;
    }
    return total;
  }

  /** Past the cache what this machine believes is only where to begin looking. */
  @Override
  public long size() throws IOException {
    if (alignment == 1) {
      return channel.size();
    }
    // From the last byte on: a FUSE client answers a read by itself that begins at the end.
    long size = Math.max(0, channel.size() - 1);
    var more = ByteBuffer.allocate(1 << 16);
    while (true) {
      more.clear();
      int n = read(more, size);
      size += n;
      if (more.hasRemaining()) {
        return size;
      }
    }
  }

  @Override
  public void close() throws IOException {
    named(
        () -> {
          channel.close();
          return true;
        });
  }
}
