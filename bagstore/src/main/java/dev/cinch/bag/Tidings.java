package dev.cinch.bag;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.hold.LeaseListener;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What becomes of leases, for listeners, which are told of each once. Thread-safe. */
@CheckReturnValue
final class Tidings implements LeaseListener {
  private static final Logger LOG = LoggerFactory.getLogger(Tidings.class);

  private final List<LeaseListener> listeners = new CopyOnWriteArrayList<>();
  private final Queue<Consumer<LeaseListener>> untold = new ConcurrentLinkedQueue<>();
  private final BooleanSupplier later;

  /**
   * @param later whether the present thread must not tell, but calls {@link #tell} in a moment
   */
  Tidings(BooleanSupplier later) {
    this.later = later;
  }

  void listen(LeaseListener listener) {
    listeners.add(listener);
  }

  @Override
  public void atRisk(List<LeaseName> names, Duration left) {
    add(listener -> listener.atRisk(names, left));
  }

  @Override
  public void lost(List<LeaseName> names, String why) {
    add(listener -> listener.lost(names, why));
  }

  private void add(Consumer<LeaseListener> tiding) {
    untold.add(tiding);
    if (!later.getAsBoolean()) {
      tell();
    }
  }

  /** A listener that fails keeps nothing from the others. */
  void tell() {
    for (Consumer<LeaseListener> next = untold.poll(); next != null; next = untold.poll()) {
      for (LeaseListener listener : listeners) {
        try {
          next.accept(listener);
        } catch (RuntimeException e) {
          LOG.error("a listener failed that was told what became of a lease", e);
        }
      }
    }
  }
}
