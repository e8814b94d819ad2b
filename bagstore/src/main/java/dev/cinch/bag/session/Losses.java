package dev.cinch.bag.session;

import com.google.errorprone.annotations.CheckReturnValue;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Tells listeners of leases that were lost, once each. Thread-safe. */
@CheckReturnValue
final class Losses {
  private static final Logger LOG = LoggerFactory.getLogger(Losses.class);

  private final List<Consumer<String>> listeners = new CopyOnWriteArrayList<>();
  private final Queue<String> untold = new ConcurrentLinkedQueue<>();

  void listen(Consumer<String> listener) {
    listeners.add(listener);
  }

  /** To be told later. */
  void add(String why) {
    untold.add(why);
  }

  /** A listener that fails keeps nothing from the others. */
  void tell() {
    for (String why = untold.poll(); why != null; why = untold.poll()) {
      for (Consumer<String> listener : listeners) {
        try {
          listener.accept(why);
        } catch (RuntimeException e) {
          LOG.error("a listener failed that was told of the loss of a lease ({})", why, e);
        }
      }
    }
  }
}
