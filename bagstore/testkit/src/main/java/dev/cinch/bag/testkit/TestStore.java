package dev.cinch.bag.testkit;

import com.google.common.jimfs.Configuration;
import com.google.common.jimfs.Jimfs;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.registry.StoreInstances;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.instance.ServiceInstance;
import dev.cinch.lease.time.ManualTime;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.io.IOException;
import java.nio.file.FileSystem;
import java.nio.file.Path;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * A store in memory with a clock that the test moves, and a lease service of it. Nothing in it
 * waits: what sleeps moves the clock. Each process that a test plays opens the store anew.
 *
 * <p>Modes are kept, and not enforced: every process is the same user. Thread-safe.
 */
@CheckReturnValue
public final class TestStore implements AutoCloseable {
  private final FileSystem disk;
  private final ManualTime clock = ManualTime.ticking();
  private final SigningKey key = SigningKey.generate();
  private final Store store;
  private @Nullable LeaseService leases;

  /** One with the usual settings. */
  public TestStore() throws IOException {
    this(StoreSettings.DEFAULT);
  }

  /**
   * One with other settings.
   *
   * @throws IllegalArgumentException if they cannot work; the message says why
   */
  public TestStore(StoreSettings settings) throws IOException {
    var posix =
        Configuration.unix().toBuilder()
            .setAttributeViews("basic", "owner", "posix")
            .setWorkingDirectory("/")
            .build();
    disk = Jimfs.newFileSystem(posix);
    store = Store.init(root(), settings, process("test"), key);
  }

  /** The store, as one process has it open. */
  public Store store() {
    return store;
  }

  /** The store, as another process has it open. */
  public Store open(String machine) throws IOException {
    return Store.open(root(), process(machine));
  }

  /** The directory, on a filesystem in memory. */
  public Path root() {
    return disk.getPath("/store");
  }

  /** What a process brings along that opens {@link #root} by itself. */
  public Store.Environment process(String machine) {
    return Store.Environment.of(new MachineName(machine), clock);
  }

  /** The clock of all that is here; it stands still unless the test moves it or something waits. */
  public ManualTime clock() {
    return clock;
  }

  /** The lease service of this store, which grants at once. */
  public synchronized LeaseService leases() throws IOException {
    LeaseService service = leases;
    if (service == null) {
      service =
          ServiceInstance.builder(new WitnessSigner(key), clock)
              .storeInCallers()
              .registry(new StoreInstances(store.context(), key))
              .longestLeaseMs(store.settings().longestLeaseMs())
              .start();
      leases = service;
    }
    return service;
  }

  /**
   * Settles all that was appended so far: moves the clock past the bucket and the grace period, and
   * closes. Readers find it from now on.
   *
   * <p>Leases last by the same clock. A session renews them within 50 ms of real time, so they
   * should last longer than what a test moves the clock by in a row.
   */
  public void settle(Log log) throws IOException, InterruptedException {
    // No timestamp is further ahead of the clock.
    long highest = clock.wallNanos() + store.settings().timestampDistanceNanos();
    long to = Bucket.ceiling(highest + 1, store.settings().bucketWidthNanos());
    log.horizon().await(to, OptionalLong.of(clock.wallNanos()), wait -> {});
  }

  /** Lets go of the memory. */
  @Override
  public void close() throws IOException {
    disk.close();
  }
}
