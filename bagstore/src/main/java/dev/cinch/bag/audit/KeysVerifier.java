package dev.cinch.bag.audit;

import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.KeyFile;
import dev.cinch.bag.layout.Numbered;
import dev.cinch.bag.store.KeyRules;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.TrustedKeys;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
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

  /** Plain later keys of a store of format 1, which count if an old record counted them. */
  private final List<Long> unsigned = new ArrayList<>();

  private boolean gap;
  private int counted;

  KeysVerifier(StoreContext store, Tally tally) {
    this.store = store;
    this.tally = tally;
  }

  /** Checks those that there are. */
  void verify() throws IOException {
    Path directory = store.layout().keys();
    for (String name : list(store.fs()::list)) {
      if (Numbered.parse(name).isEmpty()) {
        tally.found(Finding.foreign(directory.resolve(name)));
      }
    }
    look(store.fs()::list);
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
      look(directory -> store.fresh().listAsPermitted(directory));
    }
    return all().first(Math.min(count, keys.size()));
  }

  /** Whether a record may be the first to count keys from one number to another. */
  Optional<Long> unsignedAmong(int from, int to) {
    return unsigned.stream().filter(n -> n > from && n <= to).findFirst();
  }

  /** An old record, or the first that is left of a chain, counted so many. */
  void counted(int count) {
    counted = Math.max(counted, count);
  }

  /** After all logs: what nobody counted, and nobody will. */
  void end() {
    unsignedAmong(counted, Integer.MAX_VALUE)
        .ifPresent(n -> notCounting(n, "one that no key signed, and no old record counts"));
  }

  private void notCounting(long number, String actual) {
    tally.found(Finding.damage(path(number), 0, KeyRules.expected(number), actual));
  }

  private Path path(long number) {
    return store.layout().keys().resolve(Numbered.name(number));
  }

  private interface Lister {
    List<String> list(Path directory) throws IOException;
  }

  private List<String> list(Lister lister) throws IOException {
    try {
      return lister.list(store.layout().keys()).stream().sorted().toList();
    } catch (NoSuchFileException e) {
      return List.of(); // a copy of a store may lack its empty directories
    }
  }

  /** Checks those that a listing has more than the last one. */
  private void look(Lister lister) throws IOException {
    for (String name : list(lister)) {
      OptionalLong number = Numbered.parse(name);
      while (number.isPresent() && keys.size() < number.getAsLong() && !gap) {
        next();
      }
    }
  }

  /** The next one, which must be there. */
  private void next() throws IOException {
    long number = keys.size() + 1L;
    Path path = path(number);
    byte[] bytes;
    try {
      bytes = store.fresh().readAll(path, KeyFile.MAX_BYTES);
    } catch (NoSuchFileException e) {
      gap = true; // readers believe none behind it
      tally.found(Finding.damage(path, 0, "keys without a gap (rule F3)", "no file"));
      return;
    }
    tally.read(path, bytes.length);
    if (!isKey(path, bytes)) {
      bytes = store.fresh().readAllUncached(path, KeyFile.MAX_BYTES); // rule N5
    }
    keys.add(decode(path, number, bytes));
  }

  private static boolean isKey(Path path, byte[] bytes) {
    try {
      return differs(KeyFile.decode(bytes, path), bytes) < 0;
    } catch (DamagedException e) {
      return false;
    }
  }

  /** An envelope's white space carries no meaning. */
  private static int differs(KeyFile key, byte[] bytes) {
    return key.endorsement().isPresent() ? -1 : Arrays.mismatch(key.encode(), bytes);
  }

  private PublicKey decode(Path path, long number, byte[] bytes) {
    try {
      KeyFile file = KeyFile.decode(bytes, path);
      int differs = differs(file, bytes);
      if (differs >= 0) {
        tally.found(Finding.damage(path, differs, "64 digits, newline", "other bytes"));
      }
      Optional<String> objection = KeyRules.objection(store.identity(), number, file, keys);
      boolean plain = number > 1 && file.endorsement().isEmpty();
      if (objection.isPresent() && plain && !store.identity().keysAreSigned()) {
        unsigned.add(number);
      } else if (objection.isPresent()) {
        notCounting(number, objection.get());
      }
      return file.key();
    } catch (DamagedException e) {
      tally.found(Finding.of(e));
      return new PublicKey(new byte[PublicKey.BYTES]); // keeps the others' places
    }
  }
}
