package dev.cinch.bag.storage.posix;

import dev.cinch.bag.fs.Fresh;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.storage.Storage.Draft;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Path;

/**
 * A temporary file, written in large pieces, that is linked into place. The first piece is smaller:
 * most need no more. Not thread-safe.
 */
final class PosixDraft implements Draft {
  private static final int FIRST_PIECE = 1 << 13;
  private static final int PIECE = 1 << 20;

  private final PosixStore store;
  private final Fresh fresh;
  private final Path file;
  private final StoreFile out;
  private final int mode;
  private final int lastMode;
  private ByteBuffer piece = ByteBuffer.allocate(FIRST_PIECE);
  private boolean open = true;

  /**
   * @param mode while it is written
   * @param lastMode when it is finished
   */
  PosixDraft(PosixStore store, Path place, int mode, int lastMode) throws IOException {
    this.store = store;
    this.fresh = store.fresh();
    this.file = fresh.temporary(place);
    this.mode = mode;
    this.lastMode = lastMode;
    try {
      this.out = store.fs().create(file, mode);
    } catch (IOException | RuntimeException e) {
      fresh.removeQuietly(file);
      throw e;
    }
  }

  @Override
  public void write(ByteBuffer bytes) throws IOException {
    if (bytes.remaining() > piece.remaining()) {
      flush();
      if (piece.capacity() < PIECE) {
        piece = ByteBuffer.allocateDirect(PIECE);
      }
    }
    if (bytes.remaining() > piece.remaining()) {
      out.write(bytes);
    } else {
      piece.put(bytes);
    }
  }

  private void flush() throws IOException {
    if (piece.flip().hasRemaining()) {
      out.write(piece);
    }
    piece.clear();
  }

  @Override
  public void finish() throws IOException {
    flush();
    out.force();
    open = false;
    out.close();
    if (lastMode != mode) {
      store.fs().chmod(file, lastMode);
    }
  }

  @Override
  public boolean publish(Name document) throws IOException {
    try {
      store.fs().link(file, store.path(document));
      return true;
    } catch (FileAlreadyExistsException e) {
      return false; // lost, or the answer to our own request, sent twice
    }
  }

  @Override
  public void close() {
    try {
      if (open) {
        out.close();
      }
    } catch (IOException e) {
      // It goes.
    }
    fresh.removeQuietly(file);
  }
}
