package dev.cinch.bag.store;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.lease.witness.TrustedKeys;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/**
 * Which keys the next record of a log says apply (rule F3).
 *
 * @param keys how many, from the first
 * @param digest of these, as they were read; empty if one that a record of version 1 counted is
 *     lost, where no message depends on it
 */
@CheckReturnValue
public record KeyCount(int keys, String digest) {
  /**
   * Counts and reads the keys there are now, past every cache.
   *
   * @param before the last record; the next one counts no fewer
   * @throws dev.cinch.bag.format.DamagedException if messages depend on keys and one that is
   *     counted is missing or is none
   */
  public static KeyCount now(StoreContext store, Optional<HorizonRecord> before)
      throws IOException {
    List<Long> numbers = TrustedKeyFiles.numbers(store.fresh().list(store.layout().keys()));
    // After the listing: a record that names a key may not outlive it, whoever added that.
    store.fs().forceDirectory(store.layout().keys());
    int least = before.map(HorizonRecord::trustedKeys).orElse(0);
    int listed = 0;
    while (listed < numbers.size() && numbers.get(listed) == listed + 1) {
      listed++;
    }
    TrustedKeys keys = TrustedKeyFiles.forSettled(store, Math.max(listed, least));
    if (keys.size() >= least) {
      return new KeyCount(keys.size(), keys.digest());
    }
    // Nobody is stopped here, and it may be found again.
    return new KeyCount(least, before.map(HorizonRecord::keysDigest).orElse(""));
  }
}
