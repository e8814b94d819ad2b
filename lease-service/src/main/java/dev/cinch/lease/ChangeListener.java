package dev.cinch.lease;

import com.google.errorprone.annotations.CheckReturnValue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Supplier;

/** Told of changes of leases by a service that has them in its memory. Thread-safe. */
@CheckReturnValue
@FunctionalInterface
public interface ChangeListener {
  /**
   * A lease was granted, prolonged, or ended by somebody; not that its time is over. Called while
   * the change is made, for each name in the order of its changes: it must not wait, nor ask the
   * service, which may answer with the state before.
   *
   * @param free whether others may be granted the name from now on
   */
  void changed(String name, boolean free);

  /** Whether {@link #became} is to be called for changes of a name; must not wait. */
  default boolean watches(String name) {
    return false;
  }

  /**
   * A lease was granted, upgraded, released, revoked, or noticed to have expired; not that it was
   * prolonged. Called likewise.
   */
  default void became(LeaseInfo lease) {}

  /** Changes may have been made of which nothing was told; must not wait. */
  default void lost() {}

  /** Those who are told of changes of leases. Thread-safe. */
  final class Listeners {
    private final CopyOnWriteArrayList<ChangeListener> all = new CopyOnWriteArrayList<>();

    /** Has one more told, from now on. */
    public void add(ChangeListener listener) {
      all.add(listener);
    }

    /** As {@link ChangeListener#changed}. */
    public void changed(String name, boolean free) {
      for (ChangeListener listener : all) {
        listener.changed(name, free);
      }
    }

    /** As {@link ChangeListener#lost}. */
    public void lost() {
      for (ChangeListener listener : all) {
        listener.lost();
      }
    }

    /** Whether anybody wants to know more of a name. */
    public boolean isWatched(String name) {
      for (ChangeListener listener : all) {
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
      for (ChangeListener listener : all) {
        if (listener.watches(name)) {
          listener.became(lease.get());
        }
      }
    }
  }
}
