package dev.cinch.view;

import dev.cinch.bag.format.SegmentEncoder;
import dev.cinch.bag.storage.ByteSource;
import dev.cinch.bag.storage.StoreStorage.Draft;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * Writes a segment's bytes to a draft in large pieces, and their digest. The first piece is
 * smaller: many segments need no more. Not thread-safe.
 */
final class SegmentOutput implements SegmentEncoder.Output {
  private static final int FIRST_PIECE = 1 << 16;
  private static final int PIECE = 1 << 20;

  private final Draft out;
  private ByteBuffer piece = ByteBuffer.allocateDirect(FIRST_PIECE);
  private final MessageDigest digest = newDigest();
  private long length;

  SegmentOutput(Draft out) {
    this.out = out;
  }

  @Override
  public void write(ByteBuffer bytes) throws IOException {
    digest.update(bytes.duplicate());
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

  /** What was written, or what a file holds: its length and SHA-256. Nothing is written after. */
  String fingerprint() {
    return fingerprint(length, HexFormat.of().formatHex(digest.digest()));
  }

  static String fingerprint(ByteSource in) throws IOException {
    MessageDigest digest = newDigest();
    ByteBuffer buffer = ByteBuffer.allocate(FIRST_PIECE);
    long length = 0;
    while (in.read(buffer, length) > 0) {
      length += buffer.flip().remaining();
      digest.update(buffer);
      buffer = length == FIRST_PIECE ? ByteBuffer.allocate(PIECE) : buffer.clear();
    }
    return fingerprint(length, HexFormat.of().formatHex(digest.digest()));
  }

  private static String fingerprint(long length, String sha256) {
    return length + " bytes with SHA-256 " + sha256;
  }

  private static MessageDigest newDigest() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }
}
