package dev.cinch.bag.registry;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.layout.StoreLayout;
import dev.cinch.bag.storage.LogStorage.Freshness;
import dev.cinch.bag.storage.StoreStorage.Draft;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.lease.Revocation;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/** Revocations of leases as files in the store (rule L15). Not thread-safe. */
@CheckReturnValue
public final class StoreRevocations {
  private StoreRevocations() {}

  /**
   * Keeps one, forced with its name.
   *
   * @return the one that stands: the first of this lease at this instance
   */
  static Revocation keep(StoreContext store, Revocation revocation) throws IOException {
    Path directory = store.layout().revocations();
    store.storage().prepare(directory);
    try (Draft draft = store.storage().draft(directory, RevocationFile.encode(revocation))) {
      Revocation standing = standing(store, draft, revocation);
      store.storage().secure(directory); // also if it was there: an earlier one may have failed
      return standing;
    }
  }

  /** What is no revocation of this lease is passed over: another place is taken. */
  private static Revocation standing(StoreContext store, Draft draft, Revocation revocation)
      throws IOException {
    for (int place = 0; place <= StoreLayout.LAST_PLACE; place++) {
      Path file = store.layout().revocation(revocation.correlation(), revocation.instance(), place);
      if (draft.publish(file)) {
        return revocation;
      }
      Optional<Revocation> found = readable(store, file); // or an answer was lost
      if (found.filter(f -> f.isOf(revocation)).isPresent()) {
        return found.get();
      }
    }
    return revocation; // what stands there says nothing, and no safety rests on it
  }

  private static Optional<Revocation> readable(StoreContext store, Path file) throws IOException {
    try {
      return Optional.of(read(store, file));
    } catch (DamagedException | AccessDeniedException e) {
      return Optional.empty();
    }
  }

  /**
   * All that are kept, by their times.
   *
   * @param damaged told of each that can't be read, which is left out
   */
  public static List<Revocation> all(StoreContext store, Consumer<DamagedException> damaged)
      throws IOException {
    List<String> names;
    try {
      names = store.storage().list(store.layout().revocations(), Freshness.CACHED);
    } catch (NoSuchFileException e) {
      return List.of(); // none was ever revoked
    }
    var found = new ArrayList<Revocation>();
    for (String name : names) {
      if (StoreLayout.isRevocation(name)) {
        try {
          found.add(read(store, store.layout().revocations().resolve(name)));
        } catch (NoSuchFileException e) {
          // It was removed meanwhile.
        } catch (DamagedException e) {
          damaged.accept(e);
        }
      }
    }
    found.sort(
        Comparator.comparingLong(Revocation::revokedAt).thenComparing(Revocation::correlation));
    return found;
  }

  private static Revocation read(StoreContext store, Path file) throws IOException {
    return store
        .storage()
        .read(file, RevocationFile.MAX_BYTES, bytes -> RevocationFile.decode(bytes, file));
  }
}
