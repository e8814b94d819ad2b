package dev.cinch.bag.audit;

import dev.cinch.bag.format.ChainPlace;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.format.Floor;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.model.InWords;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Numbered;
import dev.cinch.bag.model.SealName;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.Storage;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * What the records that can be read say, whether or not they make a chain. One below the last
 * checkpoint may be a sleeper's, linked again after the true one was retired (rule R2): there only
 * those count whose digests lead down from the checkpoint. Not thread-safe.
 */
final class KnownChain {
  private final Storage storage;
  private final LogLayout log;
  private final SalvageSink sink;

  /** Those that count, by where their range begins. */
  private final TreeMap<Long, HorizonRecord> records = new TreeMap<>();

  /** All that can be read, by number. */
  private final TreeMap<Long, Read<HorizonRecord>> found = new TreeMap<>();

  /** Digests that seals name, by the number of the record. */
  private final TreeMap<Long, Set<String>> seals = new TreeMap<>();

  /** The highest number of a checkpoint, 0 if there is none, and what that one says. */
  private long line;

  private @Nullable Checkpoint checkpoint;
  private @Nullable Floor floor;

  /** The number that the next record must have. */
  private long next;

  private boolean gap;

  KnownChain(Storage storage, LogLayout log, SalvageSink sink) {
    this.storage = storage;
    this.log = log;
    this.sink = sink;
  }

  void read() throws IOException {
    readCheckpoint();
    readFloor();
    next = Math.max(1, line); // the record at the line stays
    for (String group : names(log.records())) {
      for (String name : names(log.records().resolve(group))) {
        OptionalLong number = Numbered.parse(name);
        if (number.isPresent()) {
          read(number.getAsLong(), log.records().resolve(group).resolve(name));
        }
        SealName.parse(name)
            .ifPresent(
                seal ->
                    seals.computeIfAbsent(seal.number(), n -> new HashSet<>()).add(seal.digest()));
      }
    }
    long sealed = seals.isEmpty() ? 0 : seals.lastKey();
    if (sealed >= Math.max(next, line + 1)) { // a seal proves its record
      missing(sealed);
    }
    if (line > 0 && next == line) {
      missing(line);
    }
    count();
  }

  /** From the last one down: each names the one before it, and a checkpoint that at the line. */
  private void count() throws IOException {
    long above = 0;
    HorizonRecord counted = null; // null: it does not count, nor those that only it names
    for (Map.Entry<Long, Read<HorizonRecord>> e : found.descendingMap().entrySet()) {
      long n = e.getKey();
      HorizonRecord r = e.getValue().value();
      boolean counts = n >= line;
      if (n == line && checkpoint != null) {
        counts = checkpoint.digest().equals(e.getValue().digest());
      } else if (above == n + 1) {
        counts = counted != null && ChainPlace.of(r, e.getValue().digest()).isNamedBy(counted);
      } else if (counts && seals.containsKey(n)) {
        counts = seals.getOrDefault(n, Set.of()).equals(Set.of(e.getValue().digest()));
      }
      if (counts) {
        records.put(r.from(), r);
      } else if (n >= line) {
        left(log.record(n), 0, "not what the next one follows, or its seal");
      }
      above = n;
      counted = counts ? r : null;
    }
  }

  private void readCheckpoint() throws IOException {
    for (String name : names(log.checkpoints())) {
      line = Math.max(line, Numbered.parse(name).orElse(0));
    }
    if (line == 0) {
      return;
    }
    Name path = log.checkpoint(line);
    Checkpoint read = value(read(path, Checkpoint.MAX_BYTES, Checkpoint::decode));
    if (read != null && read.number() != line) {
      left(path, 0, "the checkpoint of another record");
    } else {
      checkpoint = read;
    }
  }

  private void readFloor() throws IOException {
    long number = 0;
    for (String name : names(log.checkpoints())) {
      number = Math.max(number, LogLayout.floorNumber(name).orElse(0));
    }
    if (number == 0) {
      return;
    }
    Name path = log.floor(number);
    Floor read = value(read(path, Envelope.MAX_SMALL_BYTES, Floor::decode));
    if (read != null && read.segment() != number) {
      left(path, 0, "the floor of another segment");
    } else {
      floor = read;
    }
  }

  private void read(long number, Name path) throws IOException {
    boolean counts = number >= line; // what is missing or damaged below was to go
    if (counts) {
      if (number != next) {
        missing(number - 1);
      }
      next = number + 1;
    }
    Read<HorizonRecord> r = read(path, HorizonRecord.MAX_BYTES, HorizonRecord::decode);
    if (r != null) {
      found.put(number, r);
    } else {
      gap |= counts;
    }
  }

  private void missing(long last) throws IOException {
    gap = true;
    String why = "the records from here to number " + last + " are missing";
    left(log.record(next), 0, why);
  }

  private interface Decoding<T> {
    T decode(byte[] bytes, Name path) throws DamagedException;
  }

  private record Read<T>(T value, String digest) {}

  private static <T> @Nullable T value(@Nullable Read<T> read) {
    return read == null ? null : read.value();
  }

  /** Null if it can't be read, which was told. */
  private <T> @Nullable Read<T> read(Name path, int most, Decoding<T> as) throws IOException {
    try {
      return storage.read(
          path,
          most,
          Freshness.CACHED,
          bytes -> new Read<>(as.decode(bytes, path), Envelope.sha256(bytes)));
    } catch (DamagedException e) {
      left(path, e.offset(), "expected " + e.expected());
    } catch (IOException e) {
      left(path, 0, "can't be read: " + InWords.reason(e));
    }
    return null;
  }

  private void left(Name path, long offset, String why) throws IOException {
    sink.left(SalvageSink.Kind.DAMAGE, path, offset, 0, why);
  }

  private List<String> names(Name directory) throws IOException {
    try {
      return storage.list(directory, Freshness.CACHED).stream().sorted().toList();
    } catch (NoSuchFileException | NotDirectoryException e) {
      return List.of();
    } catch (IOException e) {
      gap = true;
      left(directory, 0, "can't be listed: " + InWords.reason(e));
      return List.of();
    }
  }

  /** What is known of a bucket. */
  enum Fate {
    /** A record lists it. */
    LISTED,
    /** A record settles its time without it: it does not exist (rule H1). */
    ABSENT,
    /** No record reaches it, and none is missing that might. */
    OPEN,
    /** The record that would tell is damaged, missing or retired. */
    UNKNOWN
  }

  Fate fate(long start) {
    Map.Entry<Long, HorizonRecord> before = records.floorEntry(start);
    if (before != null && before.getValue().settles(start)) {
      return before.getValue().bucket(start).isPresent() ? Fate.LISTED : Fate.ABSENT;
    }
    if (checkpoint != null && start < checkpoint.to()) {
      return Fate.UNKNOWN; // segments may tell
    }
    boolean last = records.higherKey(start) == null;
    return last && !gap ? Fate.OPEN : Fate.UNKNOWN;
  }

  /** The buckets that records list which cannot have been retired. */
  List<Long> kept() {
    return records.values().stream()
        .filter(r -> r.number() > line)
        .flatMap(r -> r.buckets().stream())
        .map(ClosedBucket::start)
        .toList();
  }

  /** What the last checkpoint says, if it can be read. */
  Optional<Checkpoint> checkpoint() {
    return Optional.ofNullable(checkpoint);
  }

  /** Behind which messages expired (rule R4), if it can be read; empty if nothing did. */
  Optional<Floor> floor() {
    return Optional.ofNullable(floor);
  }

  /** The digest that a listed bucket's lock must have. */
  Optional<String> lockDigest(long start) {
    Map.Entry<Long, HorizonRecord> before = records.floorEntry(start);
    return before == null
        ? Optional.empty()
        : before.getValue().bucket(start).map(ClosedBucket::lockDigest);
  }
}
