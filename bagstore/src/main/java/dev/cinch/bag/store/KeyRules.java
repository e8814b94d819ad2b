package dev.cinch.bag.store;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.KeyFile;
import dev.cinch.bag.format.KeyFile.Endorsement;
import dev.cinch.bag.format.StoreIdentity;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.TrustedKeys;
import java.util.List;
import java.util.Optional;

/**
 * Whether a key file speaks for its key: the first one by the pin in {@code store.json}, every
 * later one by the signature of an earlier one (rule F3). Does no I/O.
 */
@CheckReturnValue
public final class KeyRules {
  private KeyRules() {}

  /**
   * What is wrong with a key file.
   *
   * @param number as its name says
   * @param earlier the keys before it, which count
   * @return empty if the key counts by itself
   */
  public static Optional<String> objection(
      StoreIdentity store, long number, KeyFile file, List<PublicKey> earlier) {
    if (number == 1) {
      String digest = TrustedKeys.of(file.key()).digest();
      if (!store.firstKey().isEmpty() && !store.firstKey().equals(digest)) {
        return Optional.of(
            "one of SHA-256 " + digest + ", and store.json pins " + store.firstKey());
      }
    }
    Endorsement e = file.endorsement();
    if (!e.store().equals(store.id()) || e.number() != number) {
      return Optional.of("one for number " + e.number() + " of store " + e.store());
    }
    boolean first = number == 1 && e.signedBy() == 0;
    if (!first && (e.signedBy() < 1 || e.signedBy() >= number)) {
      return Optional.of("one that says it is signed by key " + e.signedBy());
    }
    if (first && file.key().isDelegated()) {
      return Optional.of("one that is delegated by none");
    }
    PublicKey by = first ? file.key() : earlier.get((int) e.signedBy() - 1);
    if (!first && by.isDelegated()) {
      return Optional.of("one that is signed by key " + e.signedBy() + ", which may sign no key");
    }
    return e.isBy(by, file.key())
        ? Optional.empty()
        : Optional.of("one with a bad signature" + (first ? "" : " of key " + e.signedBy()));
  }

  /** What is expected of a key file, for messages. */
  public static String expected(long number) {
    return number == 1 ? "the store's first key" : "a key that an earlier one signed";
  }
}
