package dev.cinch.lease.instance;

import dev.cinch.lease.Between;
import dev.cinch.lease.time.ManualTime;
import dev.cinch.lease.witness.WitnessSigner;
import java.io.IOException;

/** A store in memory for one instance of the service after the other. Thread-safe. */
public final class SharedStore {
  private final FakeRegistry.Store store = new FakeRegistry.Store();

  /** Starts the next instance. */
  public ServiceInstance start(ManualTime time) throws IOException {
    var registry = new FakeRegistry(store);
    InstanceRegistry guarded =
        Between.of(
            InstanceRegistry.class,
            call -> {
              synchronized (store) {
                return call.by(registry);
              }
            });
    return ServiceInstance.builder(new WitnessSigner(Rig.KEY), time)
        .storeInCallers()
        .registry(guarded)
        .start();
  }
}
