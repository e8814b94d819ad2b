package dev.cinch.bag.registry;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.registry.ServiceNames.WordsName;
import dev.cinch.bag.storage.LogStorage.Freshness;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.lease.Sha256;
import dev.cinch.lease.service.InstanceRegistry;
import dev.cinch.lease.witness.SigningKey;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.HexFormat;
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
  private final Path place;
  private final SignedNames<WordsName> names;

  StoreLastWords(StoreContext store, Statements statements) {
    this.store = store;
    this.statements = statements;
    this.place = store.layout().ceilings();
    this.names = new SignedNames<>(store, statements, place, WordsName::parse, WordsName::instance);
  }

  SignedNames<WordsName> names() {
    return names;
  }

  /** Leaves those of an instance that signs nothing more. */
  void leave(long number, byte[] words, SigningKey by) throws IOException {
    String name = names.signed(new WordsName(number, store.now(), digest(words)).toString(), by);
    boolean unused = // there already, where our own request was sent twice
        store.storage().publish(place.resolve(name), words);
  }

  /**
   * Those of an instance.
   *
   * @return empty if it left none, or they are of another store or a copy, or damaged
   */
  Optional<byte[]> of(long number) throws IOException {
    statements.look();
    var order = Comparator.comparingLong(WordsName::leftAt);
    for (var found : names.in(store.storage().listNow(place), order)) {
      WordsName words = found.value();
      Path file = place.resolve(found.file());
      if (words.instance() == number && names.counts(found) && isOfHere(file, words)) {
        byte[] bytes = store.storage().read(file, InstanceRegistry.MAX_LAST_WORDS, read -> read);
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
    try {
      names.remove(store.storage().list(place, Freshness.PERMITTED), which);
    } catch (IOException e) {
      // No safety rests on it.
    }
  }
}
