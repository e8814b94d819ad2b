package dev.cinch.bag.audit;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.Floor;
import dev.cinch.bag.model.InWords;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Numbered;
import dev.cinch.bag.model.TimeName;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.Storage;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Gets every undamaged message out of one log of a damaged store, in the order of the log, and says
 * what it left. Checksums are all it trusts; {@code store.json}, the log's identity, locks and
 * records may be damaged or gone. Of a data file it gives what a closer would (rule C4), also where
 * the file's header is damaged. It writes nothing, and reads past caches where it can.
 *
 * <p>What can be told apart from damage is not salvaged: bytes past a valid length, and buckets
 * that no record lists though their time is settled, do not exist (rules C2, H1). Behind a
 * checkpoint the segments say which there are, if all of them are whole (rule R2). Whether leases
 * permit a message (rule F3) is not judged.
 *
 * <p>Memory is bounded by the longest batch for each data file of a bucket, and by the number of
 * blocks in segments. Not for a store in use: what changes meanwhile may be told as damage.
 */
@CheckReturnValue
public final class Salvage {
  private final Storage storage;
  private final LogLayout log;
  private final SalvageSink sink;

  private Salvage(Storage storage, LogLayout log, SalvageSink sink) {
    this.storage = storage;
    this.log = log;
    this.sink = sink;
  }

  /**
   * Salvages one log.
   *
   * @param storage of a store that may be no store any more
   * @return how many messages there were
   * @throws NoSuchFileException if there is no directory of that log
   * @throws IOException if the sink fails, or the log's directory can't be listed
   */
  @CanIgnoreReturnValue
  public static long run(Storage storage, LogLayout log, SalvageSink sink) throws IOException {
    return new Salvage(storage, log, sink).run();
  }

  private long run() throws IOException {
    if (storage.list(log.root(), Freshness.CACHED).isEmpty()) {
      throw new NoSuchFileException(log.root().toString()); // a place is there with what is in it
    }
    var chain = new KnownChain(storage, log, sink);
    chain.read();
    var segments = new SegmentSalvager(storage, sink);
    long expired = chain.floor().map(Floor::segment).orElse(0L);
    long next = expired + 1;
    List<String> names = names(log.segments());
    for (String name : names) {
      OptionalLong number = Numbered.parse(name);
      if (number.isPresent() && number.getAsLong() > expired) {
        missing(next, number.getAsLong() - 1);
        next = number.getAsLong() + 1;
        segments.scan(
            number.getAsLong(),
            log.segments().resolve(name),
            chain.checkpoint().flatMap(c -> c.digestOf(number.getAsLong())));
      }
    }
    missing(next, chain.checkpoint().map(Checkpoint::segment).orElse(0L));
    TreeMap<Long, Name> directories = directories();
    var starts = new TreeSet<>(directories.keySet());
    starts.addAll(segments.byBucket().keySet());
    starts.addAll(chain.kept());
    var buckets = new BucketSalvager(storage, log, chain, segments, sink);
    for (long start : starts.tailSet(begin(chain, segments), true)) {
      buckets.salvage(start, directories.get(start));
    }
    return buckets.messages();
  }

  /** Where messages begin to exist: what the floor and the first segment behind it both say. */
  private long begin(KnownChain chain, SegmentSalvager segments) throws IOException {
    Optional<Floor> floor = chain.floor();
    if (floor.isEmpty()) {
      return Long.MIN_VALUE;
    }
    long first = segments.begin(floor.get()).orElse(floor.get().to());
    if (first != floor.get().to()) {
      String why = "not where the first segment behind it begins";
      sink.left(SalvageSink.Kind.DAMAGE, log.floor(floor.get().segment()), 0, 0, why);
    }
    return Math.min(first, floor.get().to());
  }

  private void missing(long first, long last) throws IOException {
    if (first <= last) {
      String why = "the segments from here to number " + last + " are missing";
      sink.left(SalvageSink.Kind.DAMAGE, log.segment(first), 0, 0, why);
    }
  }

  /** The bucket directories by the time that their names say. */
  private TreeMap<Long, Name> directories() throws IOException {
    var found = new TreeMap<Long, Name>();
    for (String era : names(log.buckets())) {
      for (String group : names(log.buckets().resolve(era))) {
        Name directory = log.buckets().resolve(era).resolve(group);
        for (String bucket : names(directory)) {
          OptionalLong start = TimeName.parse(bucket);
          if (start.isPresent() && isIn(start.getAsLong(), group) && isIn(start.getAsLong(), era)) {
            found.put(start.getAsLong(), directory.resolve(bucket)); // of some: the nearest one
          } else if (start.isPresent()) {
            found.putIfAbsent(start.getAsLong(), directory.resolve(bucket)); // better than none
          }
        }
      }
    }
    return found;
  }

  /** Whether a bucket may stand there: the width of buckets may not be known. */
  private static boolean isIn(long start, String parent) {
    OptionalLong of = TimeName.parse(parent);
    return of.isPresent() && of.getAsLong() <= start;
  }

  private List<String> names(Name directory) throws IOException {
    try {
      return storage.list(directory, Freshness.CACHED).stream().sorted().toList();
    } catch (NoSuchFileException | NotDirectoryException e) {
      return List.of();
    } catch (IOException e) {
      sink.left(SalvageSink.Kind.DAMAGE, directory, 0, 0, "can't be listed: " + InWords.reason(e));
      return List.of();
    }
  }
}
