package dev.cinch.lease;

import com.google.errorprone.annotations.CheckReturnValue;
import java.util.concurrent.CopyOnWriteArrayList;

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
  }
}
