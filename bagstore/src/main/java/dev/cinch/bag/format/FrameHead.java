package dev.cinch.bag.format;

/**
 * The head of a frame; see {@link Frame}.
 *
 * @param bodyLength bytes between head and trailer
 * @param messages in this batch
 * @param digestBefore digest of the file before this batch
 */
public record FrameHead(int bodyLength, int messages, int digestBefore) {
  /** Bytes of the whole frame. */
  public long frameLength() {
    return (long) Frame.HEAD + bodyLength + Frame.TRAILER;
  }
}
