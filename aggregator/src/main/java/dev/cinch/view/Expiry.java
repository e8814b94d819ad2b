package dev.cinch.view;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.Log;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.View;
import dev.cinch.bag.file.SegmentMarks;
import dev.cinch.bag.file.SegmentReader;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Floor;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Numbered;
import dev.cinch.bag.model.Stored;
import dev.cinch.bag.read.Segments;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.Storage;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.Consumer;

/**
 * Deletes a log's oldest messages, whole segments of them (rule R4): first the floor is published,
 * behind which nothing counts, then they go. Any number may run at once; what a crash leaves, the
 * next run deletes. Thread-safe.
 *
 * <p>Only what a checkpoint covers goes, and its last segment stays: there the next one goes on.
 */
@CheckReturnValue
public final class Expiry {
  private final Log target;
  private final LogContext log;
  private final Storage storage;
  private final long keepNanos;
  private final HorizonChain chain;
  private final Segments segments;

  /**
   * @param keep how long after the end of its segment a message stays at least; not negative
   */
  public Expiry(Log log, Duration keep) {
    if (keep.isNegative()) {
      throw new IllegalArgumentException("a time to keep is not negative: " + keep);
    }
    this.target = log;
    this.log = log.context();
    this.storage = this.log.storage();
    this.keepNanos = Aggregator.saturatedNanos(keep);
    this.chain = new HorizonChain(this.log);
    this.segments = new Segments(this.log);
  }

  /**
   * What expires, or did.
   *
   * @param before the time before which nothing is kept, nanoseconds since the Unix epoch; {@link
   *     Long#MIN_VALUE} if nothing ever expired
   * @param moves whether that is later than it was
   * @param messages in the segments that are behind the floor now and were not before
   * @param segments files that go; also what an earlier run left
   * @param bytes in them
   * @param blocked the end of the last segment that is old enough, and stays since no checkpoint
   *     covers a later one; empty if there is none
   */
  public record Plan(
      long before, boolean moves, long messages, long segments, long bytes, OptionalLong blocked) {}

  /**
   * What {@link #run} would do now; changes nothing.
   *
   * @param each told of every segment that would go
   */
  public Plan plan(Consumer<Name> each) throws IOException {
    return go(each, false);
  }

  /**
   * Publishes the floor, and deletes what lies behind it.
   *
   * @param each told of every segment that went
   * @throws DamagedException if segments, checkpoints or floors are damaged; nothing goes then
   */
  @CanIgnoreReturnValue
  public Plan run(Consumer<Name> each) throws IOException {
    return go(each, true);
  }

  /**
   * As {@link #run}; where the last segment is old enough too, and something was settled behind it,
   * builds a segment of that first, so that none is kept for being the last.
   */
  @CanIgnoreReturnValue
  public Plan runThroughLast(Consumer<Name> each) throws IOException {
    Plan done = go(each, true);
    if (done.moves() || done.blocked().isEmpty() || !isLastRetired()) {
      return done;
    }
    if (new Aggregator(target).run().published() == 0) {
      return done;
    }
    try {
      new Retention(target, Duration.ofNanos(keepNanos)).run(); // goes on over idle time at once
    } catch (RetireBlockedException e) {
      // Buckets behind the checkpoint, which count no more: gc tells of them.
    }
    return go(each, true);
  }

  /** Whether gc covers the last segment: then nothing is retired here that it keeps. */
  private boolean isLastRetired() throws IOException {
    long line = chain.checkpoint().map(Checkpoint::segment).orElse(0L);
    return line > 0 && segments.last(true).equals(OptionalLong.of(line));
  }

  /** Once more where somebody else was faster, and what was looked at is gone. */
  private Plan go(Consumer<Name> each, boolean really) throws IOException {
    return View.read(chain::line, view -> attempt(each, really, view));
  }

  private Plan attempt(Consumer<Name> each, boolean really, View view) throws IOException {
    segments.check(view, new SegmentMarks(log, view.checkpoint()));
    Floor floor = view.floor();
    long cutoff = log.store().now() - keepNanos;
    long there = segments.last(true).orElse(floor.segment());
    long last = segments.lastThrough(floor.segment(), there, cutoff);
    long line = view.lastSegment();
    OptionalLong blocked =
        last > floor.segment() && last >= line
            ? OptionalLong.of(segments.header(last).to())
            : OptionalLong.empty();
    long due = Math.min(last, line - 1);
    boolean moves = due > floor.segment();
    long kept = floor.messages();
    if (moves) {
      SegmentHeader h = segments.header(due);
      long bytes = view.checkpoint().orElseThrow().bytesThrough(due).orElseThrow();
      floor = new Floor(log.id(), due, h.to(), h.lastRecord(), messages(floor, due, view), bytes);
      floor.precedes(segments.header(due + 1), log.layout().floor(due));
      if (really) {
        publish(floor);
      }
    }
    var gone = new Gone(each);
    if (!floor.isNone()) {
      if (really) {
        // Somebody else may have linked it a moment ago: it must last before anything goes.
        storage.secure(log.layout().checkpoints());
        log.requireSame();
        Tables.expire(log, floor.to());
      }
      gone.delete(floor, really);
    }
    return new Plan(floor.to(), moves, floor.messages() - kept, gone.segments, gone.bytes, blocked);
  }

  /** How many messages there were up to a segment, by what these say at their ends. */
  private long messages(Floor before, long last, View view) throws IOException {
    var marks = new SegmentMarks(log, view.checkpoint());
    long messages = before.messages();
    for (long number = before.segment() + 1; number <= last; number++) {
      try (SegmentReader segment = SegmentReader.open(log, number, marks)) {
        messages += segment.trailer().messages();
      }
    }
    return messages;
  }

  private void publish(Floor floor) throws IOException {
    Name path = log.layout().floor(floor.segment());
    // The checkpoint that covers a later segment must not be lost when these are gone.
    storage.secure(log.layout().checkpoints());
    log.publish(path, floor.encode());
    Floor there = chain.floor();
    if (there.segment() == floor.segment() && !there.equals(floor)) {
      throw new DamagedException(path, 0, floor.toString(), there.toString());
    }
  }

  private final class Gone {
    private final Consumer<Name> each;
    private long segments;
    private long bytes;

    Gone(Consumer<Name> each) {
      this.each = each;
    }

    void delete(Floor floor, boolean really) throws IOException {
      List<String> names = storage.list(log.layout().segments(), Freshness.CERTAIN);
      for (String name : names.stream().sorted().toList()) {
        OptionalLong number = Numbered.parse(name);
        Name path = log.layout().segments().resolve(name);
        if (number.isPresent() && number.getAsLong() <= floor.segment()) {
          segment(path, really);
        }
      }
      if (!really) {
        return;
      }
      if (storage.changedAt(log.layout().floor(floor.segment()))
          >= log.store().now() - Retention.STALE_NANOS) {
        return; // those behind it stay for who sees an old listing
      }
      for (String name : storage.list(log.layout().checkpoints(), Freshness.CACHED)) {
        OptionalLong number = LogLayout.floorNumber(name);
        Name path = log.layout().checkpoints().resolve(name);
        if (number.isPresent() && number.getAsLong() < floor.segment()) {
          storage.remove(path);
        }
      }
    }

    private long size(Name path) throws IOException {
      try (Stored in = storage.open(path, Freshness.PERMITTED)) {
        return in.size();
      } catch (DamagedException e) {
        return 0; // nobody reads it any more
      }
    }

    private void segment(Name path, boolean really) throws IOException {
      try {
        long size = size(path); // closed by now, or an NFS client would keep it under another name
        if (really) {
          storage.remove(path);
        }
        segments++;
        bytes += size;
        each.accept(path);
      } catch (NoSuchFileException e) {
        return; // somebody else was faster
      }
    }
  }
}
