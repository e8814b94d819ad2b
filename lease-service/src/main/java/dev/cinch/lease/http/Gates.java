package dev.cinch.lease.http;

import com.google.errorprone.annotations.CheckReturnValue;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Promise;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The {@link Gate}s of a server's connections, from the first one to the last that is let end.
 * Confined to their event loop, but for {@link #sweep} and {@link #drain}, which any thread calls.
 */
@CheckReturnValue
final class Gates {
  private static final long NANOS_PER_MS = 1_000_000;

  /** For so long a connection of a server that ends may bring one more request, milliseconds. */
  static final long LAST_MS = 250;

  private final Connections.Limits limits;
  private final Connections connections;
  private final LongSupplier clock;
  private final Executor loop;
  private final Set<Gate> open = new HashSet<>();
  private final CompletableFuture<Integer> drained = new CompletableFuture<>();

  /** What accepts connections; null until there was one, since Vert.x does not show it. */
  private volatile @Nullable Channel listening;

  private volatile boolean draining;

  /** By the clock, nanoseconds: so long connections may take to end. */
  private volatile long deadline;

  /** Likewise: so long each may still bring a request. */
  private volatile long last;

  /**
   * @param clock monotonic, nanoseconds
   * @param loop the event loop of all connections
   */
  Gates(Connections.Limits limits, LongSupplier clock, Executor loop) {
    this.limits = limits;
    this.clock = clock;
    this.loop = loop;
    connections = new Connections(limits);
  }

  /**
   * Has what accepted a connection accept no more than the process has files for. Another thread
   * accepts, faster than this loop can tell whose place a newcomer takes: then newcomers are
   * closed, or strangers would take all files, and with these the store from the service.
   */
  void accepted(Channel channel) {
    if (listening == null) {
      Channel parent = channel.parent();
      listening = parent;
      var unused = parent.pipeline().addFirst(new AcceptLimit(limits.accepted()));
    }
  }

  /** Runs on the thread that accepts. */
  static final class AcceptLimit extends ChannelInboundHandlerAdapter {
    private final int most;
    private final AtomicInteger open = new AtomicInteger();

    AcceptLimit(int most) {
      this.most = most;
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object accepted) {
      Channel channel = (Channel) accepted;
      if (open.get() >= most) {
        channel.unsafe().closeForcibly();
        return;
      }
      open.incrementAndGet();
      var unused = channel.closeFuture().addListener(closed -> open.decrementAndGet());
      context.fireChannelRead(accepted);
    }
  }

  /** A new connection. */
  void connected(Channel channel) {
    accepted(channel);
    if (draining) {
      var unused = channel.parent().close(); // this is the first one of all
    }
    Gate gate = Gate.install(channel, connections, limits, clock);
    if (gate != null) {
      open.add(gate);
      if (draining) {
        gate.drain(last); // accepted before: its request may be on its way
      }
      var unused =
          channel
              .closeFuture()
              .addListener(
                  closed -> {
                    open.remove(gate);
                    endIfDrained();
                  });
    }
  }

  /** Ends requests, answers, pauses and a draining that take too long. */
  void sweep() {
    loop.execute(
        () -> {
          long now = clock.getAsLong();
          List.copyOf(open).forEach(gate -> gate.expireIfDue(now));
          if (draining && now - deadline >= 0) {
            drained.complete((int) open.stream().filter(Gate::isUnderWay).count());
          }
        });
  }

  /**
   * Accepts no more connections, and has each one end once its request is answered; a quiet one may
   * bring one more for {@link #LAST_MS}. Waits until nobody listens any more, so it is not for
   * event loops.
   *
   * @param ms how long that may take
   * @return how many requests had no answer by then
   */
  CompletionStage<Integer> drain(long ms) {
    Channel accepting = listening;
    if (accepting != null) {
      stopListening(accepting);
    }
    if (!draining) {
      long now = clock.getAsLong();
      deadline = now + ms * NANOS_PER_MS;
      last = now + LAST_MS * NANOS_PER_MS;
      draining = true;
      loop.execute(() -> open.forEach(gate -> gate.drain(last)));
    }
    loop.execute(this::endIfDrained);
    return drained;
  }

  /**
   * Before any answer is said to be the last one: whoever hears that connects anew, and what the
   * system lets in and nobody accepts takes a request with it.
   */
  private static void stopListening(Channel accepting) {
    turn(accepting); // the system may have let in somebody of whom the selector has not heard
    turn(accepting.close().awaitUninterruptibly().channel()); // it lets go of the socket there
  }

  /** Waits until the channel's selector has looked once more. */
  private static void turn(Channel channel) {
    EventLoop loop = channel.eventLoop();
    Promise<Void> turned = loop.newPromise();
    // What a task schedules runs at a later turn, however long this one takes.
    loop.execute(
        () -> {
          var unused = loop.schedule(() -> turned.setSuccess(null), 1, TimeUnit.MILLISECONDS);
        });
    var unused = turned.awaitUninterruptibly();
  }

  private void endIfDrained() {
    if (draining && open.isEmpty()) {
      drained.complete(0);
    }
  }
}
