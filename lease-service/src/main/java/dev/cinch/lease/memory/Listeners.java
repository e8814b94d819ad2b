package dev.cinch.lease.memory;

import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseListener;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Supplier;

/** Those who are told of changes of leases. Thread-safe. */
final class Listeners {
  private final CopyOnWriteArrayList<LeaseListener> all = new CopyOnWriteArrayList<>();

  void add(LeaseListener listener) {
    all.add(listener);
  }

  void changed(String name, boolean free) {
    for (LeaseListener listener : all) {
      listener.changed(name, free);
    }
  }

  /**
   * Tells those who want to know more of a name.
   *
   * @param lease made only for them
   */
  void became(String name, Supplier<LeaseInfo> lease) {
    for (LeaseListener listener : all) {
      if (listener.watches(name)) {
        listener.became(lease.get());
      }
    }
  }
}
