package dev.cinch.bag.audit;

import dev.cinch.bag.layout.Numbered;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.TrustedKeys;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;

/**
 * Checks the files of trusted keys, and has the keys for who checks witnesses. In a store in use
 * there may be more of them each time that somebody looks. Not thread-safe.
 */
final class KeysVerifier {
  private static final int MAX_BYTES = 1 << 12;

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
    Path directory = store.layout().keys();
    for (String name : list(store.fs()::list)) {
      if (Numbered.parse(name).isEmpty()) {
        tally.found(Finding.foreign(directory.resolve(name)));
      }
    }
    look(store.fs()::list);
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
    Path path = store.layout().keys().resolve(Numbered.name(keys.size() + 1));
    byte[] bytes;
    try {
      bytes = store.fresh().readAll(path, MAX_BYTES);
    } catch (NoSuchFileException e) {
      gap = true; // readers believe none behind it
      tally.found(Finding.damage(path, 0, "keys without a gap (rule F3)", "no file"));
      return;
    }
    tally.read(path, bytes.length);
    if (!isKey(bytes)) {
      bytes = store.fresh().readAllUncached(path, MAX_BYTES); // rule N5
    }
    keys.add(decode(path, bytes));
  }

  private static boolean isKey(byte[] bytes) {
    try {
      return differs(PublicKey.parse(text(bytes)), bytes) < 0;
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.US_ASCII);
  }

  private static int differs(PublicKey key, byte[] bytes) {
    return Arrays.mismatch((key + "\n").getBytes(StandardCharsets.US_ASCII), bytes);
  }

  private PublicKey decode(Path path, byte[] bytes) {
    try {
      PublicKey key = PublicKey.parse(text(bytes));
      int differs = differs(key, bytes);
      if (differs >= 0) {
        tally.found(Finding.damage(path, differs, "64 digits, newline", "other bytes"));
      }
      return key;
    } catch (IllegalArgumentException e) {
      tally.found(Finding.damage(path, 0, "a public key in hexadecimal", e.getMessage() + ""));
      return new PublicKey(new byte[PublicKey.BYTES]); // keeps the others' places
    }
  }
}
