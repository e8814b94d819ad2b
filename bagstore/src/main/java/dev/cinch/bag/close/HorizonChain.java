package dev.cinch.bag.close;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.layout.Numbered;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Reads a log's chain of records (section 4). Records never change, so only the question which is
 * the last can be answered stale; {@link #freshTip} never is. Thread-safe.
 */
@CheckReturnValue
public final class HorizonChain {
  private final LogContext log;

  public HorizonChain(LogContext log) {
    this.log = log;
  }

  /**
   * A record as it was read.
   *
   * @param record its content
   * @param digest SHA-256 of its bytes, in hexadecimal
   */
  public record Link(HorizonRecord record, String digest) {}

  /**
   * The last record there is now, past every cache: for appends, fences, and reads after an acquire
   * (rule H3).
   */
  public Optional<Link> freshTip() throws IOException {
    return tip(directory -> log.store().fresh().list(directory));
  }

  /** The last record as far as this machine knows: may be old, never wrong. */
  public Optional<Link> knownTip() throws IOException {
    return tip(log.store().fresh()::listKnown);
  }

  /**
   * As {@link #freshTip}; for a user who may only read as {@link #knownTip}. For those who just
   * want to read, and decide nothing by it.
   */
  public Optional<Link> permittedTip() throws IOException {
    return tip(this::listAsPermitted);
  }

  private List<String> listAsPermitted(Path directory) throws IOException {
    return log.store().fresh().listAsPermitted(directory);
  }

  private interface Lister {
    List<String> list(Path directory) throws IOException;
  }

  /**
   * Where the listings show no record, the checkpoints tell whether there is none: a group of
   * records may have been retired since the groups were listed, and be gone, or empty since a
   * closer is late; and old listings may be from before the first record.
   */
  private Optional<Link> tip(Lister lister) throws IOException {
    OptionalLong listed = lastNumber(lister);
    OptionalLong number = listed.isPresent() ? listed : freshCheckpoint();
    while (number.isPresent()) {
      Optional<Link> link = readUnlessRetired(number.getAsLong());
      if (link.isPresent()) {
        return link;
      }
      // Retired between the listing and the read; a cached listing may say the same again, but the
      // checkpoint's own record stays.
      long checkpoint = freshCheckpoint().orElseThrow();
      number = OptionalLong.of(Math.max(checkpoint, lastNumber(lister).orElse(checkpoint)));
    }
    return Optional.empty();
  }

  /**
   * Reads a record and then looks whether a checkpoint stands above it: if so it is retired, and
   * what stands under its name may have been linked by somebody who slept through that (rule R2).
   *
   * @return empty if it is retired
   */
  public Optional<Link> readUnlessRetired(long number) throws IOException {
    try {
      Link link = read(number);
      return retired(number) ? Optional.empty() : Optional.of(link);
    } catch (IOException e) { // of a file that is removed: none, a stale handle, or another's bytes
      if (retired(number)) {
        return Optional.empty();
      }
      throw e;
    }
  }

  /**
   * Forces a record's name. A record that is acted on must not vanish with the power: who linked it
   * may have stopped before it forced, and another one could be linked in its place. Those before
   * it are durable, since nobody links one before that.
   */
  @CanIgnoreReturnValue
  public Link durable(Link link) throws IOException {
    long number = link.record().number();
    try {
      log.store().fs().forceDirectory(log.layout().records());
      log.store().fs().forceDirectory(log.layout().recordGroup(LogLayout.groupOfRecord(number)));
    } catch (IOException e) {
      if (!retired(number)) {
        throw e;
      }
    }
    return link;
  }

  /** Whether a checkpoint stands above a record, past every cache. */
  private boolean retired(long number) throws IOException {
    OptionalLong checkpoint = freshCheckpoint();
    return checkpoint.isPresent() && checkpoint.getAsLong() > number;
  }

  private OptionalLong lastNumber(Lister lister) throws IOException {
    List<Long> groups =
        lister.list(log.layout().records()).stream()
            .map(LogLayout::recordGroupNumber)
            .flatMapToLong(OptionalLong::stream)
            .sorted()
            .boxed()
            .toList();
    // The last group may still be empty: its directory is made before its first record is linked.
    for (int i = groups.size() - 1; i >= 0; i--) {
      try {
        OptionalLong last =
            lister.list(log.layout().recordGroup(groups.get(i))).stream()
                .map(Numbered::parse)
                .flatMapToLong(OptionalLong::stream)
                .max();
        if (last.isPresent()) {
          return last;
        }
      } catch (NoSuchFileException e) {
        // Retired since, with all that stood in it.
      }
    }
    return OptionalLong.empty();
  }

  /**
   * Reads a record that is there.
   *
   * @throws DamagedException if it is not a record of this log and number, was cut short or
   *     altered, also past the cache (rule N5)
   */
  public Link read(long number) throws IOException {
    Path path = log.layout().record(number);
    return log.store()
        .fresh()
        .decode(path, Envelope.MAX_BYTES, bytes -> decode(bytes, path, number));
  }

  private Link decode(byte[] bytes, Path path, long number) throws DamagedException {
    HorizonRecord record = HorizonRecord.decode(bytes, path, log.bucketWidth());
    if (!record.log().equals(log.id()) || record.number() != number) {
      throw new DamagedException(
          path,
          0,
          "record " + number + " of log " + log.id(),
          record.number() + " of " + record.log());
    }
    return new Link(record, Envelope.sha256(bytes));
  }

  /**
   * The record that settles a time, which must lie before the {@code to} of {@code tip}; empty if
   * the time lies behind a checkpoint, so that only segments tell.
   */
  public Optional<Link> settling(long time, Link tip) throws IOException {
    while (true) {
      Optional<Checkpoint> checkpoint = checkpoint();
      if (checkpoint.isPresent() && time < checkpoint.get().to()) {
        return Optional.empty();
      }
      Optional<Link> found = search(time, tip, checkpoint.map(Checkpoint::number).orElse(1L));
      if (found.isPresent() && !retired(found.get().record().number())) {
        return found;
      }
      if (checkpoint().equals(checkpoint)) {
        throw new DamagedException(
            log.layout().records(), 0, "a record that settles the time " + time, "none");
      }
    }
  }

  private Optional<Link> search(long time, Link tip, long first) throws IOException {
    if (tip.record().settles(time)) {
      return Optional.of(tip);
    }
    long low = first;
    long high = tip.record().number() - 1;
    while (low <= high) {
      long middle = (low + high) >>> 1;
      Link link;
      try {
        link = read(middle);
      } catch (IOException e) {
        if (!(e instanceof NoSuchFileException) && !retired(middle)) {
          throw e;
        }
        low = middle + 1; // retired meanwhile
        continue;
      }
      if (link.record().settles(time)) {
        return Optional.of(link);
      }
      if (time < link.record().from()) {
        high = middle - 1;
      } else {
        low = middle + 1;
      }
    }
    return Optional.empty();
  }

  /**
   * The last checkpoint, past every cache; empty if nothing was ever retired.
   *
   * @throws DamagedException if it is not a checkpoint of this log and number, also past the cache
   *     (rule N5)
   */
  public Optional<Checkpoint> checkpoint() throws IOException {
    OptionalLong number = freshCheckpoint();
    while (number.isPresent()) {
      try {
        return Optional.of(readCheckpoint(number.getAsLong()));
      } catch (IOException e) {
        OptionalLong now = freshCheckpoint();
        if (now.equals(number)) {
          throw e;
        }
        number = now; // it was removed behind a newer one since the listing
      }
    }
    return Optional.empty();
  }

  /** Reads a checkpoint that is there. */
  public Checkpoint readCheckpoint(long number) throws IOException {
    Path path = log.layout().checkpoint(number);
    return log.store()
        .fresh()
        .decode(path, Envelope.MAX_BYTES, bytes -> decode(number, bytes, path));
  }

  private Checkpoint decode(long number, byte[] bytes, Path path) throws DamagedException {
    Checkpoint c = Checkpoint.decode(bytes, path);
    if (!c.log().equals(log.id()) || c.number() != number) {
      throw new DamagedException(
          path, 0, "checkpoint " + number + " of log " + log.id(), c.number() + " of " + c.log());
    }
    return c;
  }

  /** The number of the last checkpoint, past every cache where this user may create files. */
  OptionalLong freshCheckpoint() throws IOException {
    return listAsPermitted(log.layout().checkpoints()).stream()
        .map(Numbered::parse)
        .flatMapToLong(OptionalLong::stream)
        .max();
  }
}
