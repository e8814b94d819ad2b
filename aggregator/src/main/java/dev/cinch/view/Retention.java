package dev.cinch.view;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.Log;
import dev.cinch.bag.close.DataFileSweep;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.View;
import dev.cinch.bag.file.SegmentReader;
import dev.cinch.bag.file.SegmentVerifier;
import dev.cinch.bag.format.ChainPlace;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.HorizonRecord.Sums;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Numbered;
import dev.cinch.bag.model.TableLayout;
import dev.cinch.bag.read.SegmentFeed;
import dev.cinch.bag.read.Segments;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.Storage;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Retires buckets and records that a segment covers and whose retention time is over (rules R1 to
 * R3). Any number may run at once; what a crash leaves, the next run finishes. Thread-safe.
 *
 * <p>Whole segments are retired; those without a bucket at once. Time is the filesystem's.
 */
@CheckReturnValue
public final class Retention {
  private static final Logger LOG = LoggerFactory.getLogger(Retention.class);

  /**
   * A temporary file that is older was left by a crash; a checkpoint that is older is in everyone's
   * listings, also the cached ones of those who may not write, so that nobody needs those behind.
   */
  static final long STALE_NANOS = Duration.ofDays(1).toNanos();

  private final LogContext log;
  private final Storage storage;
  private final long retentionNanos;
  private final HorizonChain chain;
  private final Segments segments;

  /**
   * @param retention how long after its end a bucket stays at least; not negative
   */
  public Retention(Log log, Duration retention) {
    if (retention.isNegative()) {
      throw new IllegalArgumentException("a retention time is not negative: " + retention);
    }
    this.log = log.context();
    this.storage = this.log.storage();
    this.retentionNanos = retention.toNanos();
    this.chain = new HorizonChain(this.log);
    this.segments = new Segments(this.log);
  }

  /**
   * What goes, or went.
   *
   * @param line behind which everything goes; empty: nothing was ever retired, and nothing is due
   * @param publishes whether there is a new checkpoint
   * @param buckets directories
   * @param records files of the horizon
   * @param stale files that nobody needs: those that crashes left in {@code segments}, {@code
   *     checkpoints} and tables, checkpoints that have been behind another for a day, and what a
   *     table has had no more for a day
   */
  public record Plan(
      Optional<ChainPlace> line, boolean publishes, long buckets, long records, long stale) {}

  /** What {@link #run} would do now; changes nothing. */
  public Plan plan() throws IOException {
    return plan(path -> {});
  }

  /**
   * As {@link #plan()}.
   *
   * @param each told of every bucket directory, record and stale file that would go
   */
  public Plan plan(Consumer<Name> each) throws IOException {
    Optional<SegmentHeader> due = due();
    Optional<ChainPlace> line =
        due.isPresent() ? due.map(ChainPlace::of) : chain.checkpoint().map(ChainPlace::of);
    var retired = new RetiredTree(log, each, false);
    if (line.isPresent()) {
      retired.go(line.get());
    }
    List<Name> stale = stale();
    stale.forEach(each);
    var plan = new Plan(line, due.isPresent(), retired.buckets(), retired.records(), stale.size());
    retired.obstacles().complain(plan);
    return plan;
  }

  /**
   * Publishes a checkpoint if one is due, then deletes what stands behind the last one, and data
   * files whose messages stand in a lock that a record lists (rule R0).
   *
   * @throws DamagedException if a segment lacks anything that it is to be kept for; nothing was
   *     deleted then that was not behind an earlier checkpoint
   * @throws RetireBlockedException if this user may not delete all of it; the rest was deleted
   */
  @CanIgnoreReturnValue
  public Plan run() throws IOException {
    return run(path -> {});
  }

  /**
   * As {@link #run()}.
   *
   * @param each told of every bucket directory and record that went
   */
  @CanIgnoreReturnValue
  public Plan run(Consumer<Name> each) throws IOException {
    Optional<SegmentHeader> due = due();
    if (due.isPresent()) {
      publish(due.get());
    }
    Optional<ChainPlace> line = chain.checkpoint().map(ChainPlace::of);
    var retired = new RetiredTree(log, each, true);
    if (line.isPresent()) {
      // Somebody else may have linked it a moment ago: it must last before anything goes.
      storage.secure(log.layout().checkpoints());
      log.requireSame();
      retired.go(line.get());
    }
    new DataFileSweep(log)
        .all((bucket, e) -> retired.obstacles().add(e, log.layout().bucket(bucket)));
    List<Name> stale = stale();
    long removed = 0;
    for (Name file : stale) {
      try {
        storage.remove(file);
        removed++;
      } catch (IOException e) {
        retired.obstacles().add(e, file);
      }
    }
    var done = new Plan(line, due.isPresent(), retired.buckets(), retired.records(), removed);
    retired.obstacles().complain(done);
    return done;
  }

  /**
   * What an earlier run was to remove and could not, or no run by another user can. Changes
   * nothing.
   */
  public Optional<RetireBlockedException> blocked() throws IOException {
    Optional<ChainPlace> line = chain.checkpoint().map(ChainPlace::of);
    var retired = new RetiredTree(log, path -> {}, false);
    if (line.isPresent()) {
      long cutoff = log.store().now() - STALE_NANOS;
      ChainPlace earlier = null;
      for (String name : storage.list(log.layout().checkpoints(), Freshness.CACHED)) {
        OptionalLong number = Numbered.parse(name);
        if (number.isPresent()
            && (earlier == null || number.getAsLong() > earlier.number())
            && changedBefore(log.layout().checkpoints().resolve(name), cutoff)) {
          earlier = ChainPlace.of(chain.readCheckpoint(number.getAsLong()));
        }
      }
      retired.look(line.get(), earlier, cutoff);
    }
    return retired.obstacles().complaint(new Plan(line, false, 0, 0, 0));
  }

  /** The segment to retire up to; empty if no further one's retention time is over. */
  private Optional<SegmentHeader> due() throws IOException {
    Optional<HorizonChain.Link> unused = chain.freshTip(); // nothing goes where that is damaged
    long cutoff = log.store().now() - retentionNanos;
    return View.read(chain::line, view -> due(cutoff, view.lastSegment()));
  }

  private Optional<SegmentHeader> due(long cutoff, long behind) throws IOException {
    long last = segments.last(true).orElse(0);
    long low = segments.lastThrough(behind, last, cutoff);
    while (low < last && isEmpty(low + 1)) { // it holds nothing that anybody keeps
      low++;
    }
    if (low <= behind) {
      return Optional.empty();
    }
    return Optional.of(segments.header(low));
  }

  private boolean isEmpty(long segment) throws IOException {
    try (SegmentReader reader = SegmentReader.open(log, segment)) {
      return reader.trailer().buckets() == 0;
    }
  }

  /** Rule R1, then R2: looks whether everything is kept, then draws the line. */
  private void publish(SegmentHeader last) throws IOException {
    Optional<Checkpoint> before = chain.checkpoint();
    long verified = before.map(Checkpoint::segment).orElse(0L);
    if (verified >= last.number()) {
      LOG.debug("{}: somebody else retires as much, or more", log.layout().name());
      return;
    }
    // Who linked the segments may have stopped before it did: they must last before anything goes.
    storage.secure(log.layout().segments());
    var covered = new ArrayList<Checkpoint.Covered>();
    try {
      covered.addAll(before.map(Checkpoint::segments).orElse(List.of()));
      check(last.number(), before.map(Checkpoint::number).orElse(0L), covered);
    } catch (IOException e) {
      if (chain.checkpoint().equals(before)) {
        throw e;
      }
      LOG.debug("{}: {}; somebody else retires", log.layout().name(), e.toString());
      return;
    }
    var due =
        new Checkpoint(
            log.id(), last.lastRecord(), last.to(), last.lastDigest(), last.number(), covered);
    byte[] bytes = due.encode();
    if (bytes.length > Checkpoint.MAX_BYTES) {
      throw new IOException(
          "%s: a checkpoint of %d segments is longer than %d bytes, which is what readers take:"
                  .formatted(
                      log.layout().checkpoint(due.number()), covered.size(), Checkpoint.MAX_BYTES)
              + " nothing was deleted");
    }
    storage.giveNotice(log.layout().name());
    log.publish(log.layout().checkpoint(due.number()), bytes);
    Optional<Checkpoint> there = chain.checkpoint();
    if (there.isPresent() && there.get().number() > due.number()) {
      LOG.debug("{}: somebody else retires more; ours, behind theirs, means nothing", due);
    } else if (there.isEmpty() || !there.get().equals(due)) {
      throw new DamagedException(
          log.layout().checkpoint(due.number()), 0, due.toString(), there.toString());
    }
  }

  /**
   * Checks whole segments against the records, locks and data files that they cover, before these
   * are retired: from then on the segments are all there is (rule R1). Reads all of each, and makes
   * it once more.
   *
   * @param last number of the last segment to check
   * @param line number of the record before the first one
   * @param covered the segments before; those that were checked are added
   */
  private void check(long last, long line, List<Checkpoint.Covered> covered) throws IOException {
    var feed = new SegmentFeed(log);
    Optional<HorizonChain.Link> tip = chain.freshTip();
    long before = line;
    Sums sums = line == 0 ? Sums.NONE : chain.read(line).record().sums();
    while (covered.size() < last) {
      try (SegmentReader segment = SegmentReader.open(log, covered.size() + 1L)) {
        SegmentHeader header = segment.header();
        Name path = segment.path();
        if (header.firstRecord() != before + 1) {
          throw new DamagedException(
              path, 56, "record " + (before + 1) + " first", "" + header.firstRecord());
        }
        new SegmentVerifier(segment).verify(bucket -> {});
        if (tip.isEmpty()) {
          throw new DamagedException(path, 0, "the records that it covers", "none");
        }
        Sums mine = feed.check(segment, tip.get());
        before = header.lastRecord();
        sums = sums.plus(mine);
        Sums counted = chain.read(before).record().sums();
        if (!counted.equals(sums)) { // from then on nobody can tell
          throw new DamagedException(chain.path(before), 0, "" + sums, "" + counted);
        }
        covered.add(new Checkpoint.Covered(segment.digest(), mine.messages(), mine.bytes()));
      }
    }
  }

  private List<Name> stale() throws IOException {
    long cutoff = log.store().now() - STALE_NANOS;
    var stale = new ArrayList<Name>();
    var checkpoints = new TreeMap<Long, Name>(Comparator.reverseOrder());
    LogLayout layout = log.layout();
    stale.addAll(Tables.stale(log));
    var directories = new ArrayList<>(List.of(layout.segments(), layout.checkpoints()));
    for (TableLayout table : layout.tables()) {
      directories.addAll(List.of(table.root(), table.commits()));
    }
    for (Name directory : directories) {
      for (String name : storage.listIfThere(directory, Freshness.CACHED)) {
        Name file = directory.resolve(name);
        OptionalLong number = Numbered.parse(name);
        if (number.isPresent() && directory.equals(layout.checkpoints())) {
          checkpoints.put(number.getAsLong(), file);
        } else if (Name.isTemporary(name) && changedBefore(file, cutoff)) {
          stale.add(file);
        }
      }
    }
    boolean behind = false; // one that has stood long enough for everyone to see it
    for (Name checkpoint : checkpoints.values()) {
      if (behind) {
        stale.add(checkpoint);
      }
      behind |= changedBefore(checkpoint, cutoff);
    }
    return stale;
  }

  private boolean changedBefore(Name file, long time) throws IOException {
    try {
      return storage.changedAt(file) < time;
    } catch (NoSuchFileException e) {
      return false;
    }
  }
}
