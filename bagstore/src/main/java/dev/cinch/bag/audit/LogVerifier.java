package dev.cinch.bag.audit;

import dev.cinch.bag.close.ChainWalk;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.close.Intents;
import dev.cinch.bag.format.ChainPlace;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.format.HorizonRecord.Sums;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.BucketTree;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Numbered;
import dev.cinch.bag.model.SealName;
import dev.cinch.bag.model.TimeName;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.Storage;
import dev.cinch.bag.store.LogContext;
import dev.cinch.lease.witness.TrustedKeys;
import dev.cinch.lease.witness.WitnessVerifier;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Checks one log: its chain of records from the first to the last, and with each record the buckets
 * of its range. Not thread-safe.
 */
final class LogVerifier {
  private final LogContext log;
  private final Storage storage;
  private final HorizonChain chain;
  private final KeysVerifier keys;
  private final Tally tally;
  private final BucketVerifier buckets;
  private final SegmentsVerifier segments;

  /** Whether the record before could be read: then the next one's range follows. */
  private boolean known = true;

  private long settled = Long.MIN_VALUE;

  /** What was settled so far, by the record before; null if it could not be read. */
  private @Nullable Sums sums = Sums.NONE;

  LogVerifier(LogContext log, KeysVerifier keys, Tally tally) {
    this.log = log;
    this.storage = log.storage();
    this.chain = new HorizonChain(log);
    this.keys = keys;
    this.tally = tally;
    this.buckets = new BucketVerifier(log, tally);
    this.segments = new SegmentsVerifier(log, keys, tally);
  }

  void verify() throws IOException {
    tally.names(log.store(), log.layout().root(), LogLayout.NAMES);
    tally.names(log.store(), log.layout().horizon(), LogLayout.HORIZON_NAMES);
    intents();
    segments.verify();
    tally.messages += segments.retiredMessages();
    var listed = new TreeSet<Long>();
    var seals = new TreeMap<Long, SortedSet<String>>();
    for (long group : groups()) {
      listed.addAll(numbers(log.layout().recordGroup(group), seals));
    }
    records(listed, seals);
    for (Bucket bucket : find(settled, Long.MAX_VALUE)) {
      open(bucket);
    }
    buckets.unrecorded();
    segments.verify(); // those that were published meanwhile
    segments.compareWithBuckets();
  }

  private void open(Bucket bucket) throws IOException {
    if (!segments.retired(bucket.end())) {
      tally.unlessRetired(
          () -> buckets.open(bucket, new WitnessVerifier(keys.all())),
          () -> segments.retiredMeanwhile(bucket.end()));
    }
  }

  private void intents() throws IOException {
    for (String name : storage.listIfThere(log.layout().intents(), Freshness.CACHED)) {
      Name path = log.layout().intents().resolve(name);
      OptionalLong reach = LogLayout.intentReach(name);
      if (reach.isEmpty()) {
        tally.foreign(path);
        continue;
      }
      tally.file(log.store(), path);
      if (!couldBeLeft(path, reach.getAsLong())) {
        tally.found(
            Finding.note(
                path,
                0,
                "a time before the one at which it was left",
                "a later one: no closer left it, and it counts for nothing; the first to close a"
                    + " day after it was left removes it"));
      }
    }
  }

  private boolean couldBeLeft(Name intent, long reach) throws IOException {
    try {
      return Intents.canBeLeft(reach, storage.changedAt(intent));
    } catch (NoSuchFileException e) {
      return true; // a record has reached it since
    }
  }

  /** What need not be made is there while it is empty. */
  private boolean isMissing(Name place) throws IOException {
    try {
      List<String> unused = storage.list(place, Freshness.CACHED);
      return false;
    } catch (NoSuchFileException e) {
      return true;
    }
  }

  private List<Long> groups() throws IOException {
    var groups = new ArrayList<Long>();
    Name records = log.layout().records();
    if (!storage.listIfThere(log.layout().horizon(), Freshness.CACHED).contains(records.last())
        && isMissing(records)) {
      tally.bad(records, "the directory of the log's records", "none"); // readers need it
    }
    for (String name : storage.listIfThere(records, Freshness.CACHED)) {
      if (name.matches("\\d{7}")) {
        groups.add(Long.valueOf(name));
      } else {
        tally.foreign(records.resolve(name));
      }
    }
    return groups;
  }

  private List<Long> numbers(Name group, Map<Long, SortedSet<String>> seals) throws IOException {
    var numbers = new ArrayList<Long>();
    for (String name : storage.listIfThere(group, Freshness.CACHED)) {
      OptionalLong number = Numbered.parse(name);
      Optional<SealName> seal = SealName.parse(name);
      if (number.isPresent()
          && group.resolve(name).equals(log.layout().record(number.getAsLong()))) {
        numbers.add(number.getAsLong());
      } else if (seal.isPresent()
          && group.equals(log.layout().recordGroup(LogLayout.groupOfRecord(seal.get().number())))) {
        seals.computeIfAbsent(seal.get().number(), n -> new TreeSet<>()).add(seal.get().digest());
        tally.read(group.resolve(name), 0);
        tally.file(log.store(), group.resolve(name));
      } else {
        tally.foreign(group.resolve(name));
      }
    }
    return numbers;
  }

  /** Goes up the chain from the line, where there is one, and on behind what is damaged. */
  private void records(SortedSet<Long> listed, SortedMap<Long, SortedSet<String>> seals)
      throws IOException {
    // A seal proves its record, and so does a checkpoint (section 4), and a segment (rule R1).
    long last = Math.max(segments.line(), segments.covers());
    last = Math.max(last, seals.isEmpty() ? 0 : seals.lastKey());
    last = Math.max(last, listed.isEmpty() ? 0 : listed.last());
    long line = 0;
    var walk = ChainWalk.goingOn(chain, last, ChainPlace.START);
    while (walk.number() <= last) {
      if (segments.line() > line) { // what lies below means nothing
        line = segments.line();
        Checkpoint checkpoint = segments.checkpoint().orElseThrow();
        walk = ChainWalk.goingOn(chain, last, ChainPlace.of(checkpoint));
        atLine(checkpoint, seals);
        continue;
      }
      long number = walk.number();
      Optional<Link> link;
      try {
        link = walk.next();
      } catch (IOException e) {
        if (segments.retiredRecord(number)) {
          continue;
        }
        link = walk.skip();
        if (link.isPresent() || listed.contains(number)) {
          tally.found(Finding.of(e, chain.path(number), "a readable record"));
        } else {
          missing(walk, listed, last);
        }
      }
      if (link.isPresent()) {
        record(link.get(), seals);
      } else {
        known = false;
        sums = null;
      }
    }
  }

  /** Where a listing has a gap: told once. */
  private void missing(ChainWalk walk, SortedSet<Long> listed, long last) {
    long first = walk.number() - 1;
    SortedSet<Long> behind = listed.tailSet(first);
    long end = behind.isEmpty() ? last : behind.first() - 1;
    while (walk.number() <= end) {
      Optional<Link> unused = walk.skip();
    }
    tally.bad(chain.path(first), "records without a gap (rule H2)", "none up to " + end);
  }

  /** The record at the line stays, and the checkpoint names it. */
  private void atLine(Checkpoint checkpoint, SortedMap<Long, SortedSet<String>> seals)
      throws IOException {
    long line = checkpoint.number();
    sums = null;
    tally.unlessRetired(
        () -> {
          try {
            Optional<Link> link = chain.readUnlessRetired(line);
            if (link.isPresent()) {
              vouched(link.get(), seals);
              TrustedKeys unused = trusted(link.get().record());
              sums = link.get().record().sums();
              count(checkpoint, sums);
            }
          } catch (IOException e) {
            tally.found(Finding.of(e, chain.path(line), "a readable record"));
          }
        },
        () -> segments.retiredRecord(line));
    known = true;
    settled = checkpoint.to();
  }

  /** What is retired was counted by records, and once more when it was retired. */
  private void count(Checkpoint checkpoint, Sums counted) {
    long messages = checkpoint.messagesThrough(checkpoint.segment()).orElse(0);
    long bytes = checkpoint.bytesThrough(checkpoint.segment()).orElse(0);
    if (counted.messages() != messages || counted.bytes() != bytes) {
      tally.bad(
          chain.path(checkpoint.number()),
          "%d messages and %d bytes settled, as the checkpoint says".formatted(messages, bytes),
          counted.messages() + " and " + counted.bytes());
    }
  }

  private void record(Link link, SortedMap<Long, SortedSet<String>> seals) throws IOException {
    HorizonRecord record = link.record();
    tally.unlessRetired(() -> vouched(link, seals), () -> segments.retiredRecord(record.number()));
    if (!known && record.from() > settled) {
      unknownRange(record.from());
    }
    known = true;
    settled = record.to();
    Sums before = sums;
    Optional<Sums> mine = range(record, trusted(record));
    if (before != null && mine.isPresent()) {
      Sums expected = before.plus(mine.get());
      if (!record.sums().equals(expected)) {
        tally.bad(
            chain.path(record.number()),
            expected + ", as the record before and its locks say",
            "" + record.sums());
      }
    }
    sums = record.sums();
  }

  private void vouched(Link link, SortedMap<Long, SortedSet<String>> seals) {
    long number = link.record().number();
    tally.records++;
    tally.read(chain.path(number), link.record().encode().length);
    try {
      Link unused = chain.sealed(link, seals.getOrDefault(number, new TreeSet<>()));
    } catch (IOException e) {
      tally.found(Finding.of(e, chain.path(number), "a readable record"));
    }
  }

  /** The keys that apply to a record's range (rule F3). */
  private TrustedKeys trusted(HorizonRecord r) throws IOException {
    Name path = chain.path(r.number());
    TrustedKeys trusted = keys.first(r.trustedKeys());
    if (trusted.size() < r.trustedKeys()) {
      tally.bad(path, "at most " + trusted.size() + " trusted keys", "" + r.trustedKeys());
    } else if (!r.keysDigest().equals(trusted.digest())) {
      tally.bad(path, "keys of SHA-256 " + trusted.digest(), r.keysDigest());
    }
    return trusted;
  }

  /** The buckets of records that can't be read: their own locks are all there is to go by. */
  private void unknownRange(long to) throws IOException {
    for (Bucket bucket : findOrTell(settled, to)) {
      open(bucket);
    }
  }

  /** What its locks have; empty if one was retired, or can't be read. */
  private Optional<Sums> range(HorizonRecord record, TrustedKeys trusted) throws IOException {
    var mine = new ArrayList<Sums>();
    var applying = new WitnessVerifier(trusted);
    var listed = new HashSet<Long>();
    List<Bucket> found = findOrTell(record.from(), record.to());
    Set<Long> there = there(record, found);
    for (ClosedBucket b : record.buckets()) {
      listed.add(b.start());
      tally.buckets++;
      var bucket = new Bucket(b.start(), log.bucketWidth());
      if (segments.retired(bucket.end())) {
        continue;
      }
      if (!there.contains(b.start())) {
        buckets.missing(bucket);
        continue;
      }
      tally.unlessRetired(
          () -> buckets.closed(bucket, b.lockDigest(), applying).ifPresent(mine::add),
          () -> segments.retiredMeanwhile(bucket.end()));
    }
    for (Bucket bucket : found) {
      if (!listed.contains(bucket.start()) && !segments.retired(bucket.end())) {
        tally.found(
            Finding.note(
                log.layout().bucket(bucket),
                0,
                "a bucket that record " + record.number() + " lists",
                "one made too late: it does not exist (rule H1)"));
      }
    }
    return mine.size() == record.buckets().size()
        ? Optional.of(mine.stream().reduce(Sums.NONE, Sums::plus))
        : Optional.empty();
  }

  /**
   * Which buckets that a record lists are there or not known to be lost. Where some look missing,
   * one more listing of each directory tells, and one look whether they were retired since: a
   * forged record may list thousands.
   */
  private Set<Long> there(HorizonRecord record, List<Bucket> found) throws IOException {
    var there = new HashSet<Long>();
    found.forEach(bucket -> there.add(bucket.start()));
    long last = Long.MIN_VALUE; // end of the last one that looks missing
    for (ClosedBucket b : record.buckets()) {
      long end = b.start() + log.bucketWidth();
      last = there.contains(b.start()) || segments.retired(end) ? last : end;
    }
    if (last > Long.MIN_VALUE) {
      log.buckets().permitted(record.from(), record.to()).forEach(b -> there.add(b.start()));
      boolean unused = segments.retiredMeanwhile(last); // the caller asks of each
    }
    return there;
  }

  private List<Bucket> findOrTell(long from, long to) {
    try {
      return find(from, to);
    } catch (IOException e) {
      tally.found(Finding.of(e, log.layout().buckets(), "a readable tree"));
      return List.of();
    }
  }

  private List<Bucket> find(long from, long to) throws IOException {
    return new BucketTree(log.layout(), log.bucketWidth())
        .find(
            from,
            to,
            (directory, end, width) -> {
              List<String> names = storage.listIfThere(directory, Freshness.CACHED);
              if (from == Long.MIN_VALUE || to == Long.MAX_VALUE) { // told once, not of each record
                strays(directory, names, width);
              }
              return names;
            });
  }

  private void strays(Name directory, List<String> names, long width) {
    var strays = new TreeSet<>(names);
    for (long start : LogLayout.starts(directory, names, Long.MIN_VALUE, Long.MAX_VALUE, width)) {
      strays.remove(TimeName.of(start));
    }
    strays.forEach(name -> tally.foreign(directory.resolve(name)));
  }
}
