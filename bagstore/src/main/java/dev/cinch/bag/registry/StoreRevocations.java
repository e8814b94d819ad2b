package dev.cinch.bag.registry;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.Storage.Draft;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.lease.Revocation;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
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
  static Revocation keep(StoreContext store, Revocation mine) throws IOException {
    StoreLayout layout = store.layout();
    store.storage().prepare(layout.revocations());
    Name first = layout.revocation(mine.correlation(), mine.instance(), 0);
    try (Draft draft = store.storage().draft(first)) {
      draft.write(ByteBuffer.wrap(RevocationFile.encode(mine)));
      draft.finish();
      store.requireSame();
      Revocation standing =
          StoreEnds.standing(
                  store,
                  draft,
                  place -> layout.revocation(mine.correlation(), mine.instance(), place),
                  RevocationFile.MAX_BYTES,
                  mine,
                  (bytes, file) -> ofSame(RevocationFile.decode(bytes, file), mine, file))
              .orElse(mine); // what stands there says nothing, and no safety rests on it
      // Also if it was there: an earlier one may have failed.
      store.storage().secure(layout.revocations());
      return standing;
    }
  }

  private static Revocation ofSame(Revocation found, Revocation mine, Name file)
      throws DamagedException {
    if (!found.isOf(mine)) {
      throw new DamagedException(file, 0, "a revocation of this lease", "another's");
    }
    return found;
  }

  /**
   * All that are kept, by their times.
   *
   * @param damaged told of each that can't be read, which is left out
   */
  public static List<Revocation> all(StoreContext store, Consumer<DamagedException> damaged)
      throws IOException {
    Name directory = store.layout().revocations();
    var found = new ArrayList<Revocation>();
    for (String name : store.storage().listIfThere(directory, Freshness.CACHED)) {
      if (StoreLayout.isRevocation(name)) {
        Name file = directory.resolve(name);
        try {
          found.add(
              store
                  .storage()
                  .read(
                      file,
                      RevocationFile.MAX_BYTES,
                      Freshness.CACHED,
                      b -> RevocationFile.decode(b, file)));
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
}
