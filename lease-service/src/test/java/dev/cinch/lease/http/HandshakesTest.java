package dev.cinch.lease.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.ssl.SslContext;
import java.util.ArrayList;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import org.junit.jupiter.api.Test;

/** Connections of strangers, also those whose handshakes they leave unfinished. */
final class HandshakesTest {
  private final List<EmbeddedChannel> channels = new ArrayList<>();

  private static SslContext context(Handshakes handshakes) throws Exception {
    var none = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    none.init(null, null);
    return handshakes.copy().sslContextFactory().keyMananagerFactory(none).create();
  }

  private void connect(SslContext context) {
    channels.add(
        new EmbeddedChannel(
            context.newHandler(UnpooledByteBufAllocator.DEFAULT, (Runnable task) -> task.run())));
  }

  private List<Boolean> open() {
    return channels.stream().map(EmbeddedChannel::isOpen).toList();
  }

  @Test
  void ofTooManyTheOldestGoes() throws Exception {
    var handshakes = new Handshakes(2, channel -> {});
    // A server's context is made anew when its certificates change.
    SslContext one = context(handshakes);
    SslContext two = context(handshakes);
    connect(one);
    connect(two);
    assertEquals(List.of(true, true), open());
    connect(one);
    assertEquals(List.of(false, true, true), open());
    channels.get(1).close();
    connect(two);
    assertEquals(List.of(false, false, true, true), open());
    connect(two);
    assertEquals(List.of(false, false, false, true, true), open());
  }

  /** The thread that accepts is not the one that tells whose place a newcomer takes. */
  @Test
  void noMoreAreAcceptedThanTheProcessHasFilesFor() {
    var listening = new EmbeddedChannel(new Gates.AcceptLimit(2));
    for (int i = 0; i < 4; i++) {
      channels.add(new EmbeddedChannel());
      boolean unused = listening.writeInbound(channels.get(i));
    }
    assertEquals(List.of(true, true, false, false), open());
    channels.get(0).close();
    channels.add(new EmbeddedChannel());
    boolean unused = listening.writeInbound(channels.get(4));
    assertEquals(3, listening.inboundMessages().size());
    assertEquals(List.of(false, true, false, false, true), open());
  }
}
