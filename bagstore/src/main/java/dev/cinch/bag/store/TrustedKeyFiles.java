package dev.cinch.bag.store;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.layout.Numbered;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.TrustedKeys;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
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

  /**
   * The first {@code count} keys. Whoever names so many has seen them, and they are never removed:
   * with fewer a reader would leave out messages without a word.
   *
   * @throws DamagedException if one of them is missing, also past the cache, or is no key
   */
  public static TrustedKeys first(StoreContext store, long count) throws IOException {
    var keys = new ArrayList<PublicKey>();
    for (long n = 1; n <= count; n++) {
      Path path = store.layout().keys().resolve(Numbered.name(n));
      try {
        keys.add(read(store, path));
      } catch (NoSuchFileException e) {
        String missing = "no " + path.getFileName();
        throw new DamagedException(store.layout().keys(), 0, count + " trusted keys", missing);
      }
    }
    return new TrustedKeys(keys);
  }

  /**
   * The keys for who reads what is settled: as {@link #first}. Where no message depends on its
   * leases a lost key keeps nobody from reading: those before it then.
   *
   * @param count as the record says
   */
  public static TrustedKeys forSettled(StoreContext store, long count) throws IOException {
    return messagesDependOn(store) ? first(store, count) : present(store, count);
  }

  /**
   * The keys for who reads what is not settled: as {@link #all}, and as in {@link #forSettled}.
   *
   * @param least how many a record names
   */
  public static TrustedKeys forOpen(StoreContext store, long least) throws IOException {
    return messagesDependOn(store) ? all(store, least) : present(store, Long.MAX_VALUE);
  }

  private static boolean messagesDependOn(StoreContext store) {
    return store.settings().leases() == StoreSettings.Leases.REQUIRED;
  }

  /** Up to the first one that is missing or damaged. */
  private static TrustedKeys present(StoreContext store, long count) throws IOException {
    var keys = new ArrayList<PublicKey>();
    try {
      for (long n = 1; n <= count; n++) {
        keys.add(read(store, store.layout().keys().resolve(Numbered.name(n))));
      }
    } catch (NoSuchFileException | DamagedException e) {
      // The end of them, or one was lost.
    }
    return new TrustedKeys(keys);
  }

  /**
   * All that there are, past every cache where this user may create files in the store; else as far
   * as this machine knows.
   *
   * @param least how many somebody is known to have seen
   * @throws DamagedException as {@link #first}; also if there is one behind a gap
   */
  public static TrustedKeys all(StoreContext store, long least) throws IOException {
    List<Long> numbers = numbers(store.fresh().listAsPermitted(store.layout().keys()));
    long last = numbers.isEmpty() ? 0 : numbers.get(numbers.size() - 1);
    return first(store, Math.max(last, least));
  }

  static List<Long> numbers(List<String> names) {
    return names.stream()
        .map(Numbered::parse)
        .flatMapToLong(OptionalLong::stream)
        .sorted()
        .boxed()
        .toList();
  }

  private static PublicKey read(StoreContext store, Path path) throws IOException {
    return store.fresh().decode(path, MAX_BYTES, bytes -> decode(bytes, path));
  }

  private static PublicKey decode(byte[] bytes, Path path) throws DamagedException {
    try {
      return PublicKey.parse(new String(bytes, StandardCharsets.US_ASCII).strip());
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
      List<Long> numbers = numbers(store.fs().list(store.layout().keys()));
      for (long n : numbers) {
        if (read(store, store.layout().keys().resolve(Numbered.name(n))).equals(key)) {
          store.fs().forceDirectory(store.layout().keys()); // whoever added it may have stopped
          return n;
        }
      }
      store.fs().forceDirectory(store.layout().keys()); // or this one could outlive those before it
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
