package dev.cinch.sim;

import dev.cinch.bag.Store;
import dev.cinch.bag.format.KeyFile;
import dev.cinch.bag.format.StoreIdentity;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Numbered;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.storage.Storage;
import dev.cinch.bag.storage.object.FakeObjects;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.lease.Id;
import dev.cinch.lease.sim.Lanes;
import dev.cinch.lease.sim.Rng;
import dev.cinch.lease.sim.SimClock;
import dev.cinch.lease.time.TimeSource;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.TrustedKeys;
import dev.cinch.lease.witness.WitnessSigner;
import dev.cinch.sim.fs.ClientCache;
import dev.cinch.sim.fs.ClientFs;
import dev.cinch.sim.fs.Faults;
import dev.cinch.sim.fs.FsKind;
import dev.cinch.sim.fs.Gate;
import dev.cinch.sim.fs.Op;
import dev.cinch.sim.fs.ServerTree;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What simulations on one thread can use one after another: threads for their processes, images of
 * new stores, a signing key.
 */
final class Workbench implements AutoCloseable {
  final Lanes<SimProcess> lanes = new Lanes<>();
  static final SigningKey KEY = SigningKey.ofSeed(new byte[32]);

  final WitnessSigner signer = new WitnessSigner(KEY);

  /** Whether services keep their leases in a register, and not in their memory. */
  final boolean register;

  Workbench() {
    this(Boolean.getBoolean("cinch.sim.register"));
  }

  Workbench(boolean register) {
    this.register = register;
  }

  private final Map<ImageKey, ServerTree> images = new HashMap<>();

  private record ImageKey(StoreSettings settings, int logs) {}

  /** A new store on a server of its own. */
  ServerTree image(Plan plan) {
    return images.computeIfAbsent(new ImageKey(plan.settings(), plan.firstLogs()), this::make);
  }

  private final Map<ImageKey, FakeObjects> objects = new HashMap<>();

  /** The same in an object store. */
  FakeObjects objects(Plan plan) {
    return objects.computeIfAbsent(
        new ImageKey(plan.settings(), plan.firstLogs()), Workbench::makeOfObjects);
  }

  private static FakeObjects makeOfObjects(ImageKey key) {
    try {
      long[] now = {0};
      var time = new Still(now);
      var made = new FakeObjects(time);
      var random = new Rng(9);
      Storage storage = SimStore.storage(made, time, random);
      Id id = Id.random(random);
      String pin = TrustedKeys.of(KEY.publicKey()).digest();
      var identity = new StoreIdentity(id, time.wallNanos(), key.settings(), pin);
      StoreLayout layout = SimStore.LAYOUT;
      boolean unused =
          storage.publish(layout.keys().resolve(Numbered.name(1)), KeyFile.first(id, KEY).encode())
              && storage.publish(layout.settings(), identity.encode());
      var first = new MachineName("first");
      makeLogs(Store.of(new StoreContext(storage, layout, identity, first, time, random)), key);
      return made;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void makeLogs(Store store, ImageKey key) throws IOException {
    for (int i = 0; i < key.logs(); i++) {
      var made = store.createLog(log(i));
      if (!made.name().equals(log(i))) {
        throw new IllegalStateException("another log");
      }
    }
  }

  static LogName log(int index) {
    return new LogName("log-" + index);
  }

  private ServerTree make(ImageKey key) {
    try {
      long[] now = {0};
      var server = new ServerTree(FsKind.LOCAL, 02, 1, () -> SimClock.EPOCH + now[0], World.ROOT);
      var fs =
          new ClientFs(
              server,
              new ClientCache(),
              new Faults(1, Set.of(), List.of()),
              new Open(now),
              World.FIRST_USER,
              (nanos, what) -> {});
      var environment =
          new Store.Environment(fs, new MachineName("first"), new Still(now), new Rng(9));
      // With the key, as is recommended: without, a session looks once which key a log has noted.
      Store store = Store.init(World.ROOT, key.settings(), environment, KEY);
      makeLogs(store, key);
      server.commitAll();
      return server;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private record Still(long[] now) implements TimeSource {
    @Override
    public long wallNanos() {
      return SimClock.EPOCH + now[0];
    }

    @Override
    public long monotonicNanos() {
      return now[0];
    }

    @Override
    public void sleepNanos(long nanos) {
      now[0] += nanos;
    }
  }

  /** Lets everything pass. */
  static final class Open implements Gate {
    private final long[] now;

    /**
     * @param now the time, which somebody else may change
     */
    Open(long[] now) {
      this.now = now;
    }

    @Override
    public void enter(Op op, Path path) {}

    @Override
    public void leave(Op op, Path path) {}

    @Override
    public void failed(Op op, Path path, Exception why) {}

    @Override
    public void opened(Killable file) {}

    @Override
    public void closed(Killable file) {}

    @Override
    public long now() {
      return now[0];
    }
  }

  @Override
  public void close() {
    lanes.close();
  }
}
