package dev.cinch.lease.http;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.cinch.lease.http.Connections.Limits;
import dev.cinch.lease.http.Connections.Place;
import dev.cinch.lease.http.Connections.Rank;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.DuplexChannel;
import io.netty.handler.codec.ByteToMessageDecoder;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.net.impl.ConnectionBase;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Stands between one connection and Vert.x with its decoder, which bound none of this by
 * themselves: lets the bytes of one request at a time through, reads no further until its answer
 * has left, gives both a time, and answers what is wrong by HTTP alone. Confined to the
 * connection's event loop.
 */
final class Gate extends ChannelInboundHandlerAdapter {
  /** The most that is read at once, bytes. */
  private static final int MAX_READ = 8 << 10;

  /** What still comes of a refused request is dropped, up to here, so that its sender hears why. */
  private static final int MAX_DROPPED_BYTES = 16 << 20;

  /** And for so long, milliseconds. */
  private static final long LINGER_MS = 2_000;

  /** What one user of IPv6 has at least: all addresses with the same first half. */
  private static final int NETWORK_BYTES = 8;

  private static final long NANOS_PER_MS = 1_000_000;
  private static final String DECODER = "httpDecoder";

  private enum State {
    /** Nothing of a request is there. */
    QUIET,
    /** A request arrives. */
    RECEIVING,
    /** It is carried out. */
    WORKING,
    /** Its answer leaves. */
    ANSWERING,
    /** It was refused, or was the last one: what comes is dropped until the other side hangs up. */
    CLOSING
  }

  private final Channel channel;
  private final Place place;
  private final Limits limits;
  private final LongSupplier clock;
  private final Framing framing = new Framing();
  private ChannelHandlerContext ctx;

  /** What was read and is not let through yet. */
  private @Nullable ByteBuf held;

  private State state = State.QUIET;

  /** By the clock, nanoseconds: so long this state may last; none has {@link State#WORKING}. */
  private long deadline;

  /** Whether what is carried out waits for another's doing, and its sender may go away. */
  private boolean waits;

  /** Whether the next answer is the last one. */
  private boolean draining;

  /** Whether an answer has told so, after which nothing more is taken. */
  private boolean toldLast;

  /** By the clock, nanoseconds: where it is draining, a request may come until then. */
  private long last;

  private long dropped;

  private Gate(
      Channel channel, ChannelHandlerContext ctx, Place place, Limits limits, LongSupplier clock) {
    this.channel = channel;
    this.ctx = ctx;
    this.place = place;
    this.limits = limits;
    this.clock = clock;
    become(State.QUIET, limits.requestMs());
  }

  /**
   * Puts one in front of the decoder of a new connection.
   *
   * @return null if the connection was turned away
   */
  static @Nullable Gate install(
      Channel channel, Connections connections, Limits limits, LongSupplier clock) {
    ChannelHandlerContext decoder = channel.pipeline().context(DECODER);
    Place place = connections.enter(peer(channel.remoteAddress()));
    if (place == null) {
      decoder.writeAndFlush(bytes(overloaded(), false)).addListener(ChannelFutureListener.CLOSE);
      return null;
    }
    var gate = new Gate(channel, decoder, place, limits, clock);
    place.whenEvicted(() -> channel.eventLoop().execute(gate::evict));
    channel.closeFuture().addListener(closed -> place.leave());
    channel.config().setRecvByteBufAllocator(new AdaptiveRecvByteBufAllocator(64, 512, MAX_READ));
    channel.pipeline().addBefore(DECODER, null, gate);
    return gate;
  }

  /** The one that a request came through; null once its connection has ended. */
  static @Nullable Gate of(HttpServerRequest request) {
    return ((ConnectionBase) request.connection()).channel().pipeline().get(Gate.class);
  }

  /** The same text for all addresses of one peer. */
  private static String peer(@Nullable SocketAddress address) {
    if (address instanceof InetSocketAddress there && there.getAddress() != null) {
      InetAddress ip = there.getAddress();
      byte[] all = ip.getAddress();
      return HexFormat.of()
          .formatHex(ip instanceof Inet6Address ? Arrays.copyOf(all, NETWORK_BYTES) : all);
    }
    return "";
  }

  @Override
  public void handlerAdded(ChannelHandlerContext added) {
    ctx = added;
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext removed) {
    drop();
  }

  private void become(State next, long ms) {
    deadline = clock.getAsLong() + ms * NANOS_PER_MS;
    state = next;
  }

  @Override
  public void channelRead(ChannelHandlerContext from, Object msg) {
    ByteBuf bytes = (ByteBuf) msg;
    if (state == State.CLOSING) {
      dropped += bytes.readableBytes();
      bytes.release();
      if (dropped > MAX_DROPPED_BYTES) {
        channel.close();
      }
      return;
    }
    ByteBuf before = held;
    held =
        before == null
            ? bytes
            : ByteToMessageDecoder.MERGE_CUMULATOR.cumulate(from.alloc(), before, bytes);
    feed();
  }

  /** Lets through what belongs to one request, and reads on when all is gone. */
  private void feed() {
    ByteBuf bytes = held;
    while (bytes != null && (state == State.QUIET || state == State.RECEIVING)) {
      if (state == State.QUIET) {
        become(State.RECEIVING, limits.requestMs());
      }
      int count = framing.follow(bytes);
      Answer wrong = framing.wrong();
      if (wrong != null) {
        refuse(wrong, true);
        return;
      }
      ByteBuf part = bytes.readRetainedSlice(count);
      if (!bytes.isReadable()) {
        drop();
      }
      place.hold(framing.received());
      if (framing.hasEnded()) {
        state = State.WORKING;
        place.busy();
        place.hold(0); // from here on it is bounded by what may wait for a worker
      }
      ctx.fireChannelRead(part);
      bytes = held;
    }
    boolean free = waits || (state != State.WORKING && state != State.ANSWERING);
    channel.config().setAutoRead(state == State.CLOSING || (held == null && free));
  }

  /** Forgets what it has. */
  private void drop() {
    if (held != null) {
      held.release();
      held = null;
    }
  }

  /**
   * The request waits for others, maybe long: its connection is read on, so that its end is seen.
   */
  void waits() {
    if (state == State.WORKING) {
      waits = true;
      feed();
    }
  }

  /** Writes the end of an answer, or all of it; the next request is taken once that has left. */
  void end(HttpServerResponse response, Buffer body) {
    boolean told = !response.headWritten();
    if (answers(response.getStatusCode(), body.length(), told)) {
      response.putHeader("Connection", "close");
    }
    var unused = response.end(body).onComplete(sent -> channel.eventLoop().execute(this::answered));
  }

  /**
   * What is carried out is about to be answered.
   *
   * @param tells whether the answer still can say that it is the last one
   * @return whether it is to
   */
  boolean answers(int status, int length, boolean tells) {
    if (state != State.WORKING) {
      return false;
    }
    waits = false;
    toldLast = draining && tells;
    become(State.ANSWERING, limits.answerMs());
    boolean ok = status == HttpResponseStatus.OK.code();
    Rank shown = !ok ? Rank.NEW : framing.method().equals("POST") ? Rank.HOLDER : Rank.SERVED;
    place.quiet(shown); // who does not take an answer may have to go
    place.hold(length);
    return toldLast;
  }

  /** An answer has left, or never will. */
  void answered() {
    if (state != State.ANSWERING) {
      return;
    }
    place.hold(0);
    place.quiet(Rank.NEW);
    if (toldLast) {
      takeNoMore();
      hangUp(channel.newSucceededFuture());
      return;
    }
    become(State.QUIET, limits.idleMs());
    deadline = draining ? last : deadline;
    feed();
    ctx.fireChannelReadComplete();
  }

  /** Answers, and hangs up; the other side has time to hear it if it is to linger. */
  void refuse(Answer answer, boolean linger) {
    takeNoMore();
    ChannelFuture sent = ctx.writeAndFlush(bytes(answer, framing.method().equals("HEAD")));
    if (linger) {
      hangUp(sent);
    } else {
      sent.addListener(ChannelFutureListener.CLOSE);
    }
  }

  private static ByteBuf bytes(Answer answer, boolean noBody) {
    byte[] body = LeaseDocuments.bytes(answer.body());
    HttpResponseStatus status = HttpResponseStatus.valueOf(answer.status());
    String head =
        "HTTP/1.1 "
            + status
            + "\r\ncontent-type: "
            + LeaseServer.CONTENT_TYPE
            + "\r\ncontent-length: "
            + body.length
            + (status.equals(HttpResponseStatus.SERVICE_UNAVAILABLE) ? "\r\nretry-after: 1" : "")
            + "\r\nconnection: close\r\n\r\n";
    return Unpooled.wrappedBuffer(head.getBytes(ISO_8859_1), noBody ? new byte[0] : body);
  }

  /** What is there and what comes is dropped. */
  private void takeNoMore() {
    become(State.CLOSING, LINGER_MS);
    place.quiet(Rank.NEW);
    place.hold(0);
    drop();
    channel.config().setAutoRead(true);
  }

  /** Ends it once the last answer was sent and the other side has, or has had time to, read it. */
  private void hangUp(ChannelFuture sent) {
    if (channel instanceof DuplexChannel both && channel.pipeline().get("ssl") == null) {
      // Closing with something unread would reset the connection and take the answer back.
      sent.addListener(done -> both.shutdownOutput());
    } else {
      sent.addListener(ChannelFutureListener.CLOSE);
    }
  }

  /**
   * Has the connection end once its request is answered, or if none comes any more. One that is on
   * its way would be lost with the connection, and its sender not know whether it was carried out.
   *
   * @param until how long one may still come, by the clock
   */
  void drain(long until) {
    draining = true;
    last = until;
    if (state == State.QUIET) {
      deadline = until;
    }
  }

  /** Whether a request is there that has no whole answer. */
  boolean isUnderWay() {
    return state == State.RECEIVING || state == State.WORKING || state == State.ANSWERING;
  }

  private static Answer overloaded() {
    return Answer.error(503, Answer.OVERLOADED, "too many connections or too much at once", 1_000);
  }

  /** Others need its place. */
  private void evict() {
    if (state == State.RECEIVING) {
      refuse(overloaded(), false);
    } else {
      channel.close();
    }
  }

  /** Ends what takes too long. */
  void expireIfDue(long now) {
    if (state == State.WORKING || now - deadline < 0) {
      return;
    }
    if (state == State.RECEIVING) {
      String late = "a request arrives within " + limits.requestMs() + " ms";
      refuse(Answer.error(408, Answer.TIMEOUT, late), true);
    } else {
      channel.close();
    }
  }
}
