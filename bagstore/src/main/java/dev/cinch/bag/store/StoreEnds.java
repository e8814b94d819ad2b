package dev.cinch.bag.store;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.layout.Numbered;
import dev.cinch.bag.layout.StoreLayout;
import dev.cinch.lease.LeaseEnd;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;

/**
 * Ends of leases as files in the store (rule L11): {@code service/ends/<correlation>@<instance>}
 * says by its name which lease was ended at which instance, and holds the number of the instance
 * that ended it. Not thread-safe.
 */
@CheckReturnValue
public final class StoreEnds {
  /**
   * How long they are kept, nanoseconds: 30 days. By then nobody carries out, or hears the answer
   * to, a request of a time at which the lease had not ended (rule L11).
   */
  static final long KEPT_NANOS = 30L * 86_400 * 1_000_000_000;

  /** Ten digits and the end of the line. */
  private static final int BYTES = 11;

  private final StoreContext store;

  StoreEnds(StoreContext store) {
    this.store = store;
  }

  /** Makes their directory unless it is there: stores of older versions have none. */
  void prepare() throws IOException {
    Path directory = store.layout().ends();
    boolean made = store.fresh().ensureDirectory(directory, store.directoryMode());
    if (made) {
      store.fs().forceDirectory(store.layout().service());
    }
    List<String> unused = store.fresh().list(directory); // or it may be believed to be missing
  }

  /**
   * Brings ends about, unless another instance has.
   *
   * @param number of this instance
   * @return those that are this instance's
   */
  Set<LeaseEnd> end(List<LeaseEnd> ends, long number) throws IOException {
    Path directory = store.layout().ends();
    Path temporary = store.fresh().temporary(directory);
    var mine = new HashSet<LeaseEnd>();
    try {
      try (StoreFile out = store.fs().create(temporary, store.fileMode())) {
        String content = Numbered.name(number) + "\n";
        out.write(ByteBuffer.wrap(content.getBytes(StandardCharsets.US_ASCII)));
        out.force();
      }
      store.requireSame();
      for (LeaseEnd end : ends) {
        if (make(temporary, end, number)) {
          mine.add(end);
        }
      }
      // Also what was there: an earlier force may have failed. Whoever acts on a name that a power
      // cut takes away acts on nothing, and another one may act on the contrary.
      store.fs().forceDirectory(directory);
    } finally {
      store.fresh().removeQuietly(temporary);
    }
    return mine;
  }

  private boolean make(Path temporary, LeaseEnd end, long number) throws IOException {
    Path file = store.layout().end(end.correlation(), end.instance());
    try {
      store.fs().link(temporary, file);
      return true;
    } catch (FileAlreadyExistsException e) {
      // Another's; or ours, from a request that was sent twice or whose answer was lost.
      return store.fresh().decode(file, BYTES, bytes -> maker(bytes, file)) == number;
    }
  }

  /** Removes those that nobody needs any more, and revocations as old; returns how many. */
  @CanIgnoreReturnValue
  public static long removeOld(StoreContext store) throws IOException {
    long before = store.fsClock().now() - KEPT_NANOS;
    return removeOld(store, store.layout().ends(), before)
        + removeOld(store, store.layout().revocations(), before);
  }

  private static long removeOld(StoreContext store, Path directory, long before)
      throws IOException {
    List<String> names;
    try {
      names = store.fresh().listKnown(directory);
    } catch (NoSuchFileException e) {
      return 0;
    }
    var old = new ArrayList<Path>();
    for (String name : names) {
      Path file = directory.resolve(name);
      if (StoreLayout.isEnd(name) && changed(store, file) < before) {
        old.add(file);
      }
    }
    // Only now: those made at once are one file, and to remove one name changes its time.
    old.forEach(store.fresh()::removeQuietly);
    return old.size();
  }

  private static long changed(StoreContext store, Path file) throws IOException {
    try {
      return store.fs().status(file).changeTime();
    } catch (NoSuchFileException e) {
      return Long.MAX_VALUE; // removed meanwhile
    }
  }

  private static long maker(byte[] bytes, Path file) throws DamagedException {
    var text = new String(bytes, StandardCharsets.US_ASCII);
    OptionalLong maker =
        text.endsWith("\n")
            ? Numbered.parse(text.substring(0, text.length() - 1))
            : OptionalLong.empty();
    if (maker.isEmpty()) {
      throw new DamagedException(file, 0, "the number of an instance", bytes.length + " bytes");
    }
    return maker.getAsLong();
  }
}
