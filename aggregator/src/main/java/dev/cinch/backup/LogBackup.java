package dev.cinch.backup;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.ChainWalk;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.close.View;
import dev.cinch.bag.file.SegmentMarks;
import dev.cinch.bag.file.SegmentReader;
import dev.cinch.bag.file.SegmentVerifier;
import dev.cinch.bag.format.ChainPlace;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.format.Floor;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Numbered;
import dev.cinch.bag.model.SealName;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.store.LogContext;
import dev.cinch.lease.Id;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * Brings a log's copy up to a record: what the chain needs up to there, and nothing behind it (rule
 * H10). Used once, by one thread.
 *
 * <p>The copy is a log that can be read, at each operation but few: where records were retired, or
 * segments expired, since the run before, those few names come one after the other that go on
 * behind the hole. A run that is killed among them leaves a copy that is restored to what it was
 * before.
 */
@CheckReturnValue
final class LogBackup {
  private final LogContext log;
  private final LogLayout from;
  private final HorizonChain chain;
  private final Destination to;
  private final LogLayout there;
  private final boolean first;
  private final BucketBackup buckets;

  private Optional<Checkpoint> checkpoint = Optional.empty();
  private Floor floor;

  /** Records that the copy has without a gap, up to this one; 0: none. */
  private long have;

  private final Set<Long> segments = new TreeSet<>();

  /**
   * @param first whether nobody reads the copy yet
   */
  LogBackup(LogContext log, Destination to, boolean first) {
    this.log = log;
    this.from = log.layout();
    this.chain = new HorizonChain(log);
    this.to = to;
    this.there = to.layout().log(from.name());
    this.first = first;
    this.floor = Floor.none(log.id());
    this.buckets = new BucketBackup(log, to, there);
  }

  /** Makes the log, as one in which nothing is settled. */
  void make() throws IOException {
    byte[] identity =
        log.storage()
            .read(from.identity(), Envelope.MAX_SMALL_BYTES, Freshness.CERTAIN, bytes -> bytes);
    for (Name place :
        List.of(
            there.buckets(),
            there.records(),
            there.intents(),
            there.checkpoints(),
            there.segments())) {
      to.directory(place);
    }
    to.publishSame(there.identity(), identity);
  }

  /**
   * Copies.
   *
   * @param tip the last record of the copy then
   * @throws OutdatedException if it was retired meanwhile
   * @throws BackupRefusedException if the copy is ahead, or of another history
   */
  void copy(Link tip) throws IOException {
    View unused =
        View.read(
            chain::line,
            view -> {
              floor = view.floor();
              checkpoint = view.checkpoint();
              if (view.checkpoint().isPresent() && view.firstRecord() > tip.record().number()) {
                throw new OutdatedException();
              }
              attempt(tip);
              return view;
            });
  }

  /** The record was retired meanwhile, and what it needs with it: go on with a later one. */
  static final class OutdatedException extends IOException {
    private static final long serialVersionUID = 1;
  }

  private void attempt(Link tip) throws IOException {
    look(tip);
    long number = tip.record().number();
    long line = checkpoint.map(Checkpoint::number).orElse(0L);
    boolean jump = have < line;
    Id closer = Id.random(log.store().random());
    if (have < number) {
      to.note(there.intent(tip.record().to(), closer)); // a lock that nothing reaches is an alarm
    }
    ChainWalk walk;
    if (jump) {
      walk = new ChainWalk(chain, tip, checkpoint.map(ChainPlace::of).orElseThrow());
    } else if (have == 0) {
      walk = new ChainWalk(chain, tip, ChainPlace.START);
    } else {
      Link known = chain.read(have);
      walk = new ChainWalk(chain, tip, ChainPlace.of(known.record(), known.digest()));
    }
    for (Optional<Link> next = walk.next(); next.isPresent(); next = walk.next()) {
      for (ClosedBucket listed : next.get().record().buckets()) {
        buckets.copy(new Bucket(listed.start(), log.bucketWidth()), listed);
      }
      if (!jump) {
        record(next.get());
      }
    }
    Map<Name, Name> drafts = new LinkedHashMap<>();
    boolean hole = (jump || floor.segment() > lastSegment()) && !first;
    long last = lastSegmentOf(number);
    for (long n = Math.max(floor.segment(), 0) + 1; n <= last; n++) {
      if (!segments.contains(n)) {
        Name draft = segment(n);
        if (hole) {
          drafts.put(draft, there.segment(n));
        } else {
          to.link(draft, there.segment(n));
        }
      }
    }
    for (Map.Entry<Name, Name> draft : drafts.entrySet()) {
      to.link(draft.getKey(), draft.getValue());
    }
    if (jump) {
      Link known = chain.read(line);
      ChainPlace.of(checkpoint.get())
          .is(known.record(), known.digest(), chain.path(line), "the checkpoint");
      for (long n = line; n <= number; n++) {
        record(chain.read(n));
      }
    }
    to.note(there.recordSeal(number, tip.digest()));
    marks();
    clean(tip);
  }

  private long lastSegment() {
    return segments.stream().mapToLong(n -> n).max().orElse(0);
  }

  /** What the copy has, and whether it is a copy of this history. */
  private void look(Link tip) throws IOException {
    var records = new TreeSet<Long>();
    for (String group : to.names(there.records())) {
      to.names(there.records().resolve(group))
          .forEach(name -> Numbered.parse(name).ifPresent(records::add));
    }
    segments.clear();
    to.names(there.segments()).forEach(name -> Numbered.parse(name).ifPresent(segments::add));
    long line = 0;
    for (String name : to.names(there.checkpoints())) {
      line = Math.max(line, Numbered.parse(name).orElse(0));
    }
    have = line;
    while (records.contains(have + 1)) {
      have++;
    }
    if (have > tip.record().number()) {
      throw new BackupRefusedException(
          "%s: the backup has record %d, and the store ends with %d: the store lost records, or was put back"
              .formatted(there.root(), have, tip.record().number()));
    }
    long kept = checkpoint.map(Checkpoint::number).orElse(1L);
    if (have >= kept
        && !Envelope.sha256(to.read(there.record(have), HorizonRecord.MAX_BYTES))
            .equals(chain.read(have).digest())) {
      throw new BackupRefusedException(
          there.record(have) + " is another one in the store: the two have different histories");
    }
    if (line > 0 && checkpoint.isPresent()) {
      Name path = there.checkpoint(line);
      Checkpoint mine = Checkpoint.decode(to.read(path, Checkpoint.MAX_BYTES), path);
      List<Checkpoint.Covered> its = checkpoint.get().segments();
      if (mine.segments().size() > its.size()
          || !its.subList(0, mine.segments().size()).equals(mine.segments())) {
        throw new BackupRefusedException(
            path + " names other segments than the store's: the two have different histories");
      }
    }
  }

  private void record(Link link) throws IOException {
    long number = link.record().number();
    to.publish(
        there.record(number),
        BucketBackup.document(log, chain.path(number), HorizonRecord.MAX_BYTES, link.digest()));
  }

  /** The last segment of the source that ends at or before a record. */
  private long lastSegmentOf(long record) throws IOException {
    long last = 0;
    for (String name : log.storage().listIfThere(from.segments(), Freshness.PERMITTED)) {
      last = Math.max(last, Numbered.parse(name).orElse(0));
    }
    while (last > floor.segment()
        && SegmentReader.header(log, last, SegmentMarks.none(log)).lastRecord() > record) {
      last--;
    }
    return last;
  }

  private Name segment(long number) throws IOException {
    return to.draft(there.segments(), log.storage(), from.segment(number), checked(number));
  }

  /** SHA-256 of the segment that the checkpoint names; where it names none, of a whole one. */
  private String checked(long number) throws IOException {
    var marks = new SegmentMarks(log, checkpoint);
    try (SegmentReader reader = SegmentReader.open(log, number, marks)) {
      if (checkpoint.flatMap(c -> c.digestOf(number)).isEmpty()) {
        new SegmentVerifier(reader).verify(bucket -> {});
      }
      return reader.sha256();
    }
  }

  /** The floor and the checkpoint: what they are about is there. */
  private void marks() throws IOException {
    if (checkpoint.isPresent()) {
      long number = checkpoint.get().number();
      if (!to.has(there.checkpoint(number))) {
        to.publish(there.checkpoint(number), checkpoint.get().encode());
      }
    }
    if (!floor.isNone() && !to.has(there.floor(floor.segment()))) {
      to.publish(there.floor(floor.segment()), floor.encode());
    }
  }

  /** Removes what stands behind checkpoint and floor, and intents. */
  private void clean(Link tip) throws IOException {
    var gone = new ArrayList<Name>();
    for (String name : to.names(there.intents())) {
      if (LogLayout.intentReach(name).orElse(Long.MAX_VALUE) <= tip.record().to()) {
        gone.add(there.intents().resolve(name));
      }
    }
    for (String name : to.names(there.segments())) {
      if (Numbered.parse(name).orElse(Long.MAX_VALUE) <= floor.segment()) {
        gone.add(there.segments().resolve(name));
      }
    }
    long line = checkpoint.map(Checkpoint::number).orElse(0L);
    for (String name : to.names(there.checkpoints())) {
      if (Numbered.parse(name).orElse(line) < line
          || LogLayout.floorNumber(name).orElse(floor.segment()) < floor.segment()) {
        gone.add(there.checkpoints().resolve(name));
      }
    }
    for (Name file : gone) {
      to.remove(file);
    }
    if (line > 0) {
      buckets.removeThrough(checkpoint.get().to());
      records(line);
    }
  }

  private void records(long line) throws IOException {
    for (String group : to.names(there.records())) {
      Name place = there.records().resolve(group);
      List<String> names = to.names(place);
      for (String name : names) { // seals before records
        if (SealName.parse(name).filter(s -> s.number() < line).isPresent()) {
          to.remove(place.resolve(name));
        }
      }
      for (String name : names) {
        if (Numbered.parse(name).orElse(line) < line) {
          to.remove(place.resolve(name));
        }
      }
    }
  }
}
