package dev.cinch.lease.http;

import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.ssl.DelegatingSslContext;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslProvider;
import io.vertx.core.net.JdkSSLEngineOptions;
import io.vertx.core.spi.tls.DefaultSslContextFactory;
import io.vertx.core.spi.tls.SslContextFactory;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;

/**
 * Connections that have not ended their TLS handshake, which no {@link Gate} knows yet. Of too many
 * the oldest is closed: strangers that leave theirs unfinished would else take all descriptors, and
 * with these the store from the service. Confined to the event loop of all connections.
 */
final class Handshakes extends JdkSSLEngineOptions {
  private final int most;
  private final Consumer<Channel> told;
  private final Set<Channel> unfinished = new LinkedHashSet<>();

  /**
   * @param most how many may be under way at once
   * @param told of each connection as it comes
   */
  Handshakes(int most, Consumer<Channel> told) {
    this.most = most;
    this.told = told;
  }

  /** Itself: all of a server's connections count together. */
  @Override
  public JdkSSLEngineOptions copy() {
    return this;
  }

  @Override
  public SslContextFactory sslContextFactory() {
    return new DefaultSslContextFactory(SslProvider.JDK, false) {
      @Override
      public SslContext create() throws SSLException {
        return new Counting(super.create());
      }
    };
  }

  private void began(Channel channel) {
    told.accept(channel);
    unfinished.add(channel);
    if (unfinished.size() > most) {
      var unused = unfinished.iterator().next().close();
    }
  }

  private final class Counting extends DelegatingSslContext {
    Counting(SslContext context) {
      super(context);
    }

    @Override
    protected void initEngine(SSLEngine engine) {}

    @Override
    protected SslHandler newHandler(ByteBufAllocator buffers, boolean startTls, Executor tasks) {
      return new SslHandler(newEngine(buffers), startTls, tasks) {
        @Override
        public void handlerAdded(ChannelHandlerContext context) throws Exception {
          super.handlerAdded(context);
          Channel channel = context.channel();
          var unused = handshakeFuture().addListener(over -> unfinished.remove(channel));
          began(channel);
        }
      };
    }
  }
}
