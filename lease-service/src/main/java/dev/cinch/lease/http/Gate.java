package dev.cinch.lease.http;

import dev.cinch.lease.http.Connections.Place;
import dev.cinch.lease.http.Connections.Rank;
import io.netty.buffer.Unpooled;
import io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelPromise;
import io.netty.channel.socket.DuplexChannel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.ReferenceCountUtil;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Stands between one connection's HTTP codec and Vert.x, which bounds none of this by itself: lets
 * one request at a time through, reads no further until its answer has left, gives both a time, and
 * answers what is wrong by HTTP alone.
 *
 * <p>Runs on the connection's event loop, but for what says that any thread may call it.
 */
final class Gate extends ChannelDuplexHandler {
  /** The most that is read at once, bytes. */
  private static final int MAX_READ = 8 << 10;

  /** What still comes of a refused request is dropped, up to here, so that its sender hears why. */
  static final int MAX_DROPPED_BYTES = 16 << 20;

  /** And for so long, milliseconds. */
  private static final long LINGER_MS = 2_000;

  private static final long NANOS_PER_MS = 1_000_000;

  private enum State {
    /** Nothing of a request is there. */
    QUIET,
    /** A request arrives. */
    RECEIVING,
    /** It is carried out. */
    WORKING,
    /** Its answer leaves. */
    ANSWERING,
    /** It was refused: what comes is dropped until the other side hangs up. */
    CLOSING
  }

  private final Channel channel;
  private final ServerLimits limits;
  private final Callers callers;
  private final LongSupplier clock;
  private final Inlet inlet = new Inlet(this);
  private final Queue<Object> waiting = new ArrayDeque<>();

  /** Where answers go out, past Vert.x. */
  private ChannelHandlerContext out;

  private @Nullable Place place;
  private @Nullable HttpRequest head;
  private Rank shown = Rank.NEW;
  private long received;

  /** Whether the next answer is the last one. */
  private boolean draining;

  /** Whether an answer has told so, after which nothing more is taken. */
  private boolean toldLast;

  /** By the clock, nanoseconds: where it is draining, a request may come until then. */
  private long last;

  /** Whether what is carried out waits for another's doing, and its sender may go away. */
  private boolean waits;

  private volatile State state = State.QUIET;

  /** By the clock, nanoseconds: so long this state may last; none has {@link State#WORKING}. */
  private volatile long deadline;

  private Gate(
      Channel channel,
      ChannelHandlerContext out,
      ServerLimits limits,
      Callers callers,
      LongSupplier clock) {
    this.channel = channel;
    this.out = out;
    this.limits = limits;
    this.callers = callers;
    this.clock = clock;
    this.deadline = clock.getAsLong() + limits.requestMs() * NANOS_PER_MS;
  }

  /**
   * Puts one in front of Vert.x's handler of a new connection.
   *
   * @return null if the connection was turned away
   */
  static @Nullable Gate install(
      Channel channel,
      Connections connections,
      ServerLimits limits,
      Callers callers,
      LongSupplier clock) {
    ChannelPipeline pipeline = channel.pipeline();
    var gate = new Gate(channel, pipeline.context("handler"), limits, callers, clock);
    Place place = connections.enter(Peers.of(channel.remoteAddress()), left -> gate.evict());
    if (place == null) {
      gate.refuse(overloaded(), false);
      return null;
    }
    gate.place = place;
    channel.closeFuture().addListener(closed -> place.leave());
    channel.config().setRecvByteBufAllocator(new AdaptiveRecvByteBufAllocator(64, 512, MAX_READ));
    pipeline.addBefore("httpDecoder", "inlet", gate.inlet);
    pipeline.addBefore("handler", "gate", gate);
    return gate;
  }

  @Override
  public void handlerAdded(ChannelHandlerContext ctx) {
    out = ctx;
  }

  private void become(State next, long ms) {
    deadline = clock.getAsLong() + ms * NANOS_PER_MS;
    state = next;
  }

  /** Whether nothing more is to be read or decoded now. */
  boolean isBusy() {
    return state == State.WORKING || state == State.ANSWERING || !waiting.isEmpty();
  }

  /**
   * The request waits for others, maybe long: its connection is read on, so that its end is seen.
   * To be called on the event loop while a request is carried out.
   */
  void waits() {
    if (state == State.WORKING) {
      waits = true;
      inlet.feed();
    }
  }

  /** Whether it is read on though nothing is decoded. */
  boolean isWaiting() {
    return waits && waiting.isEmpty();
  }

  /** Whether what comes is to be dropped. */
  boolean isClosing() {
    return state == State.CLOSING;
  }

  /** Whether a head is there whose body is not: then nothing but its body comes next. */
  boolean isInBody() {
    return head != null && state == State.RECEIVING;
  }

  /** Something of a request is there. */
  void begin() {
    if (state == State.QUIET) {
      become(State.RECEIVING, limits.requestMs());
    }
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) {
    if (isBusy()) {
      waiting.add(msg); // out of one slice of the inlet's, so they are few
    } else {
      take(ctx, msg);
    }
  }

  private void take(ChannelHandlerContext ctx, Object msg) {
    begin();
    Answer wrong = isClosing() ? null : wrong(msg);
    if (wrong != null) {
      refuse(wrong, true);
    }
    if (isClosing()) {
      ReferenceCountUtil.release(msg);
      return;
    }
    if (msg instanceof LastHttpContent && place != null) {
      state = State.WORKING;
      place.busy();
      place.hold(0); // from here on it is bounded by what may wait for a worker
    }
    ctx.fireChannelRead(msg);
  }

  private @Nullable Answer wrong(Object msg) {
    if (msg instanceof HttpObject object && object.decoderResult().isFailure()) {
      return HttpErrors.undecoded(object.decoderResult().cause(), head != null);
    }
    if (msg instanceof HttpRequest request) {
      head = request;
      received = 0;
      Answer malformed = HttpErrors.of(request);
      return malformed != null ? malformed : callers.refusal(request);
    }
    if (msg instanceof HttpContent content && place != null) {
      received += content.content().readableBytes();
      if (received > LeaseServer.MAX_BODY_BYTES) {
        return HttpErrors.tooLarge();
      }
      place.hold(received);
    }
    return null;
  }

  @Override
  public void write(ChannelHandlerContext ctx, Object msg, ChannelPromise promise)
      throws Exception {
    if (isClosing()) {
      // Vert.x's own answer to what was refused here meanwhile.
      ReferenceCountUtil.release(msg);
      promise.tryFailure(new ClosedChannelException());
      return;
    }
    if (msg instanceof HttpResponse response) {
      if (response.status().code() == HttpResponseStatus.CONTINUE.code()) {
        ctx.write(msg, promise);
        return;
      }
      shown = shown(response.status());
      if (draining) {
        toldLast = true;
        response.headers().set(HttpHeaderNames.CONNECTION, "close");
      }
    }
    if (msg instanceof LastHttpContent last && place != null) {
      waits = false;
      become(State.ANSWERING, limits.answerMs());
      place.quiet(shown); // who does not take an answer may have to go
      place.hold(last.content().readableBytes());
      ctx.write(msg, promise.unvoid().addListener(sent -> channel.eventLoop().execute(this::next)));
    } else {
      ctx.write(msg, promise);
    }
  }

  private Rank shown(HttpResponseStatus status) {
    if (head == null || status.code() != HttpResponseStatus.OK.code()) {
      return Rank.NEW;
    }
    return head.method().equals(HttpMethod.POST) ? Rank.HOLDER : Rank.SERVED;
  }

  /** An answer has left. */
  private void next() {
    if (state != State.ANSWERING || place == null) {
      return;
    }
    place.hold(0);
    place.quiet(shown);
    head = null;
    if (toldLast) {
      takeNoMore();
      hangUp(channel.newSucceededFuture());
      return;
    }
    become(State.QUIET, limits.idleMs());
    deadline = draining ? last : deadline;
    ChannelHandlerContext ctx = out;
    while (!waiting.isEmpty() && state != State.WORKING && state != State.ANSWERING) {
      take(ctx, waiting.remove());
    }
    inlet.feed();
    ctx.fireChannelReadComplete();
  }

  /** Answers and hangs up, once the other side has, or has had time to hear. */
  void refuse(Answer answer, boolean linger) {
    boolean heads = head != null && head.method().equals(HttpMethod.HEAD);
    takeNoMore();
    byte[] body = WireWriter.bytes(answer.body());
    var response =
        new DefaultFullHttpResponse(
            HttpVersion.HTTP_1_1,
            HttpResponseStatus.valueOf(answer.status()),
            heads ? Unpooled.EMPTY_BUFFER : Unpooled.wrappedBuffer(body));
    response
        .headers()
        .set(HttpHeaderNames.CONTENT_TYPE, LeaseServer.CONTENT_TYPE)
        .set(HttpHeaderNames.CONTENT_LENGTH, body.length)
        .set(HttpHeaderNames.CONNECTION, "close");
    if (answer.status() == HttpResponseStatus.SERVICE_UNAVAILABLE.code()) {
      response.headers().set(HttpHeaderNames.RETRY_AFTER, 1);
    }
    ChannelFuture sent = out.writeAndFlush(response);
    if (linger) {
      hangUp(sent);
    } else {
      sent.addListener(ChannelFutureListener.CLOSE);
    }
  }

  /** What is there and what comes is dropped. */
  private void takeNoMore() {
    become(State.CLOSING, LINGER_MS);
    if (place != null) {
      place.hold(0);
    }
    waiting.forEach(ReferenceCountUtil::release);
    waiting.clear();
    inlet.drop();
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
   * Called by any thread.
   *
   * @param until how long one may still come, by the clock
   */
  void drain(long until) {
    channel
        .eventLoop()
        .execute(
            () -> {
              draining = true;
              last = until;
              if (state == State.QUIET) {
                deadline = until;
              }
            });
  }

  /** Whether a request is there that has no whole answer; called by any thread. */
  boolean isUnderWay() {
    return state == State.RECEIVING || state == State.WORKING || state == State.ANSWERING;
  }

  private static Answer overloaded() {
    return Answer.error(503, Answer.OVERLOADED, "too many connections or too much at once", 1_000);
  }

  /** Others need its place. */
  private void evict() {
    channel
        .eventLoop()
        .execute(
            () -> {
              if (state == State.RECEIVING) {
                refuse(overloaded(), false);
              } else {
                channel.close();
              }
            });
  }

  /** Ends what takes too long; called by any thread. */
  void expireIfDue(long now) {
    if (state != State.WORKING && now - deadline >= 0) {
      channel.eventLoop().execute(() -> expire(now));
    }
  }

  private void expire(long now) {
    if (state == State.WORKING || now - deadline < 0) {
      return;
    }
    if (state == State.RECEIVING) {
      refuse(
          Answer.error(
              408, Answer.TIMEOUT, "a request arrives within " + limits.requestMs() + " ms"),
          true);
    } else {
      channel.close();
    }
  }
}
