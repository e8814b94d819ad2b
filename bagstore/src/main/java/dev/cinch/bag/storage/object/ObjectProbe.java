package dev.cinch.bag.storage.object;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.storage.object.Objects.Got;
import dev.cinch.bag.storage.object.Objects.Listed;
import dev.cinch.lease.Id;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;

/**
 * Tries out whether an object store keeps what docs/storage-object.md asks of it. What it puts has
 * names that are nobody's data, and is deleted when it is closed. Not thread-safe.
 *
 * <p>Each probe throws {@link BrokenPromiseException} if the server did something else.
 */
@CheckReturnValue
public final class ObjectProbe implements AutoCloseable {
  /** Writers that put at once. */
  public static final int WRITERS = Crowd.SIZE;

  /**
   * How often they do so before a store is made: of the servers known to be bad one shows it in
   * half of them.
   */
  public static final int ROUNDS = 16;

  /** Some more than a page of a listing has. */
  public static final int LISTED = 1_024;

  private static final long SECOND = 1_000_000_000L;
  private static final String LOST = "messages would be lost";

  /**
   * All that names have, in the order of their bytes. What follows a slash comes before longer
   * names of the same begin.
   */
  private static final List<String> NAMES =
      List.of(
          "tmp-+",
          "tmp--",
          "tmp-.",
          "tmp-0000000001",
          "tmp-@",
          "tmp-T/tmp-Z",
          "tmp-T0",
          "tmp-_",
          "tmp-a-b_c.d+1@20260101T000000.000Z.log",
          "tmp-a/tmp-b",
          "tmp-a0");

  private final Objects objects;
  private final Requests requests;
  private final TimeSource time;
  private final Crowd crowd = new Crowd();
  private final Name place;
  private final Queue<Name> used = new ConcurrentLinkedQueue<>();

  /**
   * Asks nothing yet.
   *
   * @param root names the store
   * @param prefix of its keys; empty, or with a slash at its end
   */
  public ObjectProbe(
      Objects objects, Name root, String prefix, TimeSource time, RandomGenerator random) {
    this.objects = objects;
    this.requests = new Requests(objects, root, prefix, time, random);
    this.time = time;
    this.place = root.resolve(Name.TEMPORARY_PREFIX + Id.random(random));
  }

  /** A name that is to be put, and deleted afterwards. */
  private Name name(String what) {
    Name name = place.resolve(Name.TEMPORARY_PREFIX + what);
    used.add(name);
    return name;
  }

  private void put(Name name, byte[] bytes) throws IOException {
    boolean unused = requests.put(name, ByteBuffer.wrap(bytes));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }

  private static BrokenPromiseException broken(String seen, String meaning) {
    return new BrokenPromiseException(seen, meaning);
  }

  /** Of many writers of a name one makes it, and all see what that one wrote. */
  public void race(int rounds) throws IOException {
    new PutRace(objects, requests, crowd).run(rounds, round -> name("race-" + round));
  }

  /** What was put is there at once, also for those to whom it was missing a moment ago. */
  public void reads() throws IOException {
    List<Name> names = IntStream.range(0, WRITERS).mapToObj(i -> name("read-" + i)).toList();
    List<Boolean> before = crowd.all(i -> requests.isThere(names.get((i + 1) % WRITERS)));
    if (before.contains(true)) {
      throw broken("an object is there that nobody put", "this server makes up objects");
    }
    List<Boolean> there =
        crowd.all(
            i -> {
              put(names.get(i), bytes("writer " + i));
              return requests.isThere(names.get(i));
            });
    List<Boolean> others = crowd.all(i -> requests.isThere(names.get((i + 1) % WRITERS)));
    if (there.contains(false) || others.contains(false)) {
      throw broken("an object that was put is missing in a get after that", LOST);
    }
  }

  /** Objects may be empty, and have parts. */
  public void parts() throws IOException {
    Name empty = name("empty");
    put(empty, new byte[0]);
    part(empty, 0, 10, "", 0);
    Name whole = name("whole");
    put(whole, bytes("0123456789"));
    part(whole, 0, 0, "", 10);
    part(whole, 0, 100, "0123456789", 10);
    part(whole, 3, 4, "3456", 10);
    part(whole, 8, 100, "89", 10);
    part(whole, 10, 5, "", 10);
  }

  private void part(Name name, long from, int most, String expected, long size) throws IOException {
    Got got = requests.get(name, from, most);
    if (got.size() != size || !Arrays.equals(got.bytes(), bytes(expected))) {
      throw broken(
          "of %d bytes %d from byte %d on were asked for, and %d of %d came, or others"
              .formatted(size, most, from, got.bytes().length, got.size()),
          "messages would be read wrong");
    }
  }

  /** Names have the characters that a store needs, and an order. */
  public void names() throws IOException {
    List<Name> names =
        NAMES.stream().map(place.resolve(Name.TEMPORARY_PREFIX + "names")::resolve).toList();
    used.addAll(names);
    for (Name name : names) {
      put(name, bytes(name.last()));
      if (!Arrays.equals(requests.get(name, 0, 100).bytes(), bytes(name.last()))) {
        throw broken("the bytes of " + name + " are those of another object", LOST);
      }
    }
    same(
        "objects with all characters of names",
        NAMES,
        listed(place.resolve(Name.TEMPORARY_PREFIX + "names")));
  }

  private List<String> listed(Name below) throws IOException {
    return requests.below(below).stream().map(Listed::key).toList();
  }

  private static void same(String what, List<String> expected, List<String> listed)
      throws BrokenPromiseException {
    if (listed.equals(expected)) {
      return;
    }
    var missing = new ArrayList<>(expected);
    missing.removeAll(listed);
    var more = new ArrayList<>(listed);
    more.removeAll(expected);
    throw broken(
        "a listing of %d %s %s"
            .formatted(
                expected.size(),
                what,
                !missing.isEmpty()
                    ? "lacks %d that were put, like %s".formatted(missing.size(), missing.get(0))
                    : !more.isEmpty()
                        ? "has %d more, like %s".formatted(more.size(), more.get(0))
                        : "has another order, or some twice"),
        LOST);
  }

  /** Listings have at once all that was put, page by page, and nothing that was deleted. */
  public void listings() throws IOException {
    Name all = place.resolve(Name.TEMPORARY_PREFIX + "list");
    List<String> keys =
        IntStream.range(0, LISTED)
            .mapToObj(i -> "tmp-%02d/tmp-%02d".formatted(i / WRITERS, i % WRITERS))
            .toList();
    List<Name> names = keys.stream().map(all::resolve).toList();
    used.addAll(names);
    same("objects", List.of(), listed(all));
    each(names, name -> put(name, bytes("x")));
    same("objects", keys, listed(all));
    List<String> places = keys.stream().map(key -> key.substring(0, 6)).distinct().toList();
    same("places", places, requests.names(all));
    Name one = names.get(0).parent();
    List<String> its =
        keys.stream().filter(k -> k.startsWith("tmp-00/")).map(k -> k.substring(7)).toList();
    same("objects of a place", its, requests.names(one));
    each(names.subList(WRITERS, LISTED), requests::delete);
    same("objects", keys.subList(0, WRITERS), listed(all));
    if (requests.isThere(names.get(LISTED - 1))) {
      throw broken("an object that was deleted is there in a get after that", "gc frees no room");
    }
  }

  private interface Step {
    void of(Name name) throws IOException;
  }

  private void each(List<Name> names, Step step) throws IOException {
    var unused =
        crowd.all(
            writer -> {
              for (int i = writer; i < names.size(); i += WRITERS) {
                step.of(names.get(i));
              }
              return true;
            });
  }

  /**
   * Objects have the time at which they were put, by the clock that answers.
   *
   * @return the time there, nanoseconds since the Unix epoch: the middle of a second
   */
  public long clock() throws IOException {
    Name name = name("time");
    long began = time.monotonicNanos();
    put(name, bytes("x"));
    Got got = requests.get(name, 0, 1);
    long took = time.monotonicNanos() - began;
    long age = got.now() - got.changedAt();
    if (age < -SECOND || age > took + 2 * SECOND) {
      throw broken(
          "an object that was put just now changed %d s ago, as the server says"
              .formatted(age / SECOND),
          "its clocks differ, and appends and closing go by them");
    }
    return got.now() + SECOND / 2;
  }

  /** Deletes what was put. */
  @Override
  public void close() throws IOException {
    try {
      each(List.copyOf(used), requests::delete);
    } finally {
      crowd.close();
    }
  }
}
