package dev.cinch.lease.register.sim;

import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.register.StateRegister;
import java.util.NavigableMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BiConsumer;

/** What it asks a register for is waited for by the fiber, while the world goes on. */
final class WaitingRegister implements StateRegister {
  private final World world;
  private final Server.Life life;
  private final StateRegister register;

  WaitingRegister(World world, Server.Life life, StateRegister register) {
    this.world = world;
    this.life = life;
    this.register = register;
  }

  @Override
  public CompletableFuture<Boolean> change(LeaseName name, Change change) {
    Fibers.Fiber fiber = world.fibers.current();
    life.own(fiber);
    long pause = world.pause();
    if (pause > 0) {
      life.later(world.time + pause, fiber::resume);
      fiber.await();
    }
    CompletableFuture<Boolean> done = register.change(name, change);
    var unused =
        done.whenComplete(
            (written, failure) -> {
              boolean refused =
                  failure instanceof LeaseRefusedException e && e.reason() != Reason.NOT_YET;
              fiber.failures += failure == null || refused ? 0 : 1;
            });
    return new Awaited<>(fiber, done);
  }

  @Override
  public CompletableFuture<Found> look(LeaseName name) {
    return new Awaited<>(world.fibers.current(), register.look(name));
  }

  @Override
  public CompletableFuture<NavigableMap<String, byte[]>> list(
      String prefix, String after, int limit) {
    return new Awaited<>(world.fibers.current(), register.list(prefix, after, limit));
  }

  @Override
  public void listen(BiConsumer<String, byte[]> listener) {
    register.listen(listener);
  }

  @Override
  public int longestValue() {
    return register.longestValue();
  }

  /** An answer for which a fiber waits. */
  private final class Awaited<T> extends CompletableFuture<T> {
    private final Fibers.Fiber fiber;
    private boolean isWaited;

    Awaited(Fibers.Fiber fiber, CompletableFuture<T> answer) {
      this.fiber = fiber;
      var unused =
          answer.whenComplete(
              (value, failure) -> {
                if (failure == null) {
                  complete(value);
                } else {
                  completeExceptionally(failure);
                }
                if (isWaited) {
                  long at = world.time + world.pause();
                  life.later(at, fiber::resume);
                }
              });
    }

    @Override
    public T get(long timeout, TimeUnit unit)
        throws InterruptedException, java.util.concurrent.ExecutionException, TimeoutException {
      if (!isDone()) {
        isWaited = true;
        fiber.await();
      }
      return super.get(0, TimeUnit.NANOSECONDS);
    }
  }
}
