package dev.cinch.bag.registry;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Numbered;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.Storage.Draft;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.lease.instance.InstanceRegistry;
import dev.cinch.lease.witness.SigningKey;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.IntFunction;

/**
 * Ends of leases as files in the store (rule L11): {@code service/ends/<correlation>@<instance>}
 * says by its name which lease was ended at which instance. It holds the number of the instance
 * that ended it, all that this one ended with it, and a signature. One that has none of the store's
 * is anybody's: it is passed over, and the end is made in the next place. Not thread-safe.
 */
@CheckReturnValue
public final class StoreEnds {
  /**
   * How long they are kept, nanoseconds: 30 days. By then nobody carries out, or hears the answer
   * to, a request of a time at which the lease had not ended (rule L11).
   */
  static final long KEPT_NANOS = 30L * 86_400 * 1_000_000_000;

  /** So many ends at most are in one file. */
  private static final int MOST = 1_000;

  private static final int MAX_BYTES = 1 << 16;

  private final StoreContext store;
  private final Statements statements;
  private final SigningKey key;

  StoreEnds(StoreContext store, Statements statements, SigningKey key) {
    this.store = store;
    this.statements = statements;
    this.key = key;
  }

  /** Makes their directory unless it is there: the first server of a store does. */
  void prepare() throws IOException {
    Name directory = store.layout().ends();
    store.storage().prepare(directory);
    // Or it may be believed to be missing.
    List<String> unused = store.storage().list(directory, Freshness.CERTAIN);
  }

  /**
   * Brings ends about, unless another instance has.
   *
   * @param number of this instance
   * @return those that are this instance's
   */
  Set<InstanceRegistry.End> end(List<InstanceRegistry.End> ends, long number) throws IOException {
    var mine = new HashSet<InstanceRegistry.End>();
    for (int from = 0; from < ends.size(); from += MOST) {
      end(ends.subList(from, Math.min(ends.size(), from + MOST)), number, mine);
    }
    return mine;
  }

  private void end(List<InstanceRegistry.End> ends, long number, Set<InstanceRegistry.End> mine)
      throws IOException {
    Name directory = store.layout().ends();
    statements.look();
    byte[] content = content(ends, number).getBytes(StandardCharsets.US_ASCII);
    InstanceRegistry.End first = ends.get(0);
    Name one = store.layout().end(first.correlation(), first.instance(), 0);
    try (Draft draft = store.storage().draft(one)) {
      draft.write(ByteBuffer.wrap(content));
      draft.finish();
      store.requireSame();
      for (InstanceRegistry.End end : ends) {
        if (make(draft, end, number)) {
          mine.add(end);
        }
      }
      // Also what was there: an earlier force may have failed. Whoever acts on a name that a power
      // cut takes away acts on nothing, and another one may act on the contrary.
      store.storage().secure(directory);
    }
  }

  private String content(List<InstanceRegistry.End> ends, long number) {
    var text = new StringBuilder(Numbered.name(number)).append('\n');
    for (InstanceRegistry.End end : ends) {
      text.append(line(end));
    }
    String said = text.toString();
    return said + statements.sign(key, store.layout().ends(), said) + "\n";
  }

  private static String line(InstanceRegistry.End end) {
    return end.correlation() + "@" + Numbered.name(end.instance()) + "\n";
  }

  private boolean make(Draft draft, InstanceRegistry.End end, long number) throws IOException {
    Optional<Long> maker =
        standing(
            store,
            draft,
            place -> store.layout().end(end.correlation(), end.instance(), place),
            MAX_BYTES,
            number,
            (bytes, file) ->
                maker(bytes, end)
                    .orElseThrow(
                        () -> new DamagedException(file, 0, "an end that counts", "another file")));
    if (maker.isEmpty()) {
      Name first = store.layout().end(end.correlation(), end.instance(), 0);
      throw new IOException(
          "%s and %d beside it are no ends that a key of the store signed: remove them"
              .formatted(first, StoreLayout.LAST_PLACE));
    }
    return maker.get() == number;
  }

  /** Reads what stands in a place. */
  interface Reader<T> {
    /**
     * @throws DamagedException if it counts for nothing here
     */
    T read(byte[] bytes, Name file) throws IOException;
  }

  /**
   * Publishes what is about a lease, unless something of its kind stands there. What counts for
   * nothing is passed over: another place is taken.
   *
   * @param mine what is published
   * @return what stands; empty if no place is left
   */
  static <T> Optional<T> standing(
      StoreContext store, Draft draft, IntFunction<Name> places, int most, T mine, Reader<T> reader)
      throws IOException {
    for (int place = 0; place <= StoreLayout.LAST_PLACE; place++) {
      Name file = places.apply(place);
      if (draft.publish(file)) {
        return Optional.of(mine);
      }
      // Another's; or ours, from a request that was sent twice or whose answer was lost.
      try {
        return Optional.of(
            store.storage().read(file, most, Freshness.CACHED, bytes -> reader.read(bytes, file)));
      } catch (AccessDeniedException | DamagedException e) {
        // No file, too long for one, or its maker's alone.
      }
    }
    return Optional.empty();
  }

  /** The instance that made an end; empty for what is none. */
  private Optional<Long> maker(byte[] bytes, InstanceRegistry.End end) throws IOException {
    String text = new String(bytes, StandardCharsets.US_ASCII);
    int first = text.indexOf('\n');
    long maker = first < 0 ? 0 : Numbered.parse(text.substring(0, first)).orElse(0);
    if (maker == 0) {
      return Optional.empty();
    }
    int last = text.lastIndexOf('\n', text.length() - 2);
    String said = text.substring(0, last + 1);
    String signature = text.substring(last + 1, text.length() - 1);
    boolean counts =
        text.endsWith("\n")
            && said.indexOf("\n" + line(end), first) >= 0
            && statements.counts(store.layout().ends(), said, signature);
    return counts ? Optional.of(maker) : Optional.empty();
  }

  /** Removes those that nobody needs any more, and revocations as old; returns how many. */
  @CanIgnoreReturnValue
  public static long removeOld(StoreContext store) throws IOException {
    long before = store.now() - KEPT_NANOS;
    return removeOld(store, store.layout().ends(), before)
        + removeOld(store, store.layout().revocations(), before);
  }

  private static long removeOld(StoreContext store, Name directory, long before)
      throws IOException {
    var old = new ArrayList<Name>();
    for (String name : store.storage().listIfThere(directory, Freshness.CACHED)) {
      Name file = directory.resolve(name);
      if (StoreLayout.isEnd(name) && changed(store, file) < before) {
        old.add(file);
      }
    }
    // Only now: those made at once are one file, and to remove one name changes its time.
    old.forEach(store.storage()::removeQuietly);
    return old.size();
  }

  private static long changed(StoreContext store, Name file) throws IOException {
    try {
      return store.storage().changedAt(file);
    } catch (NoSuchFileException e) {
      return Long.MAX_VALUE; // removed meanwhile
    }
  }
}
