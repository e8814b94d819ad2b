package dev.cinch.bag;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.LogStatus.LeftIntent;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.close.Intents;
import dev.cinch.bag.close.UnrecordedLocks;
import dev.cinch.bag.close.View;
import dev.cinch.bag.file.DataFiles;
import dev.cinch.bag.file.SegmentMarks;
import dev.cinch.bag.file.SegmentReader;
import dev.cinch.bag.format.ChainPlace;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.Floor;
import dev.cinch.bag.format.HorizonRecord.Sums;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.read.Segments;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Looks how a log is doing: by its last record, which sums up what was settled, by what is not
 * settled yet, and by names. Costs the same however much was settled. Reads no settled messages and
 * judges no leases, and may be a moment old; {@code verify} is for who wants to be sure.
 * Thread-safe.
 */
@CheckReturnValue
public final class LogSurvey {
  /** The directory of a closed bucket, its prelock and its lock; of an open one, one data file. */
  private static final int ENTRIES_OF_BUCKET = 3;

  private final LogContext log;
  private final HorizonChain chain;

  public LogSurvey(LogContext log) {
    this.log = log;
    this.chain = new HorizonChain(log);
  }

  /**
   * Looks.
   *
   * @throws dev.cinch.bag.format.DamagedException if what it has to read is damaged or missing
   */
  public LogStatus look() throws IOException {
    return View.read(
        () -> chain.view(Freshness.PERMITTED),
        view -> {
          if (view.tip().isEmpty()) {
            new UnrecordedLocks(log).refuseAny();
          }
          return status(view);
        });
  }

  /**
   * Where the settled part ends, and what is behind it; counts nothing.
   *
   * @param settledThrough as in {@link LogStatus}
   * @param newestOpen timestamp of the newest message that is not settled; {@link Long#MIN_VALUE}
   *     if there is none
   */
  public record Edge(long settledThrough, long newestOpen) {}

  /** Looks at the end of the log only. */
  public Edge edge() throws IOException {
    long settled = chain.permittedTip().map(t -> t.record().to()).orElse(Long.MIN_VALUE);
    return new Edge(settled, newestOf(open(settled)));
  }

  private List<Bucket> open(long settled) throws IOException {
    return log.buckets().permitted(settled, Long.MAX_VALUE);
  }

  private LogStatus status(View view) throws IOException {
    Optional<Link> line = line(view);
    Optional<Link> tip = line.isPresent() && number(line) > number(view.tip()) ? line : view.tip();
    long settled = tip.map(t -> t.record().to()).orElse(Long.MIN_VALUE);
    Sums sums = sums(tip);
    Floor floor = view.floor();
    var marks = new SegmentMarks(log, view.checkpoint());
    new Segments(log).check(view, marks);
    if (floor.isNone() && view.lastSegment() > 0) { // else the floor is lost
      SegmentHeader unused = SegmentReader.header(log, 1, marks);
    }
    long segments = new Segments(log).lastAsPermitted().orElse(0);
    List<Bucket> open = open(settled);
    long newestOpen = newestOf(open);
    long newestSettled = sums.newest() < floor.to() ? Long.MIN_VALUE : sums.newest();
    long buckets = open.size() + sums.buckets() - sums(line).buckets();
    return new LogStatus(
        settled,
        number(tip),
        open,
        sums.messages() - floor.messages(),
        sums.bytes() - floor.bytes(),
        ENTRIES_OF_BUCKET * buckets + number(tip) - number(line),
        Math.max(newestOpen, newestSettled),
        newestOpen <= newestSettled,
        segments - floor.segment(),
        segments == view.lastSegment()
            ? view.retired()
            : SegmentReader.header(log, segments, marks).to(),
        floor.to(),
        intent(settled));
  }

  private static Sums sums(Optional<Link> link) {
    return link.map(l -> l.record().sums()).orElse(Sums.NONE);
  }

  private static long number(Optional<Link> link) {
    return link.map(l -> l.record().number()).orElse(0L);
  }

  /** The record at the line, if there is one. It may have been drawn since the tip was read. */
  private Optional<Link> line(View view) throws IOException {
    Optional<Checkpoint> checkpoint = view.checkpoint();
    if (checkpoint.isEmpty()) {
      return Optional.empty();
    }
    long number = checkpoint.get().number();
    if (number == number(view.tip())) {
      return view.tip();
    }
    Link line = chain.readKept(number);
    ChainPlace.of(checkpoint.get())
        .is(line.record(), line.digest(), chain.path(number), "the checkpoint");
    return Optional.of(line);
  }

  /** The newest timestamp in the last of these buckets that has a message. */
  private long newestOf(List<Bucket> open) throws IOException {
    for (int i = open.size() - 1; i >= 0; i--) {
      Bucket bucket = open.get(i);
      long newest = Long.MIN_VALUE;
      try {
        for (DataFileName file : log.buckets().look(bucket, Freshness.CACHED).files()) {
          newest = Math.max(newest, last(bucket, file));
        }
      } catch (NoSuchFileException e) {
        continue; // retired since
      }
      if (newest > Long.MIN_VALUE) {
        return newest;
      }
    }
    return Long.MIN_VALUE;
  }

  private long last(Bucket bucket, DataFileName name) throws IOException {
    try {
      return new DataFiles(log, bucket, 1).last(name).orElse(Long.MIN_VALUE);
    } catch (NoSuchFileException e) {
      return Long.MIN_VALUE; // settled since
    }
  }

  private Optional<LeftIntent> intent(long settled) throws IOException {
    LeftIntent furthest = null;
    var intents = new Intents(log);
    for (Intents.Left intent : intents.left(Freshness.CACHED)) {
      if (intent.to() > settled && (furthest == null || intent.to() > furthest.reach())) {
        OptionalLong since = intents.madeAt(intent); // none: a record has reached it meanwhile
        if (since.isPresent() && Intents.canBeLeft(intent.to(), since.getAsLong())) {
          furthest = new LeftIntent(intent.to(), since.getAsLong());
        }
      }
    }
    return Optional.ofNullable(furthest);
  }
}
