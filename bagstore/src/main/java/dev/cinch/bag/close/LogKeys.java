package dev.cinch.bag.close;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.store.CountingKeys;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.util.Optional;

/** Which keys count for a log: what its chain says of them (rule F3). */
@CheckReturnValue
public final class LogKeys {
  private LogKeys() {}

  /**
   * @param tip the last record, as the caller found it; empty if there is none
   */
  public static CountingKeys of(LogContext log, Optional<Link> tip) {
    return new CountingKeys(
        log.store(), tip.map(Link::record), () -> countedWithoutDigest(log, tip));
  }

  /**
   * How many keys the records of version 1 count. These come first in a chain. Where they are
   * retired, the record that stays with the checkpoint covers what they counted.
   */
  private static int countedWithoutDigest(LogContext log, Optional<Link> tip) throws IOException {
    if (tip.isEmpty()) {
      return 0;
    }
    HorizonRecord last = tip.get().record();
    if (last.version() == 1) {
      return Integer.MAX_VALUE; // nobody promised anything there
    }
    var chain = new HorizonChain(log);
    while (true) {
      Optional<Checkpoint> checkpoint = chain.checkpoint();
      try {
        return search(chain, checkpoint.map(Checkpoint::number).orElse(1L), last);
      } catch (IOException e) {
        if (chain.checkpoint().equals(checkpoint)) {
          throw e;
        }
        // It was retired meanwhile.
      }
    }
  }

  private static int search(HorizonChain chain, long first, HorizonRecord last) throws IOException {
    if (first >= last.number()) {
      return last.trustedKeys();
    }
    HorizonRecord found = chain.read(first).record();
    long low = first + 1;
    long high = last.number() - 1;
    while (low <= high && found.version() == 1) {
      long middle = (low + high) >>> 1;
      HorizonRecord record = chain.read(middle).record();
      if (record.version() == 1) {
        found = record;
        low = middle + 1;
      } else {
        high = middle - 1;
      }
    }
    // A chain that begins with version 2 counted its first key at its first record.
    return first == 1 && found.version() > 1 ? 1 : found.trustedKeys();
  }
}
