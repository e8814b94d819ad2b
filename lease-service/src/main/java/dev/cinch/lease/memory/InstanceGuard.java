package dev.cinch.lease.memory;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.Shard;
import dev.cinch.lease.service.InstanceRegistry;
import dev.cinch.lease.table.LeaseBackend.Tenure;
import dev.cinch.lease.table.Refusals;
import dev.cinch.lease.time.SignedClock;
import dev.cinch.lease.time.SignedClock.Reading;
import dev.cinch.lease.witness.PublicKey;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What binds an instance of the service to those before and after it: its number, its ceilings, its
 * quarantine (rules L3, L9). Thread-safe; calls the registry from one thread at a time.
 */
@CheckReturnValue
final class InstanceGuard {
  /** Without a sign of life for so long the instance was paused, and looks; nanoseconds. */
  static final long PAUSED_AFTER = 5_000_000_000L;

  /** How often a service in use by nobody looks for a later instance, nanoseconds. */
  static final long LOOK_EVERY = 5_000_000_000L;

  /** How long after a failure an early renewal of the ceiling is put off, nanoseconds. */
  static final long RETRY_AFTER = 1_000_000_000L;

  private static final String LATER = "a later instance";

  private static final Logger log = LoggerFactory.getLogger(InstanceGuard.class);

  private final @Nullable InstanceRegistry registry;
  private final CeilingReach reach;
  private final long number;
  private final EarlierInstances earlier;
  private final LeaseEnds ends;
  private final SignedClock clock;
  private final LeaseEnds.StoreTurn turn;
  private final ComparedClock compared;

  /** What kind of error was logged and has not passed; of whoever has the turn. */
  private @Nullable Class<?> trouble;

  private volatile long published = Long.MIN_VALUE;
  private volatile boolean superseded;

  private final long keyEnd;

  /** Who has taken over, once that was looked at. */
  private volatile @Nullable String supersededBy;

  /** Pauses that were noticed. */
  private final AtomicLong pauses = new AtomicLong();

  /** How many of them the last look began after; written by whoever has the turn. */
  private volatile long lookedAfter;

  private volatile long lastAlive;
  private volatile long lookedAt;
  private volatile long retryAt;

  private volatile @Nullable String lastFailure;

  /** How often the registry failed; written by whoever has the turn. */
  private volatile long failures;

  /**
   * Takes a number and learns what earlier instances may have signed.
   *
   * @param registry null if there is no store
   * @param fresh without a registry: there was no instance before, or all its leases are known to
   *     be over and fenced
   * @param longestNanos the longest lease, which is waited for without a registry
   * @param aheadNanos how far above what is asked for ceilings are published at most
   * @param clock the service's time, which is trusted once the registry has compared it
   * @param start a reading of it, when the instance was started
   * @param mostLeft so many names of the instance before it can take over (rule L19)
   * @throws IOException if the registry can't be reached, or the clock is off; in that case no
   *     number was taken
   */
  InstanceGuard(
      @Nullable InstanceRegistry registry,
      boolean fresh,
      long longestNanos,
      long aheadNanos,
      SignedClock clock,
      Reading start,
      int mostLeft)
      throws IOException {
    this.registry = registry;
    this.reach = new CeilingReach(aheadNanos);
    this.clock = clock;
    this.turn = new LeaseEnds.StoreTurn(() -> clock.read().monotonic());
    this.lastAlive = start.monotonic();
    this.retryAt = start.monotonic();
    this.lookedAt = start.monotonic();
    this.compared = new ComparedClock(clock, start);
    if (registry != null) {
      registry.checkClock(start.wall());
      // In this order: whoever publishes after the second step sees the number of the first.
      number = registry.takeNumber();
      earlier = EarlierInstances.of(registry, start, mostLeft);
      keyEnd = registry.keyEnd();
      ends = new LeaseEnds(registry, turn, number);
      clock.trust(start);
    } else {
      number = Math.max(1, start.now() / 1_000_000);
      keyEnd = PublicKey.NEVER;
      earlier = EarlierInstances.guessed(fresh, longestNanos, start);
      ends = new LeaseEnds(null, turn, number);
    }
  }

  long number() {
    return number;
  }

  /**
   * That the names are this instance's to grant (rule L16).
   *
   * @throws LeaseRefusedException {@code OTHER_SHARD} if all are another's; {@code INVALID} if they
   *     are of several shards
   */
  void requireShard(List<LeaseName> names) throws LeaseRefusedException {
    if (shard().map().count() > 1) {
      requireLatest(); // of an earlier map this one has nothing to say
      Refusals.requireShard(shard(), names);
    }
  }

  /** The names that it has. */
  Shard shard() {
    return registry == null ? Shard.WHOLE : registry.shard();
  }

  /** What instances before this one may have signed. */
  EarlierInstances earlier() {
    return earlier;
  }

  /**
   * Leaves last words (rule L19), once nothing is signed any more.
   *
   * @return whether they are there; not if no ceiling was ever published, since then they say
   *     nothing, nor if another instance has taken over
   */
  boolean leave(Supplier<Optional<byte[]>> words) throws IOException {
    InstanceRegistry to = registry;
    if (to == null || superseded || published == Long.MIN_VALUE) {
      return false;
    }
    Optional<byte[]> bytes = words.get();
    if (bytes.isEmpty()) {
      return false;
    }
    if (!turn.takeSoon()) {
      throw new IOException("the store does not answer");
    }
    try {
      to.leave(bytes.get());
      return true;
    } finally {
      turn.end();
    }
  }

  /**
   * Asks to sign an expiry so long from now. Does I/O where a ceiling has to be published or a
   * later instance looked for.
   *
   * @return the highest expiry that may be signed, at least {@code at.now() + durationNanos}
   * @throws LeaseRefusedException {@code SUPERSEDED} for good; {@code NOT_YET} when the store can't
   *     be reached, another thread waits for it, or the clock is off: then nothing may be signed
   */
  long permit(Reading at, long durationNanos) throws LeaseRefusedException {
    requireLatest();
    if (registry == null) {
      return Long.MAX_VALUE;
    }
    noteAlive(at);
    long wanted = compared.latest(at) + durationNanos;
    if (wanted > keyEnd) {
      throw Refusals.keyEnds(keyEnd);
    }
    if (mustLook() || published < wanted || compared.isOld(at)) {
      if (!turn.takeSoon()) {
        // A store that hangs takes one of a server's threads, and not all: releases need no store.
        throw Refusals.notYet(
            "the lease service waits for the store, which does not answer", RETRY_AFTER);
      }
      try {
        if (mustLook()) {
          look(registry, at);
        }
        if (published < wanted) {
          publish(registry, at, wanted - at.now());
        }
        if (compared.isOld(at)) {
          compared.compare(registry);
        }
      } catch (IOException | UncheckedIOException e) {
        failed(e);
        throw Refusals.notYet(
            "the lease service can't publish a ceiling in the store; it says: " + e.getMessage(),
            RETRY_AFTER);
      } finally {
        turn.end();
      }
    } else if (isDue(at)) {
      early(registry, at, true);
    }
    requireLatest();
    return published;
  }

  /** Nothing that expires later is signed. */
  long keyEnd() {
    return keyEnd;
  }

  /**
   * As {@link #permit}, for callers that must not wait: the ceiling is kept ahead by others.
   *
   * @throws StoreUse.StoreNeededException if the store has to be asked first
   */
  long permitNow(Reading at, long durationNanos) throws LeaseRefusedException {
    requireLatest();
    if (registry == null) {
      return Long.MAX_VALUE;
    }
    noteAlive(at);
    long permitted = published;
    if (mustLook() || permitted < compared.latest(at) + durationNanos || compared.isOld(at)) {
      throw new StoreUse.StoreNeededException();
    }
    return permitted;
  }

  /** Keeps the ceiling ahead, off the path of requests. */
  void maintain(Reading at) {
    if (registry == null || isSuperseded()) {
      return;
    }
    noteAlive(at);
    if (published != Long.MIN_VALUE && isDue(at)) {
      early(registry, at, true);
    } else if (at.monotonic() - lookedAt >= LOOK_EVERY && at.monotonic() - retryAt >= 0) {
      early(registry, at, false);
    }
  }

  /** Takes note of what was granted or prolonged: the ceiling goes on ahead of that. */
  void noteGranted(Reading at, long durationNanos) {
    reach.note(at.now(), durationNanos);
  }

  /** Whether such an expiry can be signed without a higher ceiling. */
  boolean isCovered(Reading at, long durationNanos) {
    return registry == null || at.now() + durationNanos <= published;
  }

  private boolean isDue(Reading at) {
    return reach.isShort(published - at.now()) && at.monotonic() - retryAt >= 0;
  }

  /**
   * Publishes a ceiling that is due, or looks for a later instance; nothing while another thread is
   * at it.
   */
  private void early(InstanceRegistry store, Reading at, boolean publishing) {
    if (!turn.takeIfFree()) {
      return; // The present ceiling still serves.
    }
    try {
      if (!publishing) {
        look(store, at);
      } else if (isDue(at)) {
        publish(store, at, 0);
      }
    } catch (IOException | UncheckedIOException e) {
      retryAt = at.monotonic() + RETRY_AFTER;
      failed(e);
    } finally {
      turn.end();
    }
  }

  /**
   * @param durationNanos what the caller asks for beside what was granted
   */
  private void publish(InstanceRegistry to, Reading at, long durationNanos) throws IOException {
    long paused = pauses.get();
    long longest = reach.longest(durationNanos);
    long ceiling = Math.min(keyEnd, at.now() + longest + reach.ahead(longest));
    if (ceiling <= published) {
      return;
    }
    // What is published can't be taken back: a later instance fences up to it, whenever that is.
    compared.compare(to);
    if (!to.publishCeiling(ceiling)) {
      stop(to);
      return;
    }
    lookedAt = at.monotonic();
    // Only now: after an error it is unknown whether the file is there, and nothing relies on it.
    published = ceiling;
    reach.published(at.now(), longest);
    lookedAfter = paused;
    succeeded();
  }

  /**
   * Ends leases of this instance that have expired, so that their names may be granted on or
   * forgotten (rule L11).
   *
   * @throws LeaseRefusedException {@code SUPERSEDED} if one goes on elsewhere; {@code NOT_YET} if
   *     the store did not answer
   */
  void end(List<Tenure> tenures) throws LeaseRefusedException {
    if (!ends.isMine(
        tenures.stream().map(t -> new InstanceRegistry.End(t.correlation(), number)).toList())) {
      superseded = true; // nobody else resumes them
      if (registry != null && turn.takeSoon()) {
        try {
          stop(registry);
        } finally {
          turn.end();
        }
      } else {
        supersededBy = LATER;
      }
    }
    requireLatest();
  }

  /** What this instance may end, and resume. */
  LeaseEnds ends() {
    return ends;
  }

  /** How right the clock is. */
  ComparedClock compared() {
    return compared;
  }

  /** Whether the clock is to be compared before anything is done by it. */
  boolean mustLookAtClock(Reading at) {
    return at.jumped() || compared.isOff();
  }

  /**
   * The time to go by when the wall clock was found to have jumped. That clock may be right all the
   * same: the machine slept, or its clock was set. Does I/O, at most once in a while when the clock
   * is wrong.
   *
   * <p>While one thread does the I/O the others wait for what it finds: a call that went on with
   * the old time would be refused a watermark that is right, and be granted an expiry too early.
   * They wait no longer than {@link LeaseEnds.StoreTurn#PATIENCE} though, since a store that hangs
   * must not make all renewals hang that need nothing from it; then the service's time goes on by
   * the monotonic clock, as it does when the clock is wrong.
   */
  Reading afterJump(Reading jumped) {
    if (registry == null) {
      return jumped; // Never so: without a registry no clock is trusted, and all are followed.
    }
    long failedBefore = failures; // Before the time of the retry, which is written before it.
    if (jumped.monotonic() - retryAt < 0) {
      return jumped;
    }
    if (!turn.takeSoon()) {
      return clock.read();
    }
    try {
      Reading again = clock.read();
      if (!mustLookAtClock(again) || failures != failedBefore) {
        return again; // Whoever was waited for has looked.
      }
      compared.compare(registry);
      succeeded();
      return clock.read();
    } catch (IOException | UncheckedIOException e) {
      Reading after = clock.read(); // The failure may have taken longer than the retry is put off.
      retryAt = after.monotonic() + RETRY_AFTER;
      failed(e);
      return after;
    } finally {
      turn.end();
    }
  }

  /** Says so once, and again when the reason is another one. With the turn. */
  private void failed(Exception e) {
    failures++;
    lastFailure = String.valueOf(e.getMessage());
    if (!e.getClass().equals(trouble)) {
      trouble = e.getClass();
      log.warn(
          "no ceilings can be published in the store, and nothing is granted above {}: {}",
          published == Long.MIN_VALUE ? "none" : Long.toString(published),
          e.toString());
    }
  }

  /** Why the store can't be used at the moment; empty if it could be when it was asked last. */
  Optional<String> failure() {
    return Optional.ofNullable(lastFailure);
  }

  private void succeeded() {
    lastFailure = null;
    if (trouble != null) {
      trouble = null;
      log.info("ceilings can be published in the store again");
    }
  }

  private void look(InstanceRegistry in, Reading at) throws IOException {
    long paused = pauses.get(); // one that comes while it looks asks for another look
    if (in.isLatest()) {
      lookedAfter = paused;
      lookedAt = at.monotonic();
      if (published != Long.MIN_VALUE && compared.isDue(at)) {
        compared.compare(in);
      }
    } else {
      stop(in);
    }
  }

  private void stop(InstanceRegistry in) {
    superseded = true; // before anything that may fail
    String by = LATER;
    try {
      by = in.latest();
    } catch (IOException | UncheckedIOException e) {
      log.debug("the later instance could not be looked at", e);
    }
    supersededBy = by;
    log.info("{} has taken over: instance {} grants nothing any more", by, number);
  }

  private void noteAlive(Reading at) {
    long silent = at.monotonic() - lastAlive;
    if (silent > PAUSED_AFTER) {
      long unused = pauses.incrementAndGet();
      log.info("no sign of life for {} ms: looking for a later instance", silent / 1_000_000);
    }
    if (silent > 0) {
      lastAlive = at.monotonic();
    }
  }

  /** Whether a pause was noticed that no look has followed. */
  private boolean mustLook() {
    return lookedAfter != pauses.get();
  }

  void requireLatest() throws LeaseRefusedException {
    if (superseded) {
      String by = supersededBy;
      throw Refusals.superseded(by == null ? LATER : by, number);
    }
  }

  boolean isSuperseded() {
    return superseded;
  }

  /** Which instance has taken over, in words; empty if none has, or it is being looked at. */
  Optional<String> supersededBy() {
    return Optional.ofNullable(supersededBy);
  }

  boolean hasCeilings() {
    return registry != null;
  }

  OptionalLong publishedCeiling() {
    return published == Long.MIN_VALUE ? OptionalLong.empty() : OptionalLong.of(published);
  }
}
