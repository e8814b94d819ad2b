package dev.cinch.bag;

import dev.cinch.bag.audit.Finding;
import dev.cinch.bag.audit.StoreVerifier;
import dev.cinch.bag.format.StoreIdentity;
import dev.cinch.bag.fs.MemoryFs;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.storage.MemoryStore;
import dev.cinch.bag.storage.Storage;
import dev.cinch.bag.storage.object.FakeObjects;
import dev.cinch.bag.storage.object.ObjectStore;
import dev.cinch.bag.storage.object.Objects;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.lease.Id;
import dev.cinch.lease.time.ManualTime;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import java.util.function.UnaryOperator;

/** A store with one log, on a disk and a clock that the test owns; processes open it by view. */
public final class Rig {
  public static final LogName JOBS = new LogName("jobs");

  /** Users of the processes of a test; all of one group. */
  public static final int ALICE = 1001;

  public static final int BOB = 1002;

  public final ManualTime time = ManualTime.ticking();
  public final MemoryFs disk = new MemoryFs(time);
  public final Path root;
  private final Random random;
  private int machines;

  private Rig(Path root, long seed) {
    this.root = root;
    this.random = new Random(seed);
  }

  /** In memory, made by a superuser, on a disk where all so far is durable. */
  public static Rig memory(long seed) throws IOException {
    return memory(seed, StoreSettings.DEFAULT);
  }

  public static Rig memory(long seed, StoreSettings settings) throws IOException {
    var rig = new Rig(Path.of("/store"), seed);
    rig.make(rig.disk.view(ALICE), settings);
    rig.disk.forceAll();
    return rig;
  }

  /** In an object: less than most locks of tests have, so that they are in parts. */
  private static final int MOST_AT_ONCE = 300;

  private static final StoreLayout NO_DISK = new StoreLayout(Path.of("/store"));
  private static final StoreIdentity IDENTITY =
      new StoreIdentity(new Id(1, 2), 0, StoreSettings.DEFAULT, "");

  /** A store that is on no disk. */
  public static MemoryStore storage(TimeSource time) {
    return new MemoryStore(NO_DISK, IDENTITY, time);
  }

  /** The same of objects that are put, got, listed and deleted. */
  public static Storage objects(TimeSource time) {
    return objects(new FakeObjects(time), objects -> objects, time);
  }

  /** The same where requests go wrong on their way. */
  public static Storage objects(
      FakeObjects store, UnaryOperator<Objects> network, TimeSource time) {
    return objects(store, network, time, MOST_AT_ONCE);
  }

  /**
   * The same where the parts of what is large have another size.
   *
   * @param partBytes of each
   */
  public static Storage objects(
      FakeObjects store, UnaryOperator<Objects> network, TimeSource time, int partBytes) {
    boolean unused = store.put("s/store.json", ByteBuffer.wrap(IDENTITY.encode()));
    Objects objects = network.apply(store);
    return new ObjectStore(objects, NO_DISK, "s/", time, new Random(1), partBytes);
  }

  /** What a process opens of such a store. */
  public static Store open(Storage storage, TimeSource time, String machine) {
    return Store.of(
        new StoreContext(
            storage,
            NO_DISK,
            IDENTITY,
            new MachineName(machine),
            time,
            new Random(machine.hashCode())));
  }

  /** On another filesystem; see {@link dev.cinch.bag.fs.ClockedFs}. */
  public static Rig at(Path root, long seed) {
    return new Rig(root, seed);
  }

  public Log make(StoreFs fs, StoreSettings settings) throws IOException {
    return Store.init(root, settings, environment(fs, time)).createLog(JOBS);
  }

  public Store.Environment environment(StoreFs fs, TimeSource clock) {
    return new Store.Environment(
        fs, new MachineName("m" + machines++), clock, new Random(random.nextLong()));
  }

  /** What another process opens. */
  public Log open(StoreFs fs) throws IOException {
    return open(fs, time);
  }

  public Log open(StoreFs fs, TimeSource clock) throws IOException {
    return Store.open(root, environment(fs, clock)).log(JOBS);
  }

  /** What verify calls damage, looking through such a filesystem. */
  public List<Finding> damage(StoreFs fs) throws IOException {
    var found = new ArrayList<Finding>();
    StoreVerifier.verify(root, environment(fs, time), found::add);
    found.removeIf(f -> f.severity() != Finding.Severity.DAMAGE);
    return found;
  }

  /** Waits until everything so far can be settled, and settles it. */
  public void settle(Log log) throws IOException, InterruptedException {
    long width = log.context().bucketWidth();
    long to = Bucket.ceiling(time.wallNanos() + width, width);
    time.advanceNanos(2 * width + log.context().store().settings().graceNanos());
    log.horizon().advance(to, OptionalLong.of(time.wallNanos()));
  }
}
