package dev.cinch.lease.http;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.ByteToMessageDecoder;
import org.jspecify.annotations.Nullable;

/**
 * Keeps what one connection sent until its {@link Gate} wants it: of bytes that were read a decoder
 * makes all the requests that are in them, some hundred in a few kilobytes. Runs on the
 * connection's event loop.
 */
final class Inlet extends ChannelInboundHandlerAdapter {
  /** So much is decoded at once while a head is awaited. */
  private static final int HEAD_SLICE = 512;

  private final Gate gate;
  private final Framing framing = new Framing();
  private @Nullable ChannelHandlerContext ctx;
  private @Nullable ByteBuf held;
  private long dropped;

  Inlet(Gate gate) {
    this.gate = gate;
  }

  @Override
  public void handlerAdded(ChannelHandlerContext added) {
    ctx = added;
  }

  @Override
  public void channelRead(ChannelHandlerContext from, Object msg) {
    if (!(msg instanceof ByteBuf bytes)) {
      from.fireChannelRead(msg);
      return;
    }
    if (gate.isClosing()) {
      dropped += bytes.readableBytes();
      bytes.release();
      if (dropped > Gate.MAX_DROPPED_BYTES) {
        from.channel().close();
      }
      return;
    }
    held =
        held == null
            ? bytes
            : ByteToMessageDecoder.MERGE_CUMULATOR.cumulate(from.alloc(), held, bytes);
    feed();
  }

  /** Hands over what the gate takes now, and reads on when all is gone. */
  void feed() {
    ChannelHandlerContext to = ctx;
    if (to == null) {
      return;
    }
    while (held != null && !gate.isBusy() && !gate.isClosing()) {
      gate.begin();
      int most = gate.isInBody() ? held.readableBytes() : HEAD_SLICE;
      int count = framing.follow(held, most);
      String wrong = framing.wrong();
      if (wrong != null) {
        gate.refuse(HttpErrors.malformed(wrong), true);
        break;
      }
      ByteBuf slice = held.readRetainedSlice(count);
      if (!held.isReadable()) {
        drop();
      }
      to.fireChannelRead(slice);
    }
    to.channel()
        .config()
        .setAutoRead(gate.isClosing() || (held == null && (!gate.isBusy() || gate.isWaiting())));
  }

  /** Forgets what it has. */
  void drop() {
    if (held != null) {
      held.release();
      held = null;
    }
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext from) {
    drop();
  }
}
