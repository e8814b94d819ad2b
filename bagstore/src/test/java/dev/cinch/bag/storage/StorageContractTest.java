package dev.cinch.bag.storage;

import com.google.common.jimfs.Configuration;
import com.google.common.jimfs.Jimfs;
import dev.cinch.bag.Log;
import dev.cinch.bag.Rig;
import dev.cinch.bag.Store;
import dev.cinch.bag.fs.CorruptCacheFs;
import dev.cinch.bag.fs.DelegatedFs;
import dev.cinch.bag.fs.FilterFs;
import dev.cinch.bag.fs.FuseFs;
import dev.cinch.bag.fs.NegativeFs;
import dev.cinch.bag.fs.PosixFs;
import dev.cinch.bag.fs.StaleListFs;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.lease.time.ManualTime;
import dev.cinch.lease.time.SystemTime;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.io.TempDir;

/** Every storage, and every kind of client of a network filesystem. */
@SuppressWarnings("NullAway.Init")
class StorageContractTest {
  @Nested
  class InMemory extends StorageContract {
    private final ManualTime time = ManualTime.ticking();
    private final MemoryStore storage = Rig.storage(time);

    @Override
    Log client() throws IOException {
      return Rig.open(storage, time, "m").createLog(Rig.JOBS);
    }
  }

  @Nested
  class OfObjects extends StorageContract {
    private final ManualTime time = ManualTime.ticking();
    private final Storage storage = Rig.objects(time);

    @Override
    Log client() throws IOException {
      return Rig.open(storage, time, "m").createLog(Rig.JOBS);
    }
  }

  /** On no filesystem of one kernel. */
  private static final class Shared extends FilterFs {
    Shared(StoreFs inner) {
      super(inner);
    }

    @Override
    public boolean isLocal(Path file) {
      return false;
    }
  }

  /** A simulated disk, seen by clients with caches of one kind. */
  abstract static class OnDisk extends StorageContract {
    final Rig rig;
    private final UnaryOperator<StoreFs> caches;

    OnDisk(UnaryOperator<StoreFs> caches) {
      this(memory(), caches);
    }

    private OnDisk(Rig rig, UnaryOperator<StoreFs> caches) {
      this.rig = rig;
      this.caches = caches;
    }

    private static Rig memory() {
      try {
        return Rig.memory(1);
      } catch (IOException e) {
        throw new IllegalStateException(e);
      }
    }

    @Override
    Log client() throws IOException {
      return rig.open(caches.apply(rig.disk.view(Rig.ALICE)));
    }
  }

  @Nested
  class Plain extends OnDisk {
    Plain() {
      super(fs -> fs);
    }
  }

  @Nested
  class StaleListings extends OnDisk {
    StaleListings() {
      super(fs -> new Shared(new StaleListFs(fs)));
    }
  }

  @Nested
  class NegativeEntries extends OnDisk {
    NegativeEntries() {
      super(fs -> new Shared(new NegativeFs(fs)));
    }
  }

  @Nested
  class Delegations extends OnDisk {
    Delegations() {
      super(DelegatedFs::new);
    }
  }

  /** What is read past every cache is right where the cache is wrong (rule N5). */
  @Nested
  class WrongRecords extends OnDisk {
    WrongRecords() {
      super(fs -> new CorruptCacheFs(fs, path -> path.toString().contains("/records/"), 0));
    }
  }

  @Nested
  class Fuse extends OnDisk {
    Fuse() {
      super(fs -> new FuseFs(fs, ManualTime.ticking()));
    }
  }

  /** A filesystem of another provider, as programs have in their tests. */
  @Nested
  class OnJimfs extends StorageContract {
    private final ManualTime time = ManualTime.ticking();
    private final Path root =
        Jimfs.newFileSystem(
                Configuration.unix().toBuilder()
                    .setAttributeViews("basic", "owner", "posix")
                    .setWorkingDirectory("/")
                    .build())
            .getPath("/store");

    @Override
    Log client() throws IOException {
      var here = Store.Environment.of(new MachineName("m"), time);
      return Files.exists(root)
          ? Store.open(root, here).log(Rig.JOBS)
          : Store.init(root, StoreSettings.DEFAULT, here).createLog(Rig.JOBS);
    }
  }

  @Nested
  class RealDirectory extends StorageContract {
    private final StoreFs fs = new PosixFs(null, null);
    @TempDir Path directory;
    private Rig rig;

    private Store.Environment environment() {
      return rig.environment(fs, SystemTime.INSTANCE);
    }

    @Override
    Log client() throws IOException {
      if (rig == null) {
        rig = Rig.at(directory.resolve("store"), 1);
        Log unused = Store.init(rig.root, StoreSettings.DEFAULT, environment()).createLog(Rig.JOBS);
      }
      return Store.open(rig.root, environment()).log(Rig.JOBS);
    }
  }
}
