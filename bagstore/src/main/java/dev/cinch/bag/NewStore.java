package dev.cinch.bag;

import static java.util.Objects.requireNonNullElse;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.KeyFile;
import dev.cinch.bag.format.StoreIdentity;
import dev.cinch.bag.fs.Fresh;
import dev.cinch.bag.fs.FsClock;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Numbered;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.MemoryStore;
import dev.cinch.bag.storage.Storage;
import dev.cinch.bag.storage.posix.PosixStore;
import dev.cinch.bag.store.KeyRefusedException;
import dev.cinch.lease.Id;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.TrustedKeys;
import java.io.IOException;
import java.net.URI;
import java.nio.file.AccessDeniedException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** Makes a directory a store. */
@CheckReturnValue
final class NewStore {
  static final String LOST_SETTINGS =
      " holds logs and has lost its store.json: restore that from a backup, or get the messages out"
          + " with salvage";

  static final String HALF_DESTROYED =
      " is being deleted, or half of it was: cinch destroy goes on with that";

  private static final Map<URI, MemoryStore> IN_MEMORY = new ConcurrentHashMap<>();

  private NewStore() {}

  static Store make(
      Path root,
      StoreSettings settings,
      Store.Environment environment,
      Store.@Nullable KeySource first)
      throws IOException {
    requireRight(settings.problems());
    StoreFs fs = environment.fs(root, settings.group());
    var layout = new StoreLayout(root);
    var fresh = new Fresh(fs, environment.random(), null);
    boolean made = fresh.ensureDirectory(root, settings.directoryMode());
    List<String> names = fs.list(root);
    if (names.contains(StoreLayout.SETTINGS)) {
      throw new StoreExistsException(root + " is a store already; nothing was changed");
    }
    if (!made && !ours(names, layout)) {
      throw new StoreExistsException(
          root + " holds other files (" + names.get(0) + "…); name a new or an empty directory");
    }
    if (holdsLogs(fs, layout)) {
      throw new StoreExistsException(root + LOST_SETTINGS);
    }
    SigningKey key = first == null ? null : given(first, fs, made ? root : null);
    for (Name name : layout.directories()) {
      Path directory = fs.path(name);
      boolean unused = fresh.ensureDirectory(directory, settings.directoryMode());
      fs.forceDirectory(directory); // what was there before may be anything (rule N7)
    }
    // What stands in there is forced by whoever makes it, and these names by nobody else. Before
    // the settings: where those are, nobody makes the rest again.
    var clock = new FsClock(fs, fresh, fs.path(layout.clock()), settings.directoryMode());
    var storage = new PosixStore(fs, fresh, clock, layout, settings, environment.time());
    FirstKey pinned = FirstKey.publish(storage, layout, key, environment.random());
    fs.forceDirectory(fs.path(layout.service()));
    fs.forceDirectory(root);
    Path above = root.toAbsolutePath().getParent();
    if (above != null) {
      try {
        fs.forceDirectory(above); // also if it was there: nobody else may have
      } catch (AccessDeniedException e) {
        if (made) {
          throw e;
        }
      }
    }
    var mine = new StoreIdentity(pinned.store(), clock.now(), settings, pinned.pin());
    fresh.publish(
        fs.path(layout.settings()), mine.encode(), settings.fileMode()); // last: now it is a store
    Store store = Store.open(root, environment);
    if (!store.context().identity().equals(mine)) {
      pinned.withdraw(storage, layout, store.context().identity().id());
      throw new StoreExistsException(root + " was made a store by somebody else just now");
    }
    return store;
  }

  /**
   * Makes a store in the memory of this process.
   *
   * @throws StoreExistsException if there is one of that name
   */
  static void makeInMemory(
      URI where,
      StoreSettings settings,
      Store.Environment environment,
      Store.@Nullable KeySource first)
      throws IOException {
    requireRight(settings.problems());
    SigningKey key = first == null ? null : first.get();
    MemoryStore made = inMemory(where, settings, environment, key);
    if (IN_MEMORY.putIfAbsent(where, made) != null) {
      throw new StoreExistsException(where + " is a store already; nothing was changed");
    }
  }

  private static MemoryStore inMemory(
      URI where, StoreSettings settings, Store.Environment environment, @Nullable SigningKey key)
      throws IOException {
    long now = environment.time().wallNanos();
    Id id = Id.random(environment.random());
    String pin = key == null ? "" : TrustedKeys.of(key.publicKey()).digest();
    var identity = new StoreIdentity(id, now, settings, pin);
    StoreLayout layout = layout(where);
    var made = new MemoryStore(layout, identity, environment.time());
    if (key != null) {
      boolean unused =
          made.publish(layout.keys().resolve(Numbered.name(1)), KeyFile.first(id, key).encode());
    }
    return made;
  }

  private static StoreLayout layout(URI where) {
    return new StoreLayout(new Name(where.toString()));
  }

  /** Opens a store in the memory of this process; makes it if there is none. */
  static Store.Opened inMemory(URI where, Store.Environment environment) throws IOException {
    MemoryStore found = IN_MEMORY.get(where);
    if (found == null) {
      MemoryStore made = inMemory(where, StoreSettings.DEFAULT, environment, null);
      found = requireNonNullElse(IN_MEMORY.putIfAbsent(where, made), made);
    }
    return new Store.Opened(found.at(environment.time()), layout(where), found.identity());
  }

  static void requireRight(List<String> problems) {
    if (!problems.isEmpty()) {
      throw new IllegalArgumentException(String.join("; ", problems));
    }
  }

  private static SigningKey given(Store.KeySource source, StoreFs fs, @Nullable Path made)
      throws IOException {
    try {
      return source.get();
    } catch (IOException e) {
      if (made != null) {
        fs.rmdir(made); // nothing stands in it yet
      }
      throw e;
    }
  }

  /** A new identity would make everything in them another store's. */
  static boolean holdsLogs(StoreFs fs, StoreLayout layout) throws IOException {
    try {
      return !fs.list(fs.path(layout.logs())).stream().allMatch(Name::isTemporary);
    } catch (NoSuchFileException | NotDirectoryException e) {
      return false;
    }
  }

  static boolean isHalfDestroyed(StoreFs fs, StoreLayout layout) throws IOException {
    return isThere(fs, layout.destroyed());
  }

  static boolean isUnfinishedBackup(StoreFs fs, StoreLayout layout) throws IOException {
    return isThere(fs, layout.nextSettings());
  }

  private static boolean isThere(StoreFs fs, Name file) throws IOException {
    try {
      return fs.list(fs.path(file.parent())).contains(file.last());
    } catch (NoSuchFileException | NotDirectoryException e) {
      return false;
    }
  }

  private static boolean ours(List<String> names, StoreLayout layout) {
    List<String> expected =
        layout.directories().stream()
            .filter(d -> d.parent().equals(layout.root()))
            .map(Name::last)
            .toList();
    return names.stream().allMatch(n -> expected.contains(n) || Name.isTemporary(n));
  }

  /**
   * The first key of a store that is being made. It is published before {@code store.json}, which
   * pins it: where that is, the key is too.
   *
   * @param store id that the key was signed for; the store's. A new one without a key
   * @param pin SHA-256 of the key, in hexadecimal; empty without a key
   */
  record FirstKey(Id store, String pin) {
    /**
     * Publishes a key unless an earlier attempt did, which then decided the store's id.
     *
     * @param key null: none, as long as there is no file of one
     * @throws KeyRefusedException if there is a file that is not of this key
     */
    static FirstKey publish(
        Storage storage, StoreLayout layout, @Nullable SigningKey key, RandomGenerator random)
        throws IOException {
      Name file = file(layout);
      if (key == null) {
        if (storage.list(layout.keys(), Freshness.CERTAIN).contains(file.last())) {
          throw another(file);
        }
        return new FirstKey(Id.random(random), "");
      }
      boolean unused = storage.publish(file, KeyFile.first(Id.random(random), key).encode());
      KeyFile there = read(storage, file);
      Id store = there.endorsement().store();
      if (!there.equals(KeyFile.first(store, key))) {
        throw another(file);
      }
      return new FirstKey(store, TrustedKeys.of(key.publicKey()).digest());
    }

    private static Name file(StoreLayout layout) {
      return layout.keys().resolve(Numbered.name(1));
    }

    private static KeyFile read(Storage storage, Name file) throws IOException {
      return storage.read(
          file, KeyFile.MAX_BYTES, Freshness.CERTAIN, bytes -> KeyFile.decode(bytes, file));
    }

    private static KeyRefusedException another(Name file) {
      return new KeyRefusedException(
          file
              + " holds a key that an earlier init left, which was cut short: name that key's file with --key, or remove it");
    }

    /** Where somebody else made the store meanwhile: a key for no store is in the way there. */
    void withdraw(Storage storage, StoreLayout layout, Id made) throws IOException {
      if (pin.isEmpty() || store.equals(made)) {
        return;
      }
      try {
        if (read(storage, file(layout)).endorsement().store().equals(store)) {
          storage.removeQuietly(file(layout));
        }
      } catch (NoSuchFileException e) {
        // Nothing is in the way.
      }
    }
  }
}
