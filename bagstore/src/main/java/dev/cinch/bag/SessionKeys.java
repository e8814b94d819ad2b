package dev.cinch.bag;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.store.CountingKeys;
import dev.cinch.lease.witness.TrustedKeys;
import java.io.IOException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The keys that count for a session, which writes to all logs of a store (rule F3). Not
 * thread-safe.
 */
@CheckReturnValue
final class SessionKeys {
  private final Store store;
  private @Nullable CountingKeys noted;

  SessionKeys(Store store) {
    this.store = store;
  }

  /**
   * Those that count by themselves: by the pin in {@code store.json}, or as the records of a log
   * have noted them, and by signatures.
   */
  TrustedKeys signed() throws IOException {
    CountingKeys keys = noted;
    if (keys == null) {
      keys = store.context().identity().firstKey().isEmpty() ? noted() : none();
      noted = keys;
    }
    return keys.now();
  }

  private CountingKeys none() {
    return CountingKeys.ofStore(store.context()).strict();
  }

  /** One log that has noted the first key is enough: signatures lead from there to the others. */
  private CountingKeys noted() throws IOException {
    for (Log log : store.whole(store.permittedLogs())) {
      Optional<Link> tip = log.horizon().chain().permittedTip();
      if (tip.isPresent() && tip.get().record().trustedKeys() > 0) {
        return new CountingKeys(store.context(), tip.map(Link::record)).strict();
      }
    }
    return none();
  }
}
