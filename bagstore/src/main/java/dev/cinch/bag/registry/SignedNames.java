package dev.cinch.bag.registry;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.registry.ServiceNames.SignedName;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.lease.witness.SigningKey;
import java.io.IOException;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * One family of names in a place below {@code service/}: documents that say all by their names,
 * {@code <base>.<signature>}, so that a listing is all it takes to read them. Not thread-safe.
 *
 * @param <T> what a base stands for
 */
@CheckReturnValue
final class SignedNames<T> {
  /** So many are removed at a time, so that no server waits long for it. */
  static final int MOST_REMOVED = 2_000;

  private final StoreContext store;
  private final Statements statements;
  private final Name place;
  private final Function<String, Optional<T>> codec;

  /**
   * @param codec reads a base
   */
  SignedNames(
      StoreContext store, Statements statements, Name place, Function<String, Optional<T>> codec) {
    this.store = store;
    this.statements = statements;
    this.place = place;
    this.codec = codec;
  }

  /**
   * A name of the family, whoever signed it.
   *
   * @param file the whole name
   */
  record Found<T>(String file, T value, SignedName signed) {}

  private Optional<Found<T>> parse(String file) {
    return SignedName.parse(file)
        .flatMap(s -> codec.apply(s.base()).map(value -> new Found<>(file, value, s)));
  }

  /** Those of the family in a listing, the first in an order first. */
  List<Found<T>> in(List<String> names, Comparator<T> order) {
    return names.stream()
        .flatMap(name -> parse(name).stream())
        .sorted(Comparator.comparing(Found::value, order))
        .toList();
  }

  /** Of those in a listing that have the same key the first in an order that counts. */
  <K> TreeMap<K, T> counting(List<String> names, Function<T, K> key, Comparator<T> order)
      throws IOException {
    var counting = new TreeMap<K, T>();
    for (Found<T> found : in(names, order)) {
      K of = key.apply(found.value());
      if (!counting.containsKey(of) && counts(found)) { // what follows needs no look at its key
        counting.put(of, found.value());
      }
    }
    return counting;
  }

  boolean counts(Found<T> found) throws IOException {
    return statements.counts(place, found.signed().base(), found.signed().signature());
  }

  /** Whether a name is of the family, and counts. */
  boolean counts(String file) throws IOException {
    Optional<Found<T>> found = parse(file);
    return found.isPresent() && counts(found.get());
  }

  /** The whole name of a base. */
  String signed(String base, SigningKey by) {
    return new SignedName(base, statements.sign(by, place, base)).toString();
  }

  /**
   * Leaves one, durably.
   *
   * @return its whole name
   */
  @CanIgnoreReturnValue
  String publish(String base, SigningKey by) throws IOException {
    String name = signed(base, by);
    // If it was there: ours, from a request that was sent twice; or an earlier call failed before
    // it was durable. Whoever made it, it says the same.
    store.publish(place.resolve(name), new byte[0]);
    return name;
  }

  /** Removes names of the family, whoever signed them: no safety rests on that. */
  void remove(List<String> names, Predicate<T> which) {
    names.stream()
        .filter(name -> parse(name).map(Found::value).filter(which).isPresent())
        .limit(MOST_REMOVED)
        .forEach(name -> store.storage().removeQuietly(place.resolve(name)));
  }
}
