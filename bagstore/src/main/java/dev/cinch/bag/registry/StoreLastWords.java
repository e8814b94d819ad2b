package dev.cinch.bag.registry;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.registry.ServiceNames.SignedName;
import dev.cinch.bag.registry.ServiceNames.WordsName;
import dev.cinch.bag.storage.LogStorage.Freshness;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.lease.Sha256;
import dev.cinch.lease.service.InstanceRegistry;
import dev.cinch.lease.witness.SigningKey;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * The last words of instances of the lease service, as files beside their ceilings (rule L19). A
 * name says whose they are, when they were left, and the digest of the content, and is signed. Not
 * thread-safe.
 */
@CheckReturnValue
public final class StoreLastWords {
  /**
   * How long after they say that they were left the storage may have made them, nanoseconds. In a
   * copy of the store they are younger, and count for nothing: later instances of the original are
   * not in it.
   */
  static final long MADE_WITHIN = 5_000_000_000L;

  private final StoreContext store;
  private final Statements statements;

  StoreLastWords(StoreContext store, Statements statements) {
    this.store = store;
    this.statements = statements;
  }

  /** Leaves those of an instance that signs nothing more. */
  void leave(long number, byte[] words, SigningKey by) throws IOException {
    Path directory = store.layout().ceilings();
    var name = new WordsName(number, store.now(), digest(words));
    boolean unused = // there already, where our own request was sent twice
        store
            .storage()
            .publish(
                directory.resolve(statements.signedName(by, directory, name.toString())), words);
  }

  /**
   * Those of an instance.
   *
   * @return empty if it left none, or they are of another store or a copy, or damaged
   */
  Optional<byte[]> of(long number) throws IOException {
    Path directory = store.layout().ceilings();
    statements.look();
    for (String name : store.storage().listNow(directory)) {
      SignedName signed = SignedName.parse(name).orElse(null);
      WordsName words = signed == null ? null : WordsName.parse(signed.base()).orElse(null);
      if (signed != null
          && words != null
          && words.instance() == number
          && statements.counts(directory, number, signed)
          && isOfHere(directory.resolve(name), words)) {
        byte[] bytes =
            store
                .storage()
                .read(directory.resolve(name), InstanceRegistry.MAX_LAST_WORDS, read -> read);
        return digest(bytes).equals(words.sha256()) ? Optional.of(bytes) : Optional.empty();
      }
    }
    return Optional.empty();
  }

  private static String digest(byte[] words) {
    return HexFormat.of().formatHex(Sha256.of(words));
  }

  private boolean isOfHere(Path file, WordsName words) throws IOException {
    long since = store.storage().changedAt(file) - words.leftAt();
    return Math.abs(since) <= MADE_WITHIN;
  }

  /** Removes those of instances before one that has a ceiling: from then on they say nothing. */
  void removeBefore(long number) {
    remove(words -> words.instance() < number);
  }

  /** Removes all, of a store that is a copy, or was put back: see rule L19. */
  public static void removeAll(StoreContext store) {
    new StoreLastWords(store, new Statements(store)).remove(words -> true);
  }

  private void remove(Predicate<WordsName> which) {
    Path directory = store.layout().ceilings();
    List<String> names;
    try {
      names = store.storage().list(directory, Freshness.PERMITTED);
    } catch (IOException e) {
      return; // no safety rests on it
    }
    names.stream()
        .filter(
            name ->
                SignedName.parse(name)
                    .flatMap(signed -> WordsName.parse(signed.base()))
                    .filter(which)
                    .isPresent())
        .forEach(name -> store.storage().removeQuietly(directory.resolve(name)));
  }
}
