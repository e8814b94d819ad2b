package dev.cinch.bag.registry;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.model.Names;
import dev.cinch.bag.registry.ServiceNames.CeilingName;
import dev.cinch.bag.registry.ServiceNames.SignedName;
import dev.cinch.bag.registry.ServiceNames.WordsName;
import dev.cinch.bag.storage.LogStorage.Freshness;
import dev.cinch.bag.store.StoreContext;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;

/**
 * The ceilings that instances of the lease service have published (rule L3). Those that no key of
 * the store signed are anybody's, and nobody waits for them. Not thread-safe.
 */
@CheckReturnValue
public final class StoreCeilings {
  private final StoreContext store;
  private final Statements statements;

  StoreCeilings(StoreContext store, Statements statements) {
    this.store = store;
    this.statements = statements;
  }

  /** Of a store, for who is no instance. */
  public static StoreCeilings of(StoreContext store) {
    return new StoreCeilings(store, new Statements(store));
  }

  /** The highest one of each instance that has published one, past every cache. */
  List<CeilingName> highest() throws IOException {
    Path directory = store.layout().ceilings();
    var all = new TreeMap<Long, List<SignedName>>();
    for (String name : store.storage().listNow(directory)) {
      SignedName signed = SignedName.parse(name).orElse(null);
      CeilingName ceiling = signed == null ? null : CeilingName.parse(signed.base()).orElse(null);
      if (signed != null && ceiling != null) {
        all.computeIfAbsent(ceiling.instance(), i -> new ArrayList<>()).add(signed);
      }
    }
    statements.look();
    var highest = new ArrayList<CeilingName>();
    for (Map.Entry<Long, List<SignedName>> of : all.entrySet()) {
      CeilingName best = null;
      for (SignedName signed : of.getValue()) {
        CeilingName ceiling = CeilingName.parse(signed.base()).orElseThrow();
        if ((best == null || ceiling.ceiling() > best.ceiling())
            && statements.counts(directory, of.getKey(), signed)) {
          best = ceiling;
        }
      }
      if (best != null) {
        highest.add(best);
      }
    }
    return highest;
  }

  /** The highest one of all; empty if there is none. */
  public OptionalLong highestOfAll() throws IOException {
    return highest().stream().mapToLong(CeilingName::ceiling).max();
  }

  /** What stands beside them and counts for nothing. */
  public List<Path> strays() throws IOException {
    Path directory = store.layout().ceilings();
    statements.look();
    var strays = new ArrayList<Path>();
    for (String name : store.storage().list(directory, Freshness.PERMITTED)) {
      SignedName signed = SignedName.parse(name).orElse(null);
      long instance =
          signed == null
              ? 0
              : CeilingName.parse(signed.base())
                  .map(CeilingName::instance)
                  .or(() -> WordsName.parse(signed.base()).map(WordsName::instance))
                  .orElse(0L);
      boolean counts =
          signed != null && instance > 0 && statements.counts(directory, instance, signed);
      if (!counts && !Names.isTemporary(name)) {
        strays.add(directory.resolve(name));
      }
    }
    return strays;
  }
}
