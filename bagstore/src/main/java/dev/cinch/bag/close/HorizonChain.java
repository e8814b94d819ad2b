package dev.cinch.bag.close;

import com.google.errorprone.annotations.CheckReturnValue;
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
    return tip(directory -> log.store().fresh().list(directory, log.store().fileMode()));
  }

  /** The last record as far as this machine knows: may be old, never wrong. */
  public Optional<Link> knownTip() throws IOException {
    return tip(log.store().fs()::list);
  }

  private interface Lister {
    List<String> list(Path directory) throws IOException;
  }

  private Optional<Link> tip(Lister lister) throws IOException {
    OptionalLong number = lastNumber(lister);
    return number.isEmpty() ? Optional.empty() : Optional.of(read(number.getAsLong()));
  }

  private OptionalLong lastNumber(Lister lister) throws IOException {
    List<Long> groups =
        lister.list(log.layout().records()).stream()
            .filter(name -> name.matches("\\d{7}"))
            .map(Long::valueOf)
            .sorted()
            .toList();
    // The last group may still be empty: its directory is made before its first record is linked.
    for (int i = groups.size() - 1; i >= 0; i--) {
      OptionalLong last =
          lister.list(log.layout().recordGroup(groups.get(i))).stream()
              .map(Numbered::parse)
              .flatMapToLong(OptionalLong::stream)
              .max();
      if (last.isPresent()) {
        return last;
      }
    }
    return OptionalLong.empty();
  }

  /** The lowest number that is still there; records below it were retired behind a checkpoint. */
  public OptionalLong firstNumber() throws IOException {
    List<Long> groups =
        log.store().fs().list(log.layout().records()).stream()
            .filter(name -> name.matches("\\d{7}"))
            .map(Long::valueOf)
            .sorted()
            .toList();
    for (long group : groups) {
      OptionalLong first =
          log.store().fs().list(log.layout().recordGroup(group)).stream()
              .map(Numbered::parse)
              .flatMapToLong(OptionalLong::stream)
              .min();
      if (first.isPresent()) {
        return first;
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
    try {
      return decode(log.store().fresh().readAll(path, Envelope.MAX_BYTES), path, number);
    } catch (DamagedException e) {
      return decode(log.store().fresh().readAllUncached(path, Envelope.MAX_BYTES), path, number);
    }
  }

  private Link decode(byte[] bytes, Path path, long number) throws DamagedException {
    HorizonRecord record = HorizonRecord.decode(bytes, path);
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
   * it was retired.
   */
  public Optional<Link> settling(long time, Link tip) throws IOException {
    if (tip.record().settles(time)) {
      return Optional.of(tip);
    }
    long low = firstNumber().orElse(tip.record().number());
    long high = tip.record().number() - 1;
    while (low <= high) {
      long middle = (low + high) >>> 1;
      Link link;
      try {
        link = read(middle);
      } catch (NoSuchFileException e) {
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

  /** Where the checkpoints stand; see {@link LogLayout#checkpoint}. */
  OptionalLong freshCheckpoint() throws IOException {
    return log.store().fresh().list(log.layout().checkpoints(), log.store().fileMode()).stream()
        .map(Numbered::parse)
        .flatMapToLong(OptionalLong::stream)
        .max();
  }
}
