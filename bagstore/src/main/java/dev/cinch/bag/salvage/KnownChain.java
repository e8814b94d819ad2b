package dev.cinch.bag.salvage;

import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.fs.Fresh;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.layout.Numbered;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;

/** What the records that can be read say, whether or not they make a chain. Not thread-safe. */
final class KnownChain {
  private final StoreFs fs;
  private final Fresh fresh;
  private final LogLayout log;
  private final SalvageSink sink;

  /** By where their range begins. */
  private final TreeMap<Long, HorizonRecord> records = new TreeMap<>();

  private long highest;
  private boolean gap;

  KnownChain(StoreFs fs, LogLayout log, SalvageSink sink) {
    this.fs = fs;
    this.fresh = new Fresh(fs);
    this.log = log;
    this.sink = sink;
  }

  void read() throws IOException {
    for (String group : names(log.records())) {
      for (String name : names(log.records().resolve(group))) {
        OptionalLong number = Numbered.parse(name);
        if (number.isPresent()) {
          read(number.getAsLong(), log.records().resolve(group).resolve(name));
        }
      }
    }
  }

  private void read(long number, Path path) throws IOException {
    gap |= highest > 0 && number != highest + 1;
    highest = number;
    try {
      HorizonRecord r = decode(path);
      records.put(r.from(), r);
    } catch (DamagedException e) {
      gap = true;
      sink.left(SalvageSink.Kind.DAMAGE, path, e.offset(), 0, "expected " + e.expected());
    } catch (IOException e) {
      gap = true;
      sink.left(SalvageSink.Kind.DAMAGE, path, 0, 0, "can't be read: " + e);
    }
  }

  private HorizonRecord decode(Path path) throws IOException {
    try {
      return HorizonRecord.decode(fresh.readAll(path, Envelope.MAX_BYTES), path);
    } catch (DamagedException e) {
      return HorizonRecord.decode(fresh.readAllUncached(path, Envelope.MAX_BYTES), path);
    }
  }

  private List<String> names(Path directory) throws IOException {
    try {
      return fs.list(directory).stream().sorted().toList();
    } catch (NoSuchFileException | NotDirectoryException e) {
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
    boolean last = records.higherKey(start) == null;
    return last && !gap ? Fate.OPEN : Fate.UNKNOWN;
  }

  /** The digest that a listed bucket's lock must have. */
  Optional<String> lockDigest(long start) {
    Map.Entry<Long, HorizonRecord> before = records.floorEntry(start);
    return before == null
        ? Optional.empty()
        : before.getValue().bucket(start).map(ClosedBucket::lockDigest);
  }
}
