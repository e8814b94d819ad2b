package dev.cinch.bag.registry;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.registry.ServiceNames.CeilingName;
import dev.cinch.bag.registry.ServiceNames.WordsName;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.lease.Sha256;
import dev.cinch.lease.Shard;
import dev.cinch.lease.instance.InstanceRegistry;
import dev.cinch.lease.witness.SigningKey;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The ceilings that instances of the lease service have published (rule L3), and their last words
 * (rule L19). Those that no key of the store signed are anybody's, and nobody waits for them.
 *
 * <p>A later instance goes by the highest one that it lists, so a ceiling may go once a higher one
 * stays for good. Nodes of a cell publish under one number, and each goes on by its own ceilings
 * alone: it removes what is below one of its own, whoever published that. The highest ceiling M
 * that was published, by any instance of a chain that found no later one after that, is never
 * removed: for that somebody would need a higher one, which was published likewise. So a later
 * instance, which takes its number before it lists, finds M; what is published meanwhile needs no
 * finding, as whoever did it finds the later instance. To keep the highest few of all would be
 * wrong: these may be such ones.
 *
 * <p>Not thread-safe.
 */
@CheckReturnValue
public final class StoreCeilings {
  /**
   * A listing may overlap with a publication: the last few ceilings stay, so that it finds at least
   * one of them.
   */
  static final int KEPT = 3;

  /** How many removals until a node looks again for what nodes have left that ended. */
  static final int LOOK_EVERY = 64;

  /**
   * How long after they say that they were left the storage may have made last words, nanoseconds.
   * In a copy of the store they are younger, and count for nothing: later instances of the original
   * are not in it.
   */
  static final long MADE_WITHIN = 5_000_000_000L;

  private static final Logger log = LoggerFactory.getLogger(StoreCeilings.class);

  /**
   * One of this instance.
   *
   * @param file its whole name
   */
  record Published(CeilingName ceiling, String file) {}

  private final StoreContext store;
  private final Statements statements;
  private final Name place;
  private final SignedNames<CeilingName> names;
  private final SignedNames<WordsName> words;
  private final ArrayDeque<Published> published = new ArrayDeque<>();
  private int removals;

  StoreCeilings(StoreContext store, Statements statements) {
    this.store = store;
    this.statements = statements;
    this.place = store.layout().ceilings();
    this.names = new SignedNames<>(store, statements, place, CeilingName::parse);
    this.words = new SignedNames<>(store, statements, place, WordsName::parse);
  }

  /** Of a store, for who is no instance. */
  public static StoreCeilings of(StoreContext store) {
    return new StoreCeilings(store, new Statements(store));
  }

  /** The highest one of each instance that has published one, past every cache. */
  List<CeilingName> highest() throws IOException {
    List<String> listed = store.listNow(place);
    statements.look();
    var highestFirst = Comparator.comparingLong(CeilingName::ceiling).reversed();
    return List.copyOf(names.counting(listed, CeilingName::instance, highestFirst).values());
  }

  /** The highest one of all; empty if there is none. */
  public OptionalLong highestOfAll() throws IOException {
    return highest().stream().mapToLong(CeilingName::ceiling).max();
  }

  /** What stands beside them and counts for nothing. */
  public List<Name> strays() throws IOException {
    statements.look();
    var strays = new ArrayList<Name>();
    for (String name : store.storage().list(place, Freshness.PERMITTED)) {
      if (!Name.isTemporary(name) && !names.counts(name) && !words.counts(name)) {
        strays.add(place.resolve(name));
      }
    }
    return strays;
  }

  /** Leaves one, durably. */
  Published publish(CeilingName ceiling, SigningKey by) throws IOException {
    return new Published(ceiling, names.publish(ceiling.toString(), by));
  }

  /**
   * Takes note of one of this instance, above all before. No later instance was there after it was
   * published.
   *
   * @param shared whether others publish under the same number, or have before
   */
  void stands(Published ceiling, boolean shared) {
    if (!published.contains(ceiling)) {
      published.addLast(ceiling);
    }
    if (published.size() > KEPT) {
      Published old = published.removeFirst();
      if (shared && removals++ % LOOK_EVERY == 0) {
        removeThrough(old.ceiling());
      } else {
        store.storage().removeQuietly(place.resolve(old.file()));
      }
    }
  }

  /** Whoever published them: a node that starts again has forgotten which ones were its own. */
  private void removeThrough(CeilingName highest) {
    try {
      names.remove(
          store.storage().list(place, Freshness.CERTAIN),
          c -> c.instance() == highest.instance() && c.ceiling() <= highest.ceiling());
    } catch (IOException e) {
      log.debug("old ceilings could not be listed: {}", e.toString()); // the next look finds them
    }
  }

  /**
   * Removes what a ceiling of this instance, which {@linkplain #stands stands}, makes needless:
   * last words of earlier instances, and the ceilings that it covers of those of its chain. A later
   * instance finds this one. Not for nodes of a cell, which go by what was before the cell whenever
   * they start.
   */
  void removeEarlier(CeilingName covering, Shard chain) {
    try {
      List<String> listed = store.storage().list(place, Freshness.CERTAIN);
      words.remove(listed, w -> w.instance() < covering.instance());
      // Only now: an instance has its entry before its first ceiling.
      StoreShards shards = StoreShards.look(store, statements);
      names.remove(
          listed,
          c ->
              c.instance() < covering.instance()
                  && covering.covers(c)
                  && shards.shard(c.instance()).equals(chain));
    } catch (IOException e) {
      log.debug("earlier ceilings could not be listed: {}", e.toString()); // the next one removes
    }
  }

  /** Leaves last words of an instance that signs nothing more. */
  void leave(long number, byte[] words, SigningKey by) throws IOException {
    var name = new WordsName(number, store.now(), digest(words));
    boolean unused = // there already, where our own request was sent twice
        store.publish(place.resolve(this.words.signed(name.toString(), by)), words);
  }

  private static String digest(byte[] words) {
    return HexFormat.of().formatHex(Sha256.of(words));
  }

  /**
   * The last words of an instance.
   *
   * @return empty if it left none, or they are of another store or a copy, or damaged
   */
  Optional<byte[]> lastWords(long number) throws IOException {
    statements.look();
    var order = Comparator.comparingLong(WordsName::leftAt);
    for (var found : words.in(store.listNow(place), order)) {
      WordsName name = found.value();
      Name file = place.resolve(found.file());
      if (name.instance() == number && words.counts(found) && isOfHere(file, name)) {
        byte[] bytes =
            store
                .storage()
                .read(file, InstanceRegistry.MAX_LAST_WORDS, Freshness.CACHED, read -> read);
        return digest(bytes).equals(name.sha256()) ? Optional.of(bytes) : Optional.empty();
      }
    }
    return Optional.empty();
  }

  private boolean isOfHere(Name file, WordsName words) throws IOException {
    long since = store.storage().changedAt(file) - words.leftAt();
    return Math.abs(since) <= MADE_WITHIN;
  }

  /** Removes all last words, of a store that is a copy, or was put back: see rule L19. */
  public void removeLastWords() {
    try {
      words.remove(store.storage().list(place, Freshness.PERMITTED), words -> true);
    } catch (IOException e) {
      log.debug("last words could not be listed: {}", e.toString()); // no safety rests on it
    }
  }
}
