package dev.cinch.lease.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpRequestDecoder;
import io.netty.handler.codec.http.HttpResponseEncoder;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.ReferenceCountUtil;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** A connection's gate between the real codec and a handler that answers when it is told to. */
final class GateTest {
  private static final Connections.Limits LIMITS =
      new Connections.Limits(2, 2, 1_000, 5_000, 2_000, 10_000);
  private static final String GET = "GET /v1/time HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
  private static final String POST =
      "POST /v1/leases/renew HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n";

  /** A body of which so much is there, and not its end. */
  private static final String LARGE = POST + "Content-Length: 9000\r\n\r\n" + "x".repeat(8_000);

  private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 5); // it may overflow
  private final Connections connections = new Connections(LIMITS);
  private final End end = new End();
  private final Gate gate;
  private final EmbeddedChannel channel;

  GateTest() {
    channel = channel(end);
    gate = install(channel);
  }

  /** In the place of Vert.x: sees requests, and answers later. */
  private static final class End extends ChannelInboundHandlerAdapter {
    final List<String> heads = new ArrayList<>();
    int whole;

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
      if (msg instanceof HttpRequest request) {
        heads.add(request.uri());
      }
      if (msg instanceof LastHttpContent) {
        whole++;
      }
      ReferenceCountUtil.release(msg);
    }
  }

  private static EmbeddedChannel channel(End end) {
    var made = new EmbeddedChannel();
    made.pipeline().addLast("httpDecoder", new HttpRequestDecoder());
    made.pipeline().addLast("httpEncoder", new HttpResponseEncoder());
    made.pipeline().addLast("handler", end);
    return made;
  }

  private Gate install(EmbeddedChannel on) {
    Gate made = Gate.install(on, connections, LIMITS, nanos::get);
    assertNotNull(made);
    return made;
  }

  private void receive(String text) {
    boolean unused = channel.writeInbound(Unpooled.copiedBuffer(text, UTF_8));
    channel.runPendingTasks();
  }

  /** The handler answers what it has. */
  private void answer() {
    answer(channel, HttpResponseStatus.OK, 0);
  }

  private static void answer(EmbeddedChannel on, HttpResponseStatus status, int length) {
    Gate gate = on.pipeline().get(Gate.class);
    assertFalse(gate.answers(status.code(), length, true));
    on.pipeline().context("handler").writeAndFlush(response(status, length));
    gate.answered();
    on.runPendingTasks();
  }

  /** The handler answers, and nobody takes it. */
  private static void leave(EmbeddedChannel on, int length) {
    assertFalse(on.pipeline().get(Gate.class).answers(200, length, true));
    on.runPendingTasks();
  }

  private static DefaultFullHttpResponse response(HttpResponseStatus status, int length) {
    return new DefaultFullHttpResponse(
        HttpVersion.HTTP_1_1, status, Unpooled.wrappedBuffer(new byte[length]));
  }

  private EmbeddedChannel second(String sends) {
    EmbeddedChannel second = channel(new End());
    install(second);
    boolean unused = second.writeInbound(Unpooled.copiedBuffer(sends, UTF_8));
    second.runPendingTasks();
    channel.runPendingTasks();
    return second;
  }

  /** What went out since it was last asked. */
  private static String sent(EmbeddedChannel from) {
    var text = new StringBuilder();
    for (ByteBuf part = from.readOutbound(); part != null; part = from.readOutbound()) {
      text.append(part.toString(UTF_8));
      part.release();
    }
    return text.toString();
  }

  private void pass(long ms) {
    nanos.addAndGet(ms * 1_000_000);
    gate.expireIfDue(nanos.get());
    channel.runPendingTasks();
  }

  @Test
  void oneRequestAtATimeIsTakenAndNothingReadMeanwhile() {
    receive(GET.repeat(1_000));
    for (int i = 1; i <= 1_000; i++) {
      assertEquals(i, end.whole);
      assertEquals(i, end.heads.size());
      assertFalse(channel.config().isAutoRead());
      answer();
    }
    assertEquals(1_000, end.whole);
    assertTrue(channel.config().isAutoRead());
    assertEquals(1_000, sent(channel).split("HTTP/1.1 200 OK", -1).length - 1);
  }

  @Test
  void aBodyInPiecesIsTakenAndWhatFollowsItWaits() {
    receive(POST + "Content-Length: 6\r\n\r\n{\"a");
    assertEquals(1, end.heads.size());
    assertTrue(channel.config().isAutoRead());
    receive("\":1" + POST + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" + GET);
    assertEquals(1, end.whole);
    answer();
    assertEquals(2, end.whole);
    answer();
    assertEquals(3, end.whole);
    answer();
    assertTrue(channel.config().isAutoRead());
  }

  @Test
  void aHeadHasATimeFromItsFirstByteHoweverItTrickles() {
    receive(GET);
    answer();
    assertFalse(sent(channel).isEmpty());
    receive("G");
    for (int i = 0; i < 9; i++) {
      pass(100);
      receive("E");
    }
    assertTrue(channel.isOpen());
    pass(100);
    assertTrue(sent(channel).contains("408 Request Timeout"));
    assertFalse(channel.isOpen());
    assertEquals(0, connections.count());
  }

  @Test
  void aBodyHasTheTimeOfItsHead() {
    receive(POST + "Content-Length: 1000\r\n\r\n");
    for (int i = 0; i < 9; i++) {
      pass(100);
      receive("x");
    }
    assertTrue(channel.isOpen());
    pass(100);
    String refusal = sent(channel);
    assertTrue(refusal.contains("408 Request Timeout"), refusal);
    assertTrue(refusal.contains("content-type: application/json"), refusal);
    assertTrue(refusal.contains("connection: close"), refusal);
    assertTrue(refusal.contains("{\"error\":\"TIMEOUT\""), refusal);
    assertFalse(channel.isOpen());
    assertEquals(0, end.whole);
  }

  @Test
  void aRequestThatIsCarriedOutHasAsLongAsThatTakes() {
    receive(GET);
    pass(1_000_000);
    assertTrue(channel.isOpen());
    answer();
    assertTrue(sent(channel).contains("200 OK"));
  }

  @Test
  void aNewConnectionThatSaysNothingIsClosed() {
    pass(0); // before the clock overflows
    assertTrue(channel.isOpen());
    pass(999);
    assertTrue(channel.isOpen());
    pass(1);
    assertFalse(channel.isOpen());
    assertEquals("", sent(channel));
  }

  @Test
  void betweenRequestsAConnectionMayBeQuietForLonger() {
    receive(GET);
    answer();
    pass(4_999);
    assertTrue(channel.isOpen());
    pass(1);
    assertFalse(channel.isOpen());
  }

  @Test
  void anAnswerThatNobodyTakesIsGivenUp() {
    receive(GET);
    leave(channel, 0);
    receive(GET); // which is not begun meanwhile
    assertEquals(1, end.whole);
    assertFalse(channel.config().isAutoRead());
    pass(1_999);
    assertTrue(channel.isOpen());
    pass(1);
    assertFalse(channel.isOpen());
  }

  @Test
  void aNewcomerTakesThePlaceOfAStrangerAndNotOfAHolder() {
    receive(POST + "Content-Length: 0\r\n\r\n");
    answer(); // a success
    EmbeddedChannel stranger = channel(new End());
    install(stranger);
    EmbeddedChannel newcomer = channel(new End());
    install(newcomer);
    stranger.runPendingTasks();
    assertFalse(stranger.isOpen());
    assertTrue(channel.isOpen());
    assertTrue(newcomer.isOpen());
    assertEquals(2, connections.count());
  }

  @Test
  void whereAllAreServedANewcomerIsTurnedAway() {
    receive(GET);
    EmbeddedChannel second = channel(new End());
    install(second);
    boolean unused = second.writeInbound(Unpooled.copiedBuffer(GET, UTF_8));
    EmbeddedChannel newcomer = channel(new End());
    assertNull(Gate.install(newcomer, connections, LIMITS, nanos::get));
    String refusal = sent(newcomer);
    assertTrue(refusal.contains("503 Service Unavailable"), refusal);
    assertTrue(refusal.contains("retry-after: 1"), refusal);
    assertTrue(refusal.contains("{\"error\":\"OVERLOADED\""), refusal);
    assertFalse(newcomer.isOpen());
    assertTrue(channel.isOpen() && second.isOpen());
  }

  @Test
  void whereBodiesTakeTooMuchTheSlowestHasToGo() {
    receive(LARGE);
    EmbeddedChannel second = second(LARGE);
    assertTrue(sent(channel).contains("503 Service Unavailable"));
    assertFalse(channel.isOpen());
    assertTrue(second.isOpen());
  }

  @Test
  void aBodyThatHasArrivedAndAnAnswerThatHasLeftCountNoMore() {
    receive(POST + "Content-Length: 8000\r\n\r\n" + "x".repeat(8_000));
    assertEquals(1, end.whole);
    EmbeddedChannel second = second(LARGE);
    assertTrue(channel.isOpen() && second.isOpen());
    second.close();
    answer(channel, HttpResponseStatus.OK, 8_000);
    EmbeddedChannel third = second(LARGE);
    assertTrue(channel.isOpen() && third.isOpen());
  }

  @Test
  void whereAnswersTakeTooMuchTheSlowestHasToGo() {
    receive(GET);
    leave(channel, 8_000);
    EmbeddedChannel second = second(GET);
    assertTrue(channel.isOpen());
    leave(second, 8_000);
    channel.runPendingTasks();
    assertFalse(channel.isOpen());
    assertTrue(second.isOpen());
  }

  @Test
  void askingShowsLessThanHoldingAndARefusalNothing() {
    receive(POST + "Content-Length: 0\r\n\r\n");
    answer();
    EmbeddedChannel asked = second(GET);
    answer(asked, HttpResponseStatus.OK, 0);
    EmbeddedChannel refused = second(POST + "Content-Length: 0\r\n\r\n");
    asked.runPendingTasks();
    assertFalse(asked.isOpen()); // though it came last
    answer(refused, HttpResponseStatus.GONE, 0);
    EmbeddedChannel newcomer = second("");
    refused.runPendingTasks();
    assertFalse(refused.isOpen()); // though it came last
    assertTrue(channel.isOpen() && newcomer.isOpen());
  }
}
