package dev.cinch.bag.store;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.layout.Numbered;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.TrustedKeys;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/**
 * The trusted keys of a store: files numbered without gaps, published by link, never removed (rule
 * F3).
 */
@CheckReturnValue
public final class TrustedKeyFiles {
  private static final int MAX_BYTES = 1 << 12;

  private TrustedKeyFiles() {}

  /** The first {@code count} keys, or all there are if that is fewer. */
  public static TrustedKeys load(StoreContext store, int count) throws IOException {
    var keys = new ArrayList<PublicKey>();
    for (long n : numbers(store)) {
      if (keys.size() < count) {
        keys.add(read(store, store.layout().keys().resolve(Numbered.name(n))));
      }
    }
    return new TrustedKeys(keys);
  }

  private static List<Long> numbers(StoreContext store) throws IOException {
    return store.fs().list(store.layout().keys()).stream()
        .map(Numbered::parse)
        .flatMapToLong(OptionalLong::stream)
        .sorted()
        .boxed()
        .toList();
  }

  private static PublicKey read(StoreContext store, Path path) throws IOException {
    String text =
        new String(store.fresh().readAll(path, MAX_BYTES), StandardCharsets.US_ASCII).strip();
    try {
      return PublicKey.parse(text);
    } catch (IllegalArgumentException e) {
      throw new DamagedException(path, 0, "a public key in hexadecimal", e.getMessage() + "");
    }
  }

  /**
   * Adds a key unless it is there.
   *
   * @return its number
   */
  public static long add(StoreContext store, PublicKey key) throws IOException {
    while (true) {
      List<Long> numbers = numbers(store);
      for (long n : numbers) {
        if (read(store, store.layout().keys().resolve(Numbered.name(n))).equals(key)) {
          return n;
        }
      }
      long next = numbers.isEmpty() ? 1 : numbers.get(numbers.size() - 1) + 1;
      Path name = store.layout().keys().resolve(Numbered.name(next));
      store
          .fresh()
          .publish(name, (key + "\n").getBytes(StandardCharsets.US_ASCII), store.fileMode());
      if (read(store, name).equals(key)) {
        return next;
      }
    }
  }
}
