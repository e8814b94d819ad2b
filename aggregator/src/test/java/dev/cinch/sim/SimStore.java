package dev.cinch.sim;

import dev.cinch.bag.Store;
import dev.cinch.bag.audit.StoreVerifier;
import dev.cinch.bag.audit.VerifyListener;
import dev.cinch.bag.format.StoreIdentity;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.Storage;
import dev.cinch.bag.storage.object.ObjectStore;
import dev.cinch.bag.storage.object.Objects;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.lease.time.TimeSource;
import dev.cinch.sim.fs.ClientFs;
import dev.cinch.sim.fs.Gate;
import dev.cinch.sim.fs.SimObjects;
import java.io.IOException;
import java.util.random.RandomGenerator;

/**
 * The store of a world as one process finds it: in the filesystem of its machine, or in an object
 * store.
 */
final class SimStore {
  /** Of a store in an object store; no path. */
  static final StoreLayout LAYOUT = new StoreLayout(new Name("s3://sim/s"));

  private static final String PREFIX = "s/";

  /** Less than many locks have, and more than small ones. */
  private static final int PART_BYTES = 1000;

  private final World world;
  private final SimMachine machine;
  private final Gate gate;
  private final TimeSource time;
  private final RandomGenerator random;
  private final Store.Environment environment;

  SimStore(World world, SimMachine machine, Gate gate, TimeSource time, RandomGenerator random) {
    this.world = world;
    this.machine = machine;
    this.gate = gate;
    this.time = time;
    this.random = random;
    var fs =
        new ClientFs(
            world.server, machine.cache, world.faults, gate, machine.user, world.scheduler);
    this.environment = new Store.Environment(fs, machine.name, time, random);
  }

  /** Of a filesystem. */
  Store.Environment environment() {
    return environment;
  }

  Store open() throws IOException {
    if (!world.plan.ofObjects()) {
      return Store.open(World.ROOT, environment);
    }
    Storage storage =
        storage(new SimObjects(world.objects, world.faults, gate, world.scheduler), time, random);
    StoreIdentity identity =
        storage.read(
            LAYOUT.settings(),
            StoreIdentity.MAX_BYTES,
            Freshness.CERTAIN,
            bytes -> StoreIdentity.decode(bytes, LAYOUT.settings()));
    return Store.of(new StoreContext(storage, LAYOUT, identity, machine.name, time, random));
  }

  static Storage storage(Objects objects, TimeSource time, RandomGenerator random) {
    return new ObjectStore(objects, LAYOUT, PREFIX, time, random, PART_BYTES);
  }

  void verify(VerifyListener listener) throws IOException {
    if (world.plan.ofObjects()) {
      StoreVerifier.verify(open(), listener);
    } else {
      StoreVerifier.verify(World.ROOT, environment, listener);
    }
  }
}
