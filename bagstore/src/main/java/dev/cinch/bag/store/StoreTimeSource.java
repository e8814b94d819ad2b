package dev.cinch.bag.store;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.model.InWords;
import dev.cinch.lease.TimeBound;
import dev.cinch.lease.time.BoundSource;
import java.io.IOException;

/**
 * The clock of a store's filesystem (section 5), which everybody who uses the store goes by: it is
 * taken to be right.
 */
@CheckReturnValue
public final class StoreTimeSource implements BoundSource {
  /** Kernels stamp files with a clock that ticks a hundred times a second, at least. */
  private static final long TICK = 20_000_000L;

  private static final long SECOND = 1_000_000_000L;

  private final StoreContext store;

  public StoreTimeSource(StoreContext store) {
    this.store = store;
  }

  @Override
  public String name() {
    return "store";
  }

  @Override
  public Measurement measure() throws IOException {
    long before = store.time().monotonicNanos();
    long now;
    try {
      now = store.now();
    } catch (IOException e) {
      throw new IOException("the store can't be asked: " + InWords.line(e), e);
    }
    long monotonic = store.time().monotonicNanos();
    // A filesystem with change times in whole seconds rounds down.
    long grain = now % SECOND == 0 ? SECOND : TICK;
    long latest = now + grain + (monotonic - before);
    return new Measurement(
        new TimeBound(now, latest, TimeBound.Kind.MEASURED), monotonic, store.time().wallNanos());
  }
}
