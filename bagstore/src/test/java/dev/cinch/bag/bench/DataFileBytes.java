package dev.cinch.bag.bench;

import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.format.Frame;
import dev.cinch.bag.format.FrameCodec;
import dev.cinch.bag.format.FrameHead;
import dev.cinch.bag.format.Trailer;
import dev.cinch.bag.fs.StoreFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** A data file in memory, as a writer would have written it, to be read without a filesystem. */
public final class DataFileBytes {
  private DataFileBytes() {}

  /**
   * @param first timestamp of the first message
   * @param step nanoseconds from each message to the next
   * @param batches frames in the file
   * @param batch messages in each
   * @param payload bytes of each message
   */
  public static byte[] of(
      FileHeader header, long first, long step, int batches, int batch, int payload) {
    int body = batch * (Frame.MESSAGE_OVERHEAD + payload);
    int size = header.length() + batches * (Frame.HEAD + body + Frame.TRAILER);
    ByteBuffer out = ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
    ByteBuffer encoded = header.encode();
    int digest = FileHeader.digest(encoded);
    out.put(encoded);
    var codec = new FrameCodec(header.name());
    long timestamp = first;
    for (int b = 0; b < batches; b++) {
      int at = out.position();
      codec.putHead(out, new FrameHead(body, batch, digest), at);
      for (int i = 0; i < batch; i++, timestamp += step) {
        out.putInt(Frame.entry(Frame.KIND_MESSAGE, payload)).putInt(0).putLong(timestamp);
        out.put(new byte[payload]);
      }
      digest = codec.beginDigest(digest, out, at).digestBody(out, at + Frame.HEAD, body).digest();
      codec.putTrailer(
          out, new Trailer(at, digest, (b + 1L) * batch, first, timestamp - step), out.position());
    }
    return out.array();
  }

  /** The bytes as an open file. */
  public static StoreFile open(byte[] bytes) {
    return new StoreFile() {
      @Override
      public int read(ByteBuffer into, long offset) {
        int n = (int) Math.max(0, Math.min(into.remaining(), bytes.length - offset));
        if (n > 0) {
          into.put(bytes, (int) offset, n);
        }
        return n;
      }

      @Override
      public long size() {
        return bytes.length;
      }

      @Override
      public void write(ByteBuffer... buffers) {
        throw new UnsupportedOperationException("it is only read");
      }

      @Override
      public void force() {
        throw new UnsupportedOperationException("it is only read");
      }

      @Override
      public void close() {}
    };
  }
}
