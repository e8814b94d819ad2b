package dev.cinch.bag.registry;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.store.CountingKeys;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.StoreStatement;
import dev.cinch.lease.witness.TrustedKeys;
import java.io.IOException;

/**
 * What servers of the lease service leave below {@code service/}, signed by a key of the store
 * (rules L3, L9, L11, L16). What is not counts for nothing: whoever may create files in the store
 * may have left it. Not thread-safe.
 */
@CheckReturnValue
final class Statements {
  private final StoreContext store;
  private final CountingKeys counting;
  private TrustedKeys keys = TrustedKeys.NONE;
  private boolean renewed;

  Statements(StoreContext store) {
    this.store = store;
    this.counting = CountingKeys.ofStore(store).strict();
  }

  /** A new look: keys may have been added since the last one. */
  void look() {
    renewed = false;
  }

  /** Of a text in a directory of {@code service/}, as everybody signs and checks it. */
  private static String text(Name directory, String text) {
    return directory.last() + "/" + text;
  }

  String sign(SigningKey by, Name directory, String text) {
    return StoreStatement.sign(by, store.identity().id(), text(directory, text));
  }

  /**
   * Whether it counts.
   *
   * @throws IOException if the keys can't be read
   */
  boolean counts(Name directory, String text, String signature) throws IOException {
    if (isSigned(directory, text, signature)) {
      return true;
    }
    if (renewed) {
      return false;
    }
    renewed = true;
    TrustedKeys now = counting.now();
    boolean more = !now.equals(keys);
    keys = now;
    return more && isSigned(directory, text, signature);
  }

  private boolean isSigned(Name directory, String text, String signature) {
    return StoreStatement.isSigned(keys, store.identity().id(), text(directory, text), signature);
  }

  TrustedKeys keys() throws IOException {
    keys = counting.now();
    return keys;
  }
}
