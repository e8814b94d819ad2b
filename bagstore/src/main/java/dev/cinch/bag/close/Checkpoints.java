package dev.cinch.bag.close;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.format.Floor;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.storage.Family;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * How far a log was retired (rule R2), and how far it expired (rule R4): the last checkpoint and
 * the last floor, past every cache where this user may create files. Thread-safe.
 */
@CheckReturnValue
final class Checkpoints {
  private final LogContext log;

  Checkpoints(LogContext log) {
    this.log = log;
  }

  private interface Reading<T> {
    T read(long number) throws IOException;
  }

  Optional<Checkpoint> last() throws IOException {
    return last(Family.CHECKPOINT, this::remembered);
  }

  Floor floor() throws IOException {
    return last(Family.FLOOR, this::readFloor).orElse(Floor.none(log.id()));
  }

  private <T> Optional<T> last(Family family, Reading<T> reading) throws IOException {
    OptionalLong number = listed(family);
    while (number.isPresent()) {
      try {
        return Optional.of(reading.read(number.getAsLong()));
      } catch (IOException e) {
        OptionalLong now = listed(family);
        if (now.equals(number)) {
          throw e;
        }
        number = now; // it was removed behind a later one since the listing
      }
    }
    return Optional.empty();
  }

  /** The number of the last checkpoint. */
  OptionalLong number() throws IOException {
    return listed(Family.CHECKPOINT);
  }

  /**
   * Where the directory was lost with what was in it, the first record that is left has another
   * number than 1.
   */
  private OptionalLong listed(Family family) throws IOException {
    return family.last(log.storage(), log.layout(), Freshness.PERMITTED);
  }

  private Checkpoint remembered(long number) throws IOException {
    Checkpoint known = log.checkpoint().get();
    if (known == null || known.number() != number) {
      known = read(number);
      log.checkpoint().set(known);
    }
    return known;
  }

  /** Reads one, whether it was read before or not. */
  Checkpoint read(long number) throws IOException {
    Name path = log.layout().checkpoint(number);
    return log.storage()
        .read(
            path,
            Checkpoint.MAX_BYTES,
            Freshness.CACHED,
            bytes -> {
              Checkpoint c = Checkpoint.decode(bytes, path);
              boolean same = c.log().equals(log.id()) && c.number() == number;
              return same
                  ? c
                  : another(path, "checkpoint " + number, c.number() + " of " + c.log());
            });
  }

  private Floor readFloor(long number) throws IOException {
    Name path = log.layout().floor(number);
    return log.storage()
        .read(
            path,
            Envelope.MAX_SMALL_BYTES,
            Freshness.CACHED,
            bytes -> {
              Floor f = Floor.decode(bytes, path);
              boolean same = f.log().equals(log.id()) && f.segment() == number;
              return same ? f : another(path, "floor " + number, f.segment() + " of " + f.log());
            });
  }

  private <T> T another(Name path, String expected, String actual) throws DamagedException {
    throw new DamagedException(path, 0, expected + " of log " + log.id(), actual);
  }
}
