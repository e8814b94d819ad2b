package dev.cinch.bag.registry;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.model.Names;
import dev.cinch.bag.registry.ServiceNames.CeilingName;
import dev.cinch.bag.storage.LogStorage.Freshness;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.lease.Shard;
import dev.cinch.lease.witness.SigningKey;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.OptionalLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The ceilings that instances of the lease service have published (rule L3). Those that no key of
 * the store signed are anybody's, and nobody waits for them.
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

  private static final Logger log = LoggerFactory.getLogger(StoreCeilings.class);

  /**
   * One of this instance.
   *
   * @param file its whole name
   */
  record Published(CeilingName ceiling, String file) {}

  private final StoreContext store;
  private final Statements statements;
  private final Path place;
  private final SignedNames<CeilingName> names;
  private final StoreLastWords words;
  private final ArrayDeque<Published> published = new ArrayDeque<>();
  private int removals;

  StoreCeilings(StoreContext store, Statements statements) {
    this.store = store;
    this.statements = statements;
    this.place = store.layout().ceilings();
    this.names =
        new SignedNames<>(store, statements, place, CeilingName::parse, CeilingName::instance);
    this.words = new StoreLastWords(store, statements);
  }

  /** Of a store, for who is no instance. */
  public static StoreCeilings of(StoreContext store) {
    return new StoreCeilings(store, new Statements(store));
  }

  /** The highest one of each instance that has published one, past every cache. */
  List<CeilingName> highest() throws IOException {
    List<String> listed = store.storage().listNow(place);
    statements.look();
    var highestFirst = Comparator.comparingLong(CeilingName::ceiling).reversed();
    return List.copyOf(names.counting(listed, CeilingName::instance, highestFirst).values());
  }

  /** The highest one of all; empty if there is none. */
  public OptionalLong highestOfAll() throws IOException {
    return highest().stream().mapToLong(CeilingName::ceiling).max();
  }

  /** What stands beside them and counts for nothing. */
  public List<Path> strays() throws IOException {
    statements.look();
    var strays = new ArrayList<Path>();
    for (String name : store.storage().list(place, Freshness.PERMITTED)) {
      if (!Names.isTemporary(name) && !names.counts(name) && !words.names().counts(name)) {
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
   * Removes those of earlier instances of a chain that one of this instance covers, which
   * {@linkplain #stands stands}: no later instance needs them. Not for nodes of a cell, which go by
   * what was before the cell whenever they start.
   */
  void removeEarlier(CeilingName covering, Shard chain) {
    try {
      List<String> listed = store.storage().list(place, Freshness.CERTAIN);
      // Only now: an instance has its entry before its first ceiling.
      StoreShards shards = StoreShards.look(store, statements);
      names.remove(
          listed,
          c ->
              c.instance() < covering.instance()
                  && c.ceiling() <= covering.ceiling()
                  && shards.shard(c.instance()).equals(chain));
    } catch (IOException e) {
      log.debug("earlier ceilings could not be listed: {}", e.toString()); // the next one removes
    }
  }
}
