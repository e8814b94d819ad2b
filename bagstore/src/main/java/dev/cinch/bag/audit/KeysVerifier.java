package dev.cinch.bag.audit;

import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.ForeignEntryException;
import dev.cinch.bag.format.KeyFile;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Numbered;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.store.KeyRules;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.TrustedKeys;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/**
 * Checks the files of trusted keys: digest, pin and signatures (rule F3); and has the keys for who
 * checks witnesses. In a store in use there may be more of them each time that somebody looks. Not
 * thread-safe.
 */
final class KeysVerifier {
  private final StoreContext store;
  private final Tally tally;
  private final List<PublicKey> keys = new ArrayList<>();

  private boolean gap;

  KeysVerifier(StoreContext store, Tally tally) {
    this.store = store;
    this.tally = tally;
  }

  /** Checks those that there are. */
  void verify() throws IOException {
    Name directory = store.layout().keys();
    for (String name : store.storage().listIfThere(directory, Freshness.CACHED)) {
      if (Numbered.parse(name).isEmpty()) {
        tally.foreign(directory.resolve(name));
      }
    }
    look(store.storage().listIfThere(directory, Freshness.CACHED));
    if (keys.isEmpty() && !gap && !store.identity().firstKey().isEmpty()) {
      next(); // it was there before store.json was
    }
  }

  /** All that are known, from the first one to the first gap. */
  TrustedKeys all() {
    return new TrustedKeys(keys);
  }

  /** The first {@code count}, or all there are now if that is fewer. */
  TrustedKeys first(int count) throws IOException {
    if (count > keys.size()) {
      look(store.storage().listIfThere(store.layout().keys(), Freshness.PERMITTED));
    }
    return all().first(Math.min(count, keys.size()));
  }

  private Name path(long number) {
    return store.layout().keys().resolve(Numbered.name(number));
  }

  /** Checks those that a listing has more than the last one. */
  private void look(List<String> names) throws IOException {
    for (String name : names) {
      OptionalLong number = Numbered.parse(name);
      while (number.isPresent() && keys.size() < number.getAsLong() && !gap) {
        next();
      }
    }
  }

  /** The next one, which must be there. */
  private void next() throws IOException {
    long number = keys.size() + 1L;
    Name path = path(number);
    try {
      tally.read(store.storage(), path);
      KeyFile file =
          store
              .storage()
              .read(
                  path, KeyFile.MAX_BYTES, Freshness.CACHED, bytes -> KeyFile.decode(bytes, path));
      KeyRules.objection(store.identity(), number, file, keys)
          .map(actual -> Finding.damage(path, 0, KeyRules.expected(number), actual))
          .ifPresent(tally::found);
      keys.add(file.key());
    } catch (ForeignEntryException e) {
      throw e;
    } catch (DamagedException e) {
      tally.found(Finding.of(e));
      keys.add(new PublicKey(new byte[PublicKey.BYTES])); // keeps the others' places
    } catch (NoSuchFileException e) {
      gap = true; // readers believe none behind it
      tally.found(Finding.damage(path, 0, "keys without a gap (rule F3)", "no file"));
    }
  }
}
