package dev.cinch.bag.read;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.format.Floor;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.OptionalLong;

/** How far a log's messages expired (rule R4). Thread-safe. */
@CheckReturnValue
public final class Floors {
  private final LogContext log;

  public Floors(LogContext log) {
    this.log = log;
  }

  /**
   * The highest one, past every cache where this user may create files.
   *
   * @throws DamagedException if it is none of this log and number, also past the cache (rule N5)
   */
  public Floor last() throws IOException {
    OptionalLong number = listed();
    while (number.isPresent()) {
      try {
        return read(number.getAsLong());
      } catch (IOException e) {
        OptionalLong now = listed();
        if (now.equals(number)) {
          throw e;
        }
        number = now; // it was removed behind a later one since the listing
      }
    }
    return Floor.none(log.id());
  }

  private OptionalLong listed() throws IOException {
    try {
      return log.store().fresh().listAsPermitted(log.layout().checkpoints()).stream()
          .map(LogLayout::floorNumber)
          .flatMapToLong(OptionalLong::stream)
          .max();
    } catch (NoSuchFileException e) {
      return OptionalLong.empty(); // a copy of a store may lack its empty directories
    }
  }

  private Floor read(long number) throws IOException {
    Path path = log.layout().floor(number);
    return log.store()
        .fresh()
        .decode(path, Envelope.MAX_SMALL_BYTES, bytes -> decode(number, bytes, path));
  }

  private Floor decode(long number, byte[] bytes, Path path) throws DamagedException {
    Floor f = Floor.decode(bytes, path);
    if (!f.log().equals(log.id()) || f.segment() != number) {
      throw new DamagedException(
          path, 0, "floor " + number + " of log " + log.id(), f.segment() + " of " + f.log());
    }
    return f;
  }
}
