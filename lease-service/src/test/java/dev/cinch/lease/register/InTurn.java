package dev.cinch.lease.register;

import dev.cinch.lease.LeaseName;
import java.util.List;
import java.util.NavigableMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;

/** One register, asked through several machines in turn. */
final class InTurn implements StateRegister {
  private final List<StateRegister> machines;
  private final AtomicInteger asked = new AtomicInteger();

  InTurn(List<StateRegister> machines) {
    this.machines = machines;
  }

  private StateRegister next() {
    return machines.get(Math.floorMod(asked.getAndIncrement(), machines.size()));
  }

  @Override
  public CompletableFuture<Boolean> change(LeaseName name, Change change) {
    return next().change(name, change);
  }

  @Override
  public CompletableFuture<Found> look(LeaseName name) {
    return next().look(name);
  }

  @Override
  public CompletableFuture<NavigableMap<String, byte[]>> list(
      String prefix, String after, int limit) {
    return next().list(prefix, after, limit);
  }

  @Override
  public void listen(BiConsumer<String, byte[]> listener) {
    machines.get(0).listen(listener);
  }

  @Override
  public int longestValue() {
    return machines.get(0).longestValue();
  }
}
