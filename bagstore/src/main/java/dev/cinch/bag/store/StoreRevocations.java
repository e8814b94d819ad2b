package dev.cinch.bag.store;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.RevocationFile;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.layout.StoreLayout;
import dev.cinch.lease.Revocation;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
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
  static Revocation keep(StoreContext store, Revocation revocation) throws IOException {
    Path directory = store.layout().revocations();
    if (store.fresh().ensureDirectory(directory, store.directoryMode())) {
      store.fs().forceDirectory(store.layout().service());
    }
    Path file = store.layout().revocation(revocation.correlation(), revocation.instance());
    Path temporary = store.fresh().temporary(directory);
    try {
      try (StoreFile out = store.fs().create(temporary, store.fileMode())) {
        out.write(ByteBuffer.wrap(RevocationFile.encode(revocation)));
        out.force();
      }
      store.requireSame();
      Revocation standing = revocation;
      try {
        store.fs().link(temporary, file);
      } catch (FileAlreadyExistsException e) { // an answer was lost, or two operators asked
        standing = read(store, file);
      }
      store
          .fs()
          .forceDirectory(directory); // also if it was there: an earlier force may have failed
      return standing;
    } finally {
      store.fresh().removeQuietly(temporary);
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
      names = store.fresh().listKnown(store.layout().revocations());
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
        .fresh()
        .decode(file, RevocationFile.MAX_BYTES, bytes -> RevocationFile.decode(bytes, file));
  }
}
