package dev.cinch.lease.register;

import dev.cinch.lease.LeaseName;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;

/** A register's part that is under a prefix. */
final class Prefixed implements StateRegister {
  private final StateRegister whole;
  private final String prefix;

  Prefixed(StateRegister whole, String prefix) {
    this.whole = whole;
    this.prefix = prefix;
  }

  private LeaseName name(LeaseName name) {
    return new LeaseName(prefix + name);
  }

  @Override
  public CompletableFuture<Boolean> change(LeaseName name, Change change) {
    return whole.change(name(name), change);
  }

  @Override
  public CompletableFuture<Found> look(LeaseName name) {
    return whole.look(name(name));
  }

  @Override
  public CompletableFuture<NavigableMap<String, byte[]>> list(
      String beginning, String after, int limit) {
    return whole
        .list(prefix + beginning, prefix + after, limit)
        .thenApply(
            all -> {
              var own = new TreeMap<String, byte[]>();
              all.forEach((name, value) -> own.put(name.substring(prefix.length()), value));
              return own;
            });
  }

  @Override
  public void listen(BiConsumer<String, byte[]> listener) {
    whole.listen(
        (name, value) -> {
          if (name.startsWith(prefix)) {
            listener.accept(name.substring(prefix.length()), value);
          }
        });
  }

  @Override
  public int longestValue() {
    return whole.longestValue();
  }
}
