package dev.cinch.bag.audit;

import static java.util.Objects.requireNonNull;

import dev.cinch.bag.model.Stored;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * A file of which pages that can't be read are zeros, which no checksum takes for data: so what
 * can't be read is one kind of damage more, and costs nothing that lies before or behind it.
 */
final class PatchyFile implements Stored {
  private static final int PAGE = 4096;

  /** Of one that is gone. */
  private final @Nullable Stored in;

  private final long size;

  private PatchyFile(@Nullable Stored in, long size) {
    this.in = in;
    this.size = size;
  }

  /** Takes over an open file. */
  static PatchyFile of(Stored in) throws IOException {
    try {
      return new PatchyFile(in, in.size());
    } catch (IOException e) {
      in.close();
      throw e;
    }
  }

  @Override
  public int read(ByteBuffer into, long offset) {
    if (in == null) {
      return 0;
    }
    int start = into.position();
    try {
      return in.read(into, offset);
    } catch (IOException e) {
      into.position(start);
      return pages(into, offset);
    }
  }

  private int pages(ByteBuffer into, long offset) {
    int start = into.position();
    for (long at = offset; into.hasRemaining() && at < size; ) {
      long page = Math.min(PAGE - at % PAGE, size - at);
      int n = (int) Math.min(into.remaining(), page);
      page(into.slice(into.position(), n), at);
      into.position(into.position() + n);
      at += n;
    }
    return into.position() - start;
  }

  private void page(ByteBuffer into, long offset) {
    try {
      int unused = requireNonNull(in).read(into, offset);
    } catch (IOException e) {
      into.clear();
    }
    while (into.hasRemaining()) {
      into.put((byte) 0);
    }
  }

  @Override
  public long size() {
    return size;
  }

  @Override
  public void close() throws IOException {
    if (in != null) {
      in.close();
    }
  }
}
