package dev.cinch.view;

import dev.cinch.bag.format.SegmentEncoder;
import dev.cinch.bag.storage.StoreStorage.Draft;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Writes a segment's bytes to a draft in large pieces. The first piece is smaller: many segments
 * need no more. Not thread-safe.
 */
final class SegmentOutput implements SegmentEncoder.Output {
  private static final int FIRST_PIECE = 1 << 16;
  private static final int PIECE = 1 << 20;

  private final Draft out;
  private ByteBuffer piece = ByteBuffer.allocateDirect(FIRST_PIECE);
  private long length;

  SegmentOutput(Draft out) {
    this.out = out;
  }

  @Override
  public void write(ByteBuffer bytes) throws IOException {
    length += bytes.remaining();
    if (bytes.remaining() > piece.remaining()) {
      flush();
      if (piece.capacity() < PIECE) {
        piece = ByteBuffer.allocateDirect(PIECE);
      }
    }
    if (bytes.remaining() > PIECE) {
      out.write(bytes);
    } else {
      piece.put(bytes);
    }
  }

  private void flush() throws IOException {
    out.write(piece.flip());
    piece.clear();
  }

  /** Nothing more is written: all of it is durable. */
  void finish() throws IOException {
    flush();
    out.finish();
  }

  long length() {
    return length;
  }
}
