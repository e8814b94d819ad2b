package dev.cinch.sim;

import dev.cinch.lease.LeaseName;
import dev.cinch.lease.register.StateRegister;
import dev.cinch.sim.fs.FaultKind;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;

/**
 * The register of one instance of the lease service, changed in one step; it forgets what was not
 * written for longer than the longest lease, and says so. {@code dev.cinch.lease.register.sim} has
 * cells whose steps others come between.
 */
final class SimRegister implements StateRegister {
  private static final long NANOS_PER_MS = 1_000_000;

  /** A value, and when it was written. */
  private record Written(byte[] value, long at) {}

  private final TreeMap<String, Written> values = new TreeMap<>();
  private final World world;
  private final long keepNanos;
  private final boolean forgets;

  SimRegister(World world, long longestMs) {
    this.world = world;
    this.keepNanos = 2 * longestMs * NANOS_PER_MS;
    // By such a clock nobody knows how far a lease may reach that is forgotten.
    this.forgets =
        !world.plan.on().contains(FaultKind.CLOCK_STEP)
            && !world.plan.on().contains(FaultKind.SERVICE_CLOCK_STEP);
  }

  private Found found(LeaseName name) {
    Written last = values.get(name.value());
    if (forgets && last != null && world.scheduler.now() - last.at() > keepNanos) {
      values.remove(name.value());
      last = null;
    }
    boolean remembered = last != null || !forgets;
    return new Found(
        Optional.ofNullable(last).map(Written::value), remembered, remembered ? 0 : keepNanos);
  }

  @Override
  public CompletableFuture<Boolean> change(LeaseName name, Change change) {
    try {
      Optional<byte[]> next = change.of(found(name));
      next.ifPresent(value -> values.put(name.value(), new Written(value, world.scheduler.now())));
      return CompletableFuture.completedFuture(next.isPresent());
    } catch (Exception e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  @Override
  public CompletableFuture<Found> look(LeaseName name) {
    return CompletableFuture.completedFuture(found(name));
  }

  @Override
  public CompletableFuture<NavigableMap<String, byte[]>> list(
      String prefix, String after, int limit) {
    var page = new TreeMap<String, byte[]>();
    values
        .tailMap(after, false)
        .forEach(
            (name, written) -> {
              if (name.startsWith(prefix) && page.size() < limit) {
                page.put(name, written.value());
              }
            });
    return CompletableFuture.completedFuture(page);
  }

  @Override
  public void listen(BiConsumer<String, byte[]> listener) {}

  @Override
  public int longestValue() {
    return 1_000;
  }
}
