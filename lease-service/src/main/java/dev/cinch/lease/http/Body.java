package dev.cinch.lease.http;

import io.vertx.core.buffer.Buffer;
import java.util.ArrayList;
import java.util.List;

/**
 * A body while it arrives, in pieces of some kilobytes: one array that grows would take several
 * times what is in it, and with G1 twice that again. Not thread-safe.
 */
final class Body {
  /** A piece is full from here on; parts may be single bytes, each with an object of its own. */
  private static final int PIECE = 8 << 10;

  private final List<Buffer> full = new ArrayList<>();
  private Buffer last = Buffer.buffer();
  private int length;

  void add(Buffer part) {
    last.appendBuffer(part);
    length += part.length();
    if (last.length() >= PIECE) {
      full.add(last);
      last = Buffer.buffer();
    }
  }

  byte[] bytes() {
    var all = new byte[length];
    int at = 0;
    full.add(last);
    for (Buffer piece : full) {
      piece.getBytes(all, at);
      at += piece.length();
    }
    full.clear();
    return all;
  }
}
