package dev.cinch.bag.storage.object;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.model.Name;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.NoSuchFileException;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

/**
 * Whether of several puts of a name one wins, and all see it (O1, S3). A server that looks whether
 * a name is taken, and then takes it, shows that only when many do so at once. So there are some
 * rounds, each with a name that nobody used.
 */
@CheckReturnValue
final class PutRace {
  /** What is written takes a while, in which another writer may come. */
  private static final int LENGTH = 1 << 14;

  private final Objects objects;
  private final Requests requests;
  private final Crowd crowd;

  /**
   * @param objects puts once, and never again
   * @param requests asks until it is told
   */
  PutRace(Objects objects, Requests requests, Crowd crowd) {
    this.objects = objects;
    this.requests = requests;
    this.crowd = crowd;
  }

  /**
   * Runs some rounds.
   *
   * @param names of the objects, by round
   */
  void run(int rounds, IntFunction<Name> names) throws IOException {
    Name first = names.apply(0);
    // All connections are there then, and a gateway that keeps answers has one to keep.
    if (crowd.all(i -> requests.isThere(first)).contains(true)) {
      throw new BrokenPromiseException(
          first + " is there, and nobody put it", "this server makes up objects");
    }
    boolean won = false;
    for (int round = 0; round < rounds; round++) {
      won |= round(names.apply(round));
    }
    if (!won) {
      throw new BrokenPromiseException(
          "of %d writers none was told that it made the object, in %d rounds"
              .formatted(Crowd.SIZE, rounds),
          "this server does not keep If-None-Match, and nothing could be confirmed");
    }
  }

  /** Returns whether one of the writers was told that it won. */
  private boolean round(Name name) throws IOException {
    List<Boolean> made = crowd.all(i -> put(name, i));
    int[] winners = IntStream.range(0, Crowd.SIZE).filter(made::get).toArray();
    if (winners.length > 1) {
      throw new BrokenPromiseException(
          "%d of %d writers were told that they made the same object"
              .formatted(winners.length, Crowd.SIZE),
          "this server does not keep If-None-Match, so messages would be lost");
    }
    int later = Crowd.SIZE;
    boolean again = put(name, later);
    if (again && winners.length == 1) {
      throw new BrokenPromiseException(
          "a later writer was told that it made an object that was there",
          "this server does not keep If-None-Match, so messages would be lost");
    }
    Optional<byte[]> won =
        winners.length == 1
            ? Optional.of(bytes(winners[0]))
            : again ? Optional.of(bytes(later)) : Optional.empty();
    see(crowd.all(i -> get(name)), won);
    return winners.length == 1;
  }

  /**
   * All see the same bytes, those of the winner.
   *
   * @param won empty: nobody knows who did, or whether anybody did
   */
  private static void see(List<Optional<byte[]>> seen, Optional<byte[]> won)
      throws BrokenPromiseException {
    byte[] expected = won.or(() -> seen.stream().flatMap(Optional::stream).findAny()).orElse(null);
    long missing = won.isPresent() ? seen.stream().filter(Optional::isEmpty).count() : 0;
    if (missing > 0) {
      throw new BrokenPromiseException(
          "%d of %d readers were told that an object is not there, which had been put"
              .formatted(missing, Crowd.SIZE),
          "its answers are old, so messages would be lost");
    }
    long other =
        seen.stream().filter(b -> b.isPresent() && !Arrays.equals(b.get(), expected)).count();
    if (other > 0) {
      throw new BrokenPromiseException(
          "%d of %d readers saw other bytes than those of the writer that made the object"
              .formatted(other, Crowd.SIZE),
          "this server does not keep If-None-Match, so messages would be lost");
    }
  }

  private Optional<byte[]> get(Name name) throws IOException {
    try {
      return Optional.of(requests.get(name, 0, LENGTH + 1).bytes());
    } catch (NoSuchFileException e) {
      return Optional.empty();
    }
  }

  private boolean put(Name name, int writer) throws IOException {
    try {
      return objects.put(requests.key(name), ByteBuffer.wrap(bytes(writer)));
    } catch (UnansweredException e) {
      return false;
    }
  }

  private static byte[] bytes(int writer) {
    var bytes = new byte[LENGTH];
    Arrays.fill(bytes, (byte) writer);
    return bytes;
  }
}
