package dev.cinch.bag.store;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.ForeignEntryException;
import dev.cinch.bag.format.KeyFile;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Numbered;
import dev.cinch.bag.model.Stored;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.SigningKey;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * The files of a store's trusted keys: numbered without gaps, published by link, never removed.
 * Which of them count {@link CountingKeys} says (rule F3).
 */
@CheckReturnValue
public final class TrustedKeyFiles {
  private TrustedKeyFiles() {}

  static List<Long> numbers(List<String> names) {
    return names.stream()
        .map(Numbered::parse)
        .flatMapToLong(OptionalLong::stream)
        .sorted()
        .boxed()
        .toList();
  }

  /** The file of a key. */
  static Name path(StoreContext store, long number) {
    return store.layout().keys().resolve(Numbered.name(number));
  }

  /**
   * Of these numbers those whose files may be keys, whole or damaged. Anyone who may create files
   * in the store can put others there. Damage changes neither what a file is nor how long it is, so
   * they are no lost keys, and stop nobody.
   */
  static List<Long> possible(StoreContext store, List<Long> numbers) throws IOException {
    var possible = new ArrayList<Long>();
    for (long n : numbers) {
      try (Stored in = store.storage().open(path(store, n), Freshness.PERMITTED)) {
        long size = in.size();
        if (n > 1 && (size < KeyFile.MIN_BYTES || size > KeyFile.MAX_BYTES)) {
          continue;
        }
      } catch (ForeignEntryException e) {
        if (n > 1) {
          continue;
        }
      } catch (NoSuchFileException e) {
        // Damage: see who asked.
      }
      possible.add(n);
    }
    return possible;
  }

  static KeyFile read(StoreContext store, Name path) throws IOException {
    return store
        .storage()
        .read(path, KeyFile.MAX_BYTES, Freshness.CACHED, bytes -> KeyFile.decode(bytes, path));
  }

  /** Whether a store has a key, so that another one needs a signature. */
  public static boolean any(StoreContext store) throws IOException {
    return !numbers(store.storage().list(store.layout().keys(), Freshness.CACHED)).isEmpty();
  }

  /**
   * Adds a key unless it is there. The first one signs for itself.
   *
   * @return its number
   * @throws KeyRefusedException if there are keys, and this is none of them: {@link
   *     #add(StoreContext, PublicKey, SigningKey)}
   */
  public static long add(StoreContext store, SigningKey key) throws IOException {
    return add(store, key.publicKey(), key);
  }

  /**
   * Adds a key unless it is there.
   *
   * @param by a key that counts already, which signs it
   * @return its number
   * @throws KeyRefusedException if {@code by} is no key that counts, or one after those that do has
   *     no valid signature and so is in the way
   * @throws dev.cinch.bag.format.DamagedException if a key file is damaged
   */
  public static long add(StoreContext store, PublicKey key, SigningKey by) throws IOException {
    Name directory = store.layout().keys();
    while (true) {
      List<Long> numbers = numbers(store.storage().list(directory, Freshness.CACHED));
      var before = new ArrayList<PublicKey>();
      Optional<String> wrong = Optional.empty();
      for (long n : numbers) {
        KeyFile there = read(store, path(store, n));
        if (wrong.isEmpty()) {
          wrong =
              n == before.size() + 1
                  ? KeyRules.objection(store.identity(), n, there, before)
                  : Optional.of("nothing, and there is " + Numbered.name(n));
        }
        if (wrong.isEmpty()) {
          before.add(there.key());
          // Its own server asks whether it is there, with whatever end.
          boolean own = key.equals(by.publicKey()) && there.key().isSame(key);
          if (own || there.key().equals(key)) {
            store.storage().show(path(store, n)); // whoever added it may have stopped
            return n;
          }
        }
      }
      if (wrong.isPresent()) {
        throw inTheWay(store, before.size() + 1L, wrong.get());
      }
      int signer = before.indexOf(by.publicKey()) + 1;
      if (signer == 0 && !before.isEmpty()) {
        throw notSigned(store, key, by);
      }
      store.storage().secure(directory); // or this one could outlive those before it
      long next = before.size() + 1L;
      KeyFile file = KeyFile.signed(store.identity().id(), next, key, signer, by);
      store.publish(path(store, next), file.encode());
      if (read(store, path(store, next)).key().equals(key)) {
        store.storage().show(path(store, next)); // nothing is written under it before
        return next;
      }
    }
  }

  private static KeyRefusedException inTheWay(StoreContext store, long number, String found) {
    return new KeyRefusedException(
        path(store, number)
            + " does not count, so none after it would: expected "
            + KeyRules.expected(number)
            + ", found "
            + found
            + "; see \"Keys\" in the operator's page");
  }

  private static KeyRefusedException notSigned(StoreContext store, PublicKey key, SigningKey by) {
    String root = String.valueOf(store.layout().root());
    return new KeyRefusedException(
        key.equals(by.publicKey())
            ? root
                + " trusts another key, and a later one needs its signature once: cinch keygen"
                + " --key NEW --store "
                + root
                + " --signed-by OLD"
            : "the key that is to sign, "
                + by.publicKey().idText()
                + ", is none that "
                + root
                + " trusts to sign others; name the file of one that is");
  }
}
