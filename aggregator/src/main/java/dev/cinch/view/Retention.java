package dev.cinch.view;

import static java.util.Objects.requireNonNull;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.Log;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.format.ChainPlace;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.fs.ForeignEntryException;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.layout.DataFileName;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.layout.Numbered;
import dev.cinch.bag.read.SegmentReader;
import dev.cinch.bag.read.Segments;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
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
  private final StoreFs fs;
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
    this.fs = this.log.store().fs();
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
   * @param stale files that nobody needs: those that crashes left in {@code segments} and {@code
   *     checkpoints}, and checkpoints that have been behind another for a day
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
  public Plan plan(Consumer<Path> each) throws IOException {
    Optional<SegmentHeader> due = due();
    Optional<ChainPlace> line =
        due.isPresent() ? due.map(ChainPlace::of) : chain.checkpoint().map(ChainPlace::of);
    var counter = new Counter(each);
    if (line.isPresent()) {
      new RetiredTree(log).walk(line.get(), counter);
    }
    List<Path> stale = stale();
    stale.forEach(each);
    return new Plan(line, due.isPresent(), counter.buckets, counter.records, stale.size());
  }

  /**
   * Publishes a checkpoint if one is due, then deletes what stands behind the last one.
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
  public Plan run(Consumer<Path> each) throws IOException {
    Optional<SegmentHeader> due = due();
    if (due.isPresent()) {
      publish(due.get());
    }
    Optional<ChainPlace> line = chain.checkpoint().map(ChainPlace::of);
    var remover = new Remover(each);
    if (line.isPresent()) {
      // Somebody else may have linked it a moment ago: it must last before anything goes.
      fs.forceDirectory(log.layout().checkpoints());
      log.requireSame();
      new RetiredTree(log).walk(line.get(), remover);
    }
    List<Path> stale = stale();
    long removed = 0;
    for (Path file : stale) {
      try {
        fs.unlink(file);
        removed++;
      } catch (IOException e) {
        LOG.debug("{}: stays: {}", file, e.toString()); // for a later run, or not ours
      }
    }
    var done = new Plan(line, due.isPresent(), remover.buckets, remover.records, removed);
    remover.complain(done);
    return done;
  }

  /** The segment to retire up to; empty if no further one's retention time is over. */
  private Optional<SegmentHeader> due() throws IOException {
    Optional<HorizonChain.Link> unused = chain.freshTip(); // nothing goes where that is damaged
    long cutoff = log.store().fsClock().now() - retentionNanos;
    while (true) {
      Optional<Checkpoint> before = chain.checkpoint();
      try {
        return due(cutoff);
      } catch (IOException e) {
        if (chain.checkpoint().equals(before)) {
          throw e;
        }
        LOG.debug("{}: {}; somebody else retires", log.layout().name(), e.toString());
      }
    }
  }

  private Optional<SegmentHeader> due(long cutoff) throws IOException {
    long last = segments.last(true).orElse(0);
    long behind = chain.checkpoint().map(Checkpoint::segment).orElse(0L);
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
    fs.forceDirectory(log.layout().segments());
    var covered = new ArrayList<Checkpoint.Covered>();
    try {
      var audit = new SegmentAudit(log, before);
      covered.addAll(before.map(Checkpoint::segments).orElse(List.of()));
      while (covered.size() < last.number()) {
        covered.add(audit.check(covered.size() + 1L));
      }
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
    log.store()
        .fresh()
        .publish(
            log.layout().checkpoint(due.number()), bytes, log.store().fileMode(), log::requireSame);
    Optional<Checkpoint> there = chain.checkpoint();
    if (there.isPresent() && there.get().number() > due.number()) {
      LOG.debug("{}: somebody else retires more; ours, behind theirs, means nothing", due);
    } else if (there.isEmpty() || !there.get().equals(due)) {
      throw new DamagedException(
          log.layout().checkpoint(due.number()), 0, due.toString(), there.toString());
    }
  }

  private List<Path> stale() throws IOException {
    long cutoff = log.store().fsClock().now() - STALE_NANOS;
    var stale = new ArrayList<Path>();
    var checkpoints = new TreeMap<Long, Path>(Comparator.reverseOrder());
    for (Path directory : List.of(log.layout().segments(), log.layout().checkpoints())) {
      for (String name : fs.list(directory)) {
        Path file = directory.resolve(name);
        OptionalLong number = Numbered.parse(name);
        if (number.isPresent() && directory.equals(log.layout().checkpoints())) {
          checkpoints.put(number.getAsLong(), file);
        } else if (LogLayout.isTemporary(name) && changedBefore(file, cutoff)) {
          stale.add(file);
        }
      }
    }
    boolean behind = false; // one that has stood long enough for everyone to see it
    for (Path checkpoint : checkpoints.values()) {
      if (behind) {
        stale.add(checkpoint);
      }
      behind |= changedBefore(checkpoint, cutoff);
    }
    return stale;
  }

  private boolean changedBefore(Path file, long time) throws IOException {
    try {
      return fs.status(file).changeTime() < time;
    } catch (NoSuchFileException e) {
      return false;
    }
  }

  private final class Counter implements RetiredTree.Visitor {
    private final Consumer<Path> each;
    private long buckets;
    private long records;

    Counter(Consumer<Path> each) {
      this.each = each;
    }

    @Override
    public void bucket(Path directory) throws IOException {
      try {
        List<String> unused = fs.list(directory);
      } catch (ForeignEntryException e) {
        foreign(e);
        return;
      } catch (NoSuchFileException e) {
        return; // somebody else retired it
      }
      buckets++;
      each.accept(directory);
    }

    @Override
    public void foreign(ForeignEntryException e) {
      LOG.warn("{}", e.getMessage());
    }

    @Override
    public void record(Path file) {
      records++;
      each.accept(file);
    }

    @Override
    public void seal(Path file) {}

    @Override
    public void parent(Path directory) {}
  }

  private final class Remover implements RetiredTree.Visitor {
    private final Consumer<Path> each;
    private long buckets;
    private long records;
    private long blocked;
    private @Nullable Path blockedAt;
    private int blockedOwner;
    private @Nullable IOException blockedWhy;

    Remover(Consumer<Path> each) {
      this.each = each;
    }

    @Override
    public void foreign(ForeignEntryException e) {
      if (blocked++ == 0) {
        blockedWhy = e;
      } else {
        LOG.warn("{}", e.getMessage()); // the first one is thrown
      }
    }

    /** What one user may not remove keeps nothing else. */
    private void blocked(Path directory, IOException e) throws IOException {
      int owner;
      try {
        owner = fs.status(directory).uid();
      } catch (NoSuchFileException gone) {
        return; // somebody who may has retired it since
      }
      if (blocked++ == 0) {
        blockedAt = directory;
        blockedOwner = owner;
        blockedWhy = e;
      }
    }

    void complain(Plan done) throws RetireBlockedException {
      Path at = blockedAt;
      IOException why = blockedWhy;
      if (why instanceof ForeignEntryException e) {
        throw new RetireBlockedException(e, blocked - 1, done);
      }
      if (at != null && why != null) {
        throw new RetireBlockedException(at, blockedOwner, blocked - 1, done, why);
      }
    }

    /**
     * Rule R3: data files first, then the prelock, the lock last. A late writer may come back at
     * any time; what it makes again goes in the next run.
     */
    @Override
    public void bucket(Path directory) throws IOException {
      try {
        makeWritable(directory);
        boolean stays = false;
        for (String name : fs.list(directory)) {
          Path file = directory.resolve(name);
          if (!LogLayout.MARKS.contains(name)) {
            stays |= !removeOurs(file, name);
          }
        }
        stays |= !removeOurs(LogLayout.prelock(directory), "");
        stays |= !removeOurs(LogLayout.lock(directory), "");
        if (stays) {
          return;
        }
        fs.rmdir(directory);
        buckets++;
        each.accept(directory);
      } catch (NoSuchFileException e) {
        LOG.debug("{}: somebody else retired it", directory);
      } catch (DirectoryNotEmptyException e) {
        LOG.info(
            "{}: a late writer came back, or has a file open; the next run retires it", directory);
      } catch (AccessDeniedException e) {
        blocked(directory, e);
      } catch (ForeignEntryException e) {
        foreign(e);
      }
    }

    /**
     * Whether nothing of it is left, but what a process has open; what is not ours stays, and is
     * told.
     *
     * @param name as listed; empty: of a prelock or a lock
     */
    private boolean removeOurs(Path file, String name) throws IOException {
      try {
        if (!name.isEmpty() && !isOurs(name)) {
          throw ForeignEntryException.notOurs(file);
        }
        remove(file);
        return true;
      } catch (ForeignEntryException e) {
        if (!file.equals(e.path())) {
          throw e; // the bucket itself
        }
        foreign(e);
        return false;
      }
    }

    private static boolean isOurs(String name) {
      return DataFileName.parse(name).isPresent()
          || LogLayout.isLockPart(name)
          || LogLayout.isTemporary(name)
          || LogLayout.isHeldOpen(name);
    }

    /** Whoever may not change its mode may still be allowed to write to it. */
    private void makeWritable(Path directory) throws IOException {
      try {
        fs.chmod(directory, log.store().directoryMode());
      } catch (NoSuchFileException e) {
        throw e;
      } catch (IOException e) {
        LOG.debug("{}: mode left: {}", directory, e.toString());
      }
    }

    /** Whether it is gone; a file that was removed and is still open here stays until it is not. */
    @CanIgnoreReturnValue
    private boolean remove(Path file) throws IOException {
      try {
        fs.unlink(file);
        return true;
      } catch (NoSuchFileException e) {
        return true; // another run, or an earlier one that a crash stopped, was here
      } catch (AccessDeniedException e) {
        throw e;
      } catch (FileSystemException e) {
        if (!LogLayout.isHeldOpen(String.valueOf(file.getFileName()))) {
          throw e;
        }
        LOG.debug("{}: a process of this machine has it open: {}", file, e.toString());
        return false;
      }
    }

    @Override
    public void record(Path file) throws IOException {
      try {
        if (remove(file)) {
          records++;
          each.accept(file);
        }
      } catch (AccessDeniedException e) {
        blocked(requireNonNull(file.getParent()), e);
      } catch (ForeignEntryException e) {
        foreign(e);
      }
    }

    @Override
    public void seal(Path file) throws IOException {
      try {
        boolean unused = remove(file);
      } catch (AccessDeniedException e) {
        blocked(requireNonNull(file.getParent()), e);
      } catch (ForeignEntryException e) {
        foreign(e);
      }
    }

    @Override
    public void parent(Path directory) {
      try {
        fs.rmdir(directory);
      } catch (IOException e) {
        LOG.debug("{}: stays: {}", directory, e.toString());
      }
    }
  }
}
