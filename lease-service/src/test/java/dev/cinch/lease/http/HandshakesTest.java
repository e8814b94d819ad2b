package dev.cinch.lease.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.ssl.SslContext;
import java.util.ArrayList;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import org.junit.jupiter.api.Test;

/** Handshakes that strangers leave unfinished. */
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
}
