package dev.cinch.bag;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.NewStore.FirstKey;
import dev.cinch.bag.Store.Opened;
import dev.cinch.bag.format.StoreIdentity;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.Storage;
import dev.cinch.bag.storage.object.BrokenPromiseException;
import dev.cinch.bag.storage.object.ObjectAddress;
import dev.cinch.bag.storage.object.ObjectProbe;
import dev.cinch.bag.storage.object.ObjectStore;
import dev.cinch.bag.storage.object.Objects;
import dev.cinch.bag.storage.object.s3.S3Objects;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Makes the keys of an object store that begin with a prefix a store, and opens such a store.
 *
 * @param root as messages for the user show it
 * @param prefix of the store's keys; empty, or with a slash at its end
 */
@CheckReturnValue
record NewObjectStore(Objects objects, Name root, String prefix, Store.Environment environment) {
  /**
   * As a command line names it.
   *
   * @param where as {@link ObjectAddress#parse} takes it
   */
  static NewObjectStore at(String where, Store.Environment environment) throws IOException {
    ObjectAddress address = ObjectAddress.parse(where);
    S3Objects objects = S3Objects.at(address, environment.time());
    return new NewObjectStore(objects, address.root(), address.prefix(), environment);
  }

  StoreLayout layout() {
    return new StoreLayout(root);
  }

  ObjectStore storage() {
    return new ObjectStore(objects, layout(), prefix, environment.time(), environment.random());
  }

  /** Opens one. */
  Opened open() throws IOException {
    Storage storage = storage();
    try {
      return new Opened(storage, layout(), identity(storage));
    } catch (NoSuchFileException e) {
      if (storage.isThere(layout().destroyed(), Freshness.CERTAIN)) {
        throw new NotAStoreException(root + NewStore.HALF_DESTROYED);
      }
      boolean lost = !storage.list(layout().logs(), Freshness.CERTAIN).isEmpty();
      throw new NotAStoreException(
          lost
              ? root + NewStore.LOST_SETTINGS
              : root + " is not a Cinch store: it has no store.json; make one with init",
          lost);
    }
  }

  private StoreIdentity identity(Storage storage) throws IOException {
    Name settings = layout().settings();
    return storage.read(
        settings,
        StoreIdentity.MAX_BYTES,
        Freshness.CERTAIN,
        bytes -> StoreIdentity.decode(bytes, settings));
  }

  /**
   * Makes one. Its first key stands there before the settings that pin it, and those come last.
   *
   * @throws IllegalArgumentException if the settings cannot work; the message says why
   * @throws BrokenPromiseException if the server lets several writers make the same object
   * @throws StoreExistsException if there is one, or something else with such keys
   */
  void make(StoreSettings settings, Store.@Nullable KeySource first) throws IOException {
    NewStore.requireRight(settings.problemsOfObjects());
    Storage storage = storage();
    List<String> names = // another one may be trying out the server
        storage.list(root, Freshness.CERTAIN).stream().filter(n -> !Name.isTemporary(n)).toList();
    if (names.contains(StoreLayout.SETTINGS)) {
      throw new StoreExistsException(root + " is a store already; nothing was changed");
    }
    Name keys = layout().keys();
    if (!names.stream().allMatch(keys.last()::equals)) {
      throw new StoreExistsException(
          names.contains(layout().logs().last())
              ? root + NewStore.LOST_SETTINGS
              : root + " holds other objects (" + names.get(0) + "…); name a new prefix");
    }
    try (var probe =
        new ObjectProbe(objects, root, prefix, environment.time(), environment.random())) {
      probe.race(ObjectProbe.ROUNDS);
    } catch (BrokenPromiseException e) {
      throw e.at(root);
    }
    var pinned =
        FirstKey.publish(
            storage, layout(), first == null ? null : first.get(), environment.random());
    var mine =
        new StoreIdentity(pinned.store(), environment.time().wallNanos(), settings, pinned.pin());
    boolean unused = storage.publish(layout().settings(), mine.encode());
    if (!identity(storage).equals(mine)) {
      throw new StoreExistsException(root + " was made a store by somebody else just now");
    }
  }
}
