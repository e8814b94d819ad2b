package dev.cinch.bag.registry;

import dev.cinch.bag.registry.ServiceNames.CeilingName;
import dev.cinch.bag.registry.ServiceNames.SignedName;
import dev.cinch.bag.storage.LogStorage.Freshness;
import dev.cinch.bag.store.StoreContext;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Removes ceilings that higher ones have made needless. A later instance goes by the highest one
 * that it lists, so a ceiling may go once a higher one stays for good.
 *
 * <p>Nodes of a cell publish under one number, and each goes on by its own ceilings alone: it
 * removes what is below one of its own, whoever published that. The highest ceiling M that was
 * published, by any node that found no later instance after that, is never removed: for that a node
 * would need a higher one, which it had published likewise. So a later instance, which takes its
 * number before it lists, finds M; what a node publishes meanwhile needs no finding, as that node
 * finds the later instance. To keep the highest few of all would be wrong: these may be such ones.
 *
 * <p>Not thread-safe.
 */
final class OldCeilings {
  /**
   * A listing may overlap with a publication: the last few ceilings stay, so that it finds at least
   * one of them.
   */
  static final int KEPT = 3;

  /** How many removals until it looks again for what nodes have left that ended. */
  static final int LOOK_EVERY = 64;

  private static final Logger log = LoggerFactory.getLogger(OldCeilings.class);

  private final StoreContext store;
  private final boolean shared;
  private final ArrayDeque<Published> published = new ArrayDeque<>();
  private int removals;

  /**
   * @param file its name
   */
  record Published(CeilingName ceiling, String file) {}

  /**
   * @param shared whether others publish under the same number, or have before
   */
  OldCeilings(StoreContext store, boolean shared) {
    this.store = store;
    this.shared = shared;
  }

  /**
   * Takes note of a ceiling, above all before, that is durable. No later instance was there after
   * it was published.
   */
  void published(Published ceiling) {
    if (!published.contains(ceiling)) {
      published.addLast(ceiling);
    }
    if (published.size() > KEPT) {
      Published old = published.removeFirst();
      if (shared && removals++ % LOOK_EVERY == 0) {
        removeThrough(old.ceiling());
      } else {
        remove(old.file());
      }
    }
  }

  /** Whoever published them: a node that starts again has forgotten which ones were its own. */
  private void removeThrough(CeilingName highest) {
    List<String> names;
    try {
      names = store.storage().list(store.layout().ceilings(), Freshness.CERTAIN);
    } catch (IOException e) {
      log.debug("old ceilings could not be listed: {}", e.toString()); // the next look finds them
      return;
    }
    names.stream()
        .filter(
            name ->
                SignedName.parse(name)
                    .flatMap(signed -> CeilingName.parse(signed.base()))
                    .filter(c -> c.instance() == highest.instance())
                    .filter(c -> c.ceiling() <= highest.ceiling())
                    .isPresent())
        .forEach(this::remove);
  }

  private void remove(String name) {
    store.storage().removeQuietly(store.layout().ceilings().resolve(name));
  }
}
