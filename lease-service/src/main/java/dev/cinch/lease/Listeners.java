package dev.cinch.lease;

import com.google.errorprone.annotations.CheckReturnValue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Supplier;

/** Those who are told of changes of leases. Thread-safe. */
@CheckReturnValue
public final class Listeners {
  private final CopyOnWriteArrayList<LeaseListener> all = new CopyOnWriteArrayList<>();

  /** Has one more told, from now on. */
  public void add(LeaseListener listener) {
    all.add(listener);
  }

  /** As {@link LeaseListener#changed}. */
  public void changed(String name, boolean free) {
    for (LeaseListener listener : all) {
      listener.changed(name, free);
    }
  }

  /** As {@link LeaseListener#lost}. */
  public void lost() {
    for (LeaseListener listener : all) {
      listener.lost();
    }
  }

  /** Whether anybody wants to know more of a name. */
  public boolean isWatched(String name) {
    for (LeaseListener listener : all) {
      if (listener.watches(name)) {
        return true;
      }
    }
    return false;
  }

  /**
   * Tells those who want to know more of a name.
   *
   * @param lease made only for them
   */
  public void became(String name, Supplier<LeaseInfo> lease) {
    for (LeaseListener listener : all) {
      if (listener.watches(name)) {
        listener.became(lease.get());
      }
    }
  }
}
