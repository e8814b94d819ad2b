package dev.cinch.view;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.Log;
import dev.cinch.bag.close.ChainWalk;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.file.SegmentReader;
import dev.cinch.bag.format.ChainPlace;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.SegmentEncoder;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.read.SegmentFeed;
import dev.cinch.bag.read.Segments;
import dev.cinch.bag.storage.Storage;
import dev.cinch.bag.storage.Storage.Draft;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.LongConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Merges settled buckets into segments (section 10). Any number may run at once, on any machines: a
 * second one finds nothing to do, or the same content. Thread-safe; holds no resources.
 *
 * <p>Memory is bounded by the data files of one bucket, and 28 bytes for each 64 KiB of a segment.
 */
@CheckReturnValue
public final class Aggregator {
  private static final Logger LOG = LoggerFactory.getLogger(Aggregator.class);

  /**
   * Records without buckets wait until there are so many, or one with a bucket: else an idle log
   * would get a segment a day. At half an hour each that is two days and a half.
   */
  static final int EMPTY_RECORDS = 128;

  private final LogContext log;
  private final Limits limits;
  private final HorizonChain chain;
  private final Segments segments;
  private final SegmentFeed feed;
  private final LongConsumer progress;

  /**
   * How much goes into one segment. A segment has whole records, at least one; it ends before the
   * first record that would bring it past a limit.
   *
   * @param records at most, above 0
   * @param bytes of data files at most
   */
  public record Limits(int records, long bytes) {
    /** A thousand records or a quarter of a gibibyte. */
    public static final Limits DEFAULT = new Limits(1_000, 1L << 28);

    /** Buckets at most: what is held of the records in memory. */
    static final int BUCKETS = 20_000;

    public Limits {
      if (records < 1) {
        throw new IllegalArgumentException("a segment has at least one record");
      }
    }
  }

  /**
   * What a run did.
   *
   * @param published segments that it published, its own or found to be the same
   * @param lastSegment number of the log's last segment now; 0 if there is none
   * @param messages in the published segments
   * @param bytes of the published segments
   * @param to the time through which segments cover the log; {@link Long#MIN_VALUE} if there is
   *     none
   */
  public record Result(int published, long lastSegment, long messages, long bytes, long to) {}

  private record Published(SegmentHeader header, long messages, long bytes) {}

  public Aggregator(Log log) {
    this(log, Limits.DEFAULT);
  }

  public Aggregator(Log log, Limits limits) {
    this(log, limits, messages -> {});
  }

  /**
   * @param progress told the number of messages merged so far in a run, after every record
   */
  public Aggregator(Log log, Limits limits, LongConsumer progress) {
    this.log = log.context();
    this.progress = progress;
    this.limits = limits;
    this.chain = new HorizonChain(this.log);
    this.segments = new Segments(this.log);
    this.feed = new SegmentFeed(this.log);
  }

  /** As {@link #run(Duration)} without waiting: until segments cover all that is settled now. */
  public Result run() throws IOException {
    return run(Duration.ZERO);
  }

  /**
   * Builds every segment that is due. Waiting lets a segment grow: a run each minute that waits a
   * day publishes a segment a day, or full ones. What no segment covers is read from its buckets.
   *
   * @param wait a segment is due once its first record's end is so long past, by the filesystem's
   *     clock, and there is a bucket to cover, or more than a hundred records without; not
   *     negative. It then covers all that is settled, up to the limits.
   * @throws SegmentsDifferException if a published segment differs from what its records give here
   * @throws DamagedException if records, locks, data files or the last segment are damaged
   */
  public Result run(Duration wait) throws IOException {
    if (wait.isNegative()) {
      throw new IllegalArgumentException("a time to wait is not negative: " + wait);
    }
    long due = wait.isZero() ? Long.MAX_VALUE : log.store().now() - saturatedNanos(wait);
    int published = 0;
    long messages = 0;
    long bytes = 0;
    while (true) {
      Optional<SegmentHeader> before = segments.lastHeader(true);
      OptionalLong last = before.map(h -> OptionalLong.of(h.number())).orElse(OptionalLong.empty());
      List<Link> records;
      Optional<Published> mine;
      try {
        records = next(before, due);
        if (records.isEmpty()) {
          long to = before.map(SegmentHeader::to).orElse(Long.MIN_VALUE);
          return new Result(published, last.orElse(0), messages, bytes, to);
        }
        mine = publish(last.orElse(0) + 1, records, messages);
      } catch (SegmentsDifferException e) {
        throw e;
      } catch (IOException e) {
        if (segments.last(true).equals(last)) {
          throw e;
        }
        // We slept while others built the segment and retired its buckets: go on after it.
        LOG.debug("{}: {}; somebody else was faster", this.log.layout().name(), e.toString());
        continue;
      }
      if (mine.isPresent()) {
        published++;
        messages += mine.get().messages();
        bytes += mine.get().bytes();
      }
    }
  }

  /** A wait of centuries is for ever. */
  static long saturatedNanos(Duration d) {
    return d.compareTo(Duration.ofDays(100_000)) > 0 ? Long.MAX_VALUE / 2 : d.toNanos();
  }

  /**
   * The records of the next segment, checked to follow each other; empty if all are covered, or the
   * first that is not ends after {@code due}.
   */
  private List<Link> next(Optional<SegmentHeader> before, long due) throws IOException {
    ChainPlace covered = before.map(ChainPlace::of).orElse(ChainPlace.START);
    Optional<Link> tip = chain.freshTip();
    long last = tip.map(t -> t.record().number()).orElse(0L);
    if (last < covered.number()) { // a segment is published of records that are durable
      throw new DamagedException(
          log.layout().record(covered.number()),
          0,
          "record %d, which ends segment %d"
              .formatted(covered.number(), before.map(SegmentHeader::number).orElse(0L)),
          "no file: it is missing");
    }
    var records = new ArrayList<Link>();
    if (tip.isEmpty()) {
      return records;
    }
    if (last == covered.number()) {
      Link t = tip.get();
      covered.is(t.record(), t.digest(), log.layout().record(last), "the segment that ends there");
    }
    var walk = new ChainWalk(chain, tip.get(), covered);
    long bytes = 0;
    long buckets = 0;
    while (records.size() < limits.records()) {
      Optional<Link> next = walk.next();
      if (next.isEmpty()) {
        break;
      }
      Link link = next.get();
      if (records.isEmpty()
          && (link.record().to() > due || (due < Long.MAX_VALUE && isIdle(link, tip.get())))) {
        break;
      }
      bytes += feed.bytes(link.record());
      buckets += link.record().buckets().size();
      if (!records.isEmpty() && (bytes > limits.bytes() || buckets > Limits.BUCKETS)) {
        break;
      }
      records.add(link);
    }
    return records;
  }

  /** Asks the tree, since that takes a few listings, and the records would all have to be read. */
  private boolean isIdle(Link first, Link last) throws IOException {
    return last.record().number() - first.record().number() + 1 < EMPTY_RECORDS
        && !log.buckets().mayBeIn(first.record().from(), last.record().to());
  }

  private SegmentHeader header(long number, List<Link> records) {
    Link first = records.get(0);
    Link last = records.get(records.size() - 1);
    return new SegmentHeader(
        log.store().identity().id(),
        log.id(),
        number,
        first.record().number(),
        last.record().number(),
        first.record().from(),
        last.record().to(),
        last.digest(),
        log.bucketWidth());
  }

  /**
   * Writes, forces and links a segment, then reads back what stands there. Empty if somebody
   * published another range under the number first.
   */
  private Optional<Published> publish(long number, List<Link> records, long before)
      throws IOException {
    SegmentHeader header = header(number, records);
    Name name = log.layout().segment(number);
    Storage storage = log.storage();
    try (Draft draft = storage.draft(name)) {
      var encoder = new SegmentEncoder(header, draft::write);
      for (Link link : records) {
        feed.feed(link.record(), encoder);
        progress.accept(before + encoder.messages());
      }
      encoder.end();
      draft.finish();
      storage.secure(log.layout().segments()); // no segment must outlive the one before it
      chain.durable(records.get(records.size() - 1)); // nor the records that it is of
      log.requireSame();
      try {
        boolean unused = draft.publish(name); // the truth is what the name holds
      } catch (NoSuchFileException e) {
        LOG.debug("{}: the draft was swept: {}", name, e.toString());
      }
      storage.secure(log.layout().segments());
      SegmentHeader there = segments.header(number);
      if (!there.equals(header)) {
        boolean sameRecords =
            there.firstRecord() == header.firstRecord()
                && there.lastRecord() == header.lastRecord();
        if (sameRecords && chain.readUnlessRetired(header.lastRecord()).isPresent()) {
          throw new SegmentsDifferException(name, there.toString(), header.toString());
        }
        return Optional.empty();
      }
      compare(number, encoder.content());
      return Optional.of(new Published(header, encoder.messages(), encoder.length()));
    }
  }

  /** Packers may differ, and what they packed may not. */
  private void compare(long number, String computed) throws IOException {
    String published;
    try (SegmentReader reader = SegmentReader.open(log, number)) {
      published = "content of SHA-256 " + reader.content();
    } catch (DamagedException e) {
      published = "something damaged at offset " + e.offset();
    }
    if (!published.equals("content of SHA-256 " + computed)
        && chain.floor().segment() < number) { // else it expired meanwhile
      throw new SegmentsDifferException(
          log.layout().segment(number), published, "content of SHA-256 " + computed);
    }
  }
}
