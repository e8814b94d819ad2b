package dev.cinch.bag.write;

import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.format.Frame;
import dev.cinch.bag.format.FrameHead;
import dev.cinch.bag.format.Trailer;
import dev.cinch.lease.SignedWitness;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Turns a pending batch into the bytes of a frame for one file. Confined to the committer; keeps
 * its buffers, so that nothing is allocated for a batch without new leases.
 */
final class BatchEncoder {
  private ByteBuffer before = ByteBuffer.allocateDirect(1 << 12).order(ByteOrder.LITTLE_ENDIAN);

  /** A batch of at most so many bytes is put together and given to the kernel as one buffer. */
  private static final int SMALL = 16 * 1024;

  private final ByteBuffer whole = ByteBuffer.allocateDirect(SMALL).order(ByteOrder.LITTLE_ENDIAN);
  private final ByteBuffer trailer =
      ByteBuffer.allocateDirect(Frame.TRAILER).order(ByteOrder.LITTLE_ENDIAN);

  /** What the file will be like once the frame is in it; applied only when it is. */
  private long newLength;

  private int newDigest;
  private boolean small;

  /** How many witnesses stood in the file before. */
  private int witnesses;

  private ByteBuffer messages = whole;

  /**
   * Encodes a batch as the next frame of a file; again, if need be, for this file or another.
   *
   * @param header the file's, if this is its first batch
   */
  void encode(PendingBatch batch, BucketFile file, FileHeader header) {
    long frameOffset = file.length;
    int digestBefore = file.digest;
    before.clear();
    if (file.length == 0) {
      ByteBuffer h = header.encode();
      frameOffset = h.remaining();
      digestBefore = FileHeader.digest(h);
      reserve(h.remaining());
      before.put(h);
    }
    int headAt = before.position();
    reserve(Frame.HEAD);
    before.position(headAt + Frame.HEAD);
    putLeases(batch, file);
    int leases = before.position() - headAt - Frame.HEAD;
    messages = batch.messages.clear().limit((int) batch.bytes);
    int bodyLength = leases + messages.remaining();
    if (batch.count == 0 || bodyLength > Frame.MAX_BODY) {
      throw new IllegalStateException(
          "a batch of %d messages and %d bytes, which no reader would take"
              .formatted(batch.count, bodyLength));
    }
    int end = before.position();
    before.position(headAt);
    file.codec.putHead(before, new FrameHead(bodyLength, batch.count, digestBefore), frameOffset);
    before.position(end);
    newDigest =
        file.codec
            .beginDigest(digestBefore, before, headAt)
            .digestBody(before, headAt + Frame.HEAD, leases)
            .digestBody(messages, 0, messages.remaining())
            .digest();
    before.flip();
    long trailerOffset = frameOffset + Frame.HEAD + bodyLength;
    newLength = trailerOffset + Frame.TRAILER;
    small = newLength - file.length <= SMALL;
    trailer.clear();
    file.codec.putTrailer(
        trailer,
        new Trailer(
            frameOffset,
            newDigest,
            file.messages + batch.count,
            file.messages == 0 ? batch.first : file.first,
            batch.last),
        trailerOffset);
    trailer.flip();
    if (small) {
      whole.clear();
      whole.put(before).put(messages).put(trailer).flip();
    }
  }

  private void putLeases(PendingBatch batch, BucketFile file) {
    witnesses = file.witnesses.size();
    for (LeaseStamp stamp : batch.stamps) {
      for (SignedWitness w : stamp.witnesses()) {
        if (!file.witnesses.containsKey(w)) {
          file.witnesses.put(w, file.witnesses.size() + 1);
          byte[] bytes = w.bytes();
          reserve(4 + bytes.length);
          before.putInt(Frame.entry(Frame.KIND_WITNESS, bytes.length)).put(bytes);
        }
      }
    }
    for (LeaseStamp stamp : batch.stamps) {
      reserve(4 + 4 * stamp.witnesses().size());
      before.putInt(Frame.entry(Frame.KIND_LEASE_SET, 4 * stamp.witnesses().size()));
      for (SignedWitness w : stamp.witnesses()) {
        before.putInt(file.witnesses.getOrDefault(w, 0));
      }
    }
  }

  private void reserve(int bytes) {
    if (before.remaining() < bytes) {
      int capacity = Math.max(before.capacity() * 2, before.position() + bytes);
      before =
          ByteBuffer.allocateDirect(capacity).order(ByteOrder.LITTLE_ENDIAN).put(before.flip());
    }
  }

  /** What is written. */
  ByteBuffer[] frame() {
    return small ? new ByteBuffer[] {whole} : new ByteBuffer[] {before, messages, trailer};
  }

  long newLength() {
    return newLength;
  }

  /** Nothing of the frame is in the file, to which another one may be appended. */
  void notIn(BucketFile file) {
    file.witnesses.values().removeIf(number -> number > witnesses);
  }

  /** The frame is in the file: remember so. */
  void applyTo(BucketFile file, PendingBatch batch) {
    if (file.messages == 0) {
      file.first = batch.first;
    }
    file.length = newLength;
    file.digest = newDigest;
    file.messages += batch.count;
  }
}
