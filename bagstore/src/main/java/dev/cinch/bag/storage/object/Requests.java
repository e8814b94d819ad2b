package dev.cinch.bag.storage.object;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.storage.Patience;
import dev.cinch.bag.storage.object.Objects.Got;
import dev.cinch.bag.storage.object.Objects.Listed;
import dev.cinch.bag.storage.object.Objects.Listing;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.AccessDeniedException;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.random.RandomGenerator;

/**
 * Requests for what has a name in a store, each repeated until it is answered, or for so long that
 * the caller has to know. That is harmless: each may be carried out any number of times, and a put
 * is settled by what is there. Thread-safe.
 */
@CheckReturnValue
final class Requests {
  /** For so long a server is asked that has answered before, nanoseconds. */
  private static final long PATIENCE = 20_000_000_000L;

  /** The same where none has: its address may be wrong. */
  private static final long FIRST_PATIENCE = 1_000_000_000L;

  private static final long FIRST_PAUSE = 50_000_000L;
  private static final long LONGEST_PAUSE = 2_000_000_000L;

  private final Objects objects;
  private final Name root;
  private final String prefix;
  private final TimeSource time;
  private final RandomGenerator random;
  private volatile boolean answered;

  /**
   * @param root names the store
   * @param prefix of its keys; empty, or with a slash at its end
   */
  Requests(Objects objects, Name root, String prefix, TimeSource time, RandomGenerator random) {
    this.objects = objects;
    this.root = root;
    this.prefix = prefix;
    this.time = time;
    this.random = random;
  }

  /** In the bucket. */
  String key(Name name) {
    return prefix + name.within(root);
  }

  /** What the keys of all begin with that stands below a place. */
  private String above(Name place) {
    return place.equals(root) ? prefix : key(place) + "/";
  }

  /** A request that may be repeated. */
  private interface Question<T> {
    /** Empty if it was not answered. */
    Optional<T> ask() throws IOException;
  }

  private <T> T ask(String what, Name of, Question<T> question) throws IOException {
    long began = time.monotonicNanos();
    for (long pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
      UnansweredException why;
      try {
        Optional<T> told = question.ask();
        answered = true;
        if (told.isPresent()) {
          return told.get();
        }
        why =
            new UnansweredException(
                what + " " + of + ": the object store does not say what became of it");
      } catch (NoSuchFileException e) {
        answered = true;
        throw (NoSuchFileException) new NoSuchFileException(of.toString()).initCause(e);
      } catch (UnansweredException e) {
        why = e;
      }
      if (time.monotonicNanos() - began > (answered ? PATIENCE : FIRST_PATIENCE)) {
        throw why;
      }
      // Those that were turned away together do not come back together.
      Patience.sleep(time, of, pause / 2 + random.nextLong(pause));
    }
  }

  /**
   * Puts an object, unless there is one.
   *
   * @return whether a request made it. If not, it may have all the same: the truth is what is there
   * @throws AccessDeniedException or {@link RefusedException} only if all were refused, so that
   *     nothing was put
   */
  boolean put(Name name, ByteBuffer... body) throws IOException {
    String key = key(name);
    var open = new AtomicBoolean(); // an earlier one may still be carried out
    return ask(
        "can't put",
        name,
        () -> {
          try {
            if (objects.put(key, body)) {
              return Optional.of(true);
            }
            open.set(true);
          } catch (UnansweredException e) {
            open.set(true); // a get says what is
          } catch (AccessDeniedException | RefusedException e) {
            throw open.get() ? new UnansweredException(String.valueOf(e.getMessage()), e) : e;
          }
          return size(key) >= 0 ? Optional.of(false) : Optional.empty();
        });
  }

  private long size(String key) throws IOException {
    try {
      return objects.get(key, 0, 0).size();
    } catch (NoSuchFileException e) {
      return -1;
    } catch (AccessDeniedException | RefusedException e) {
      throw new UnansweredException(String.valueOf(e.getMessage()), e);
    }
  }

  boolean isThere(Name name) throws IOException {
    try {
      Got unused = get(name, 0, 0);
      return true;
    } catch (NoSuchFileException e) {
      return false;
    }
  }

  Got get(Name name, long from, int most) throws IOException {
    return ask("can't read", name, () -> Optional.of(objects.get(key(name), from, most)));
  }

  /** The parts of names that stand next below a place, each once. */
  List<String> names(Name place) throws IOException {
    String above = above(place);
    var names = new ArrayList<String>();
    pages(
        place,
        above,
        "",
        true,
        page -> {
          page.objects().forEach(object -> names.add(object.key().substring(above.length())));
          page.prefixes()
              .forEach(key -> names.add(key.substring(above.length(), key.length() - 1)));
        });
    return names;
  }

  /** As {@link #names}, of documents alone, as many as a page has. */
  List<String> firstNames(Name place) throws IOException {
    String above = above(place);
    Listing page = ask("can't list", place, () -> Optional.of(objects.list(above, "", true)));
    return page.objects().stream().map(o -> o.key().substring(above.length())).toList();
  }

  /** All objects below a name, with what is left of their keys. */
  List<Listed> below(Name name) throws IOException {
    return beginning(name, above(name));
  }

  private List<Listed> beginning(Name name, String with) throws IOException {
    var all = new ArrayList<Listed>();
    pages(
        name,
        with,
        "",
        false,
        page ->
            page.objects()
                .forEach(
                    o ->
                        all.add(
                            new Listed(
                                o.key().substring(with.length()), o.size(), o.changedAt()))));
    return all;
  }

  /** All objects whose names begin so. */
  List<Name> beginning(Name name) throws IOException {
    return beginning(name, key(name)).stream().map(o -> new Name(name.text() + o.key())).toList();
  }

  private interface Taking {
    void take(Listing page);
  }

  private void pages(Name of, String prefix, String after, boolean places, Taking taking)
      throws IOException {
    Optional<String> next = Optional.of(after);
    do {
      String from = next.get();
      Listing page = ask("can't list", of, () -> Optional.of(objects.list(prefix, from, places)));
      taking.take(page);
      next = page.continuation();
    } while (next.isPresent());
  }

  void delete(Name name) throws IOException {
    String key = key(name);
    boolean unused =
        ask(
            "can't delete",
            name,
            () -> {
              objects.delete(key);
              return Optional.of(true);
            });
  }
}
