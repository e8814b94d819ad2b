package dev.cinch.lease.http;

import com.google.errorprone.annotations.CheckReturnValue;
import io.netty.channel.Channel;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The {@link Gate}s of a server's connections, from the first one to the last that is let end.
 * Thread-safe.
 */
@CheckReturnValue
final class Gates {
  private static final long NANOS_PER_MS = 1_000_000;

  /** For so long a connection of a server that ends may bring one more request, milliseconds. */
  static final long LAST_MS = 250;

  private final ServerLimits limits;
  private final Connections connections;
  private final Callers callers;
  private final LongSupplier clock;
  private final Set<Gate> open = ConcurrentHashMap.newKeySet();
  private final CompletableFuture<Integer> drained = new CompletableFuture<>();

  /** What accepts connections; null until there was one, since Vert.x does not show it. */
  private volatile @Nullable Channel listening;

  private volatile boolean draining;

  /** By the clock, nanoseconds: so long connections may take to end. */
  private volatile long deadline;

  /** Likewise: so long requests may begin to come. */
  private volatile long last;

  /**
   * @param clock monotonic, nanoseconds
   */
  Gates(ServerLimits limits, Callers callers, LongSupplier clock) {
    this.limits = limits;
    this.callers = callers;
    this.clock = clock;
    connections = new Connections(limits);
  }

  /** A new connection; on its event loop. */
  void connected(Channel channel) {
    Channel parent = channel.parent();
    listening = parent;
    if (draining) {
      var unused = List.of(channel.close(), parent.close());
      return;
    }
    Gate gate = Gate.install(channel, connections, limits, callers, clock);
    if (gate == null) {
      return;
    }
    open.add(gate);
    var unused =
        channel
            .closeFuture()
            .addListener(
                closed -> {
                  open.remove(gate);
                  endIfDrained();
                });
    if (draining) {
      gate.drain(last); // it began after this one was accepted, and may not have seen it
    }
  }

  /** Ends requests, answers, pauses and a draining that take too long. */
  void sweep() {
    long now = clock.getAsLong();
    open.forEach(gate -> gate.expireIfDue(now));
    if (draining && now - deadline >= 0) {
      drained.complete((int) open.stream().filter(Gate::isUnderWay).count());
    }
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
    if (!draining) {
      long now = clock.getAsLong();
      deadline = now + ms * NANOS_PER_MS;
      last = now + LAST_MS * NANOS_PER_MS;
      draining = true;
    }
    Channel accepting = listening;
    if (accepting != null) {
      var unused = accepting.close().awaitUninterruptibly();
    }
    open.forEach(gate -> gate.drain(last));
    endIfDrained();
    return drained;
  }

  private void endIfDrained() {
    if (draining && open.isEmpty()) {
      drained.complete(0);
    }
  }
}
