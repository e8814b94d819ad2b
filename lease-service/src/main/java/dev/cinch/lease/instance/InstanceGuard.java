package dev.cinch.lease.instance;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.Shard;
import dev.cinch.lease.instance.StoreCalls.StoreNeededException;
import dev.cinch.lease.instance.StoreCalls.StoreNeededException.Kind;
import dev.cinch.lease.rules.Refusals;
import dev.cinch.lease.time.SignedClock.Reading;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What an instance of the service may sign, by what is known of those before and after it: its
 * number, its ceiling, its quarantine (rules L3, L9). {@link Publisher} tells what it found in the
 * store; requests compare numbers. Does no I/O; thread-safe, but what the publisher tells comes
 * from one thread at a time.
 */
@CheckReturnValue
final class InstanceGuard {
  /** Without a sign of life for so long the instance was paused, and looks; nanoseconds. */
  static final long PAUSED_AFTER = 5_000_000_000L;

  /** How long after a failure what need not be done at once is put off, nanoseconds. */
  static final long RETRY_AFTER = 1_000_000_000L;

  private static final String LATER = "a later instance";

  private static final Logger log = LoggerFactory.getLogger(InstanceGuard.class);

  private final long number;
  private final EarlierInstances earlier;
  private final Shard shard;
  private final @Nullable Function<LeaseName, OptionalLong> lastEarlier;
  private final long keyEnd;
  private final CeilingReach reach;
  private final ComparedClock compared;

  private volatile long published = Long.MIN_VALUE;
  private volatile boolean superseded;

  /** Who has taken over, once that was looked at. */
  private volatile @Nullable String supersededBy;

  /** Pauses that were noticed. */
  private final AtomicLong pauses = new AtomicLong();

  /** How many of them the last look began after. */
  private volatile long lookedAfter;

  private volatile long lastAlive;
  private volatile long retryAt;
  private volatile @Nullable String failure;

  /**
   * @param number its number
   * @param earlier what instances before it may have signed
   * @param shard the names that it has
   * @param lastEarlier of the last instance before it that had this name, whose leases it may
   *     resume; empty if there is none; null without a store, where nothing is resumed
   * @param keyEnd nothing that expires later is signed
   * @param aheadNanos how far above what is asked for ceilings are published at most
   * @param start a reading that was compared, if there is a store
   */
  InstanceGuard(
      long number,
      EarlierInstances earlier,
      Shard shard,
      @Nullable Function<LeaseName, OptionalLong> lastEarlier,
      long keyEnd,
      long aheadNanos,
      Reading start) {
    this.number = number;
    this.earlier = earlier;
    this.shard = shard;
    this.lastEarlier = lastEarlier;
    this.keyEnd = keyEnd;
    this.reach = new CeilingReach(aheadNanos);
    this.compared = new ComparedClock(start);
    this.lastAlive = start.monotonic();
    this.retryAt = start.monotonic();
  }

  long number() {
    return number;
  }

  /** What instances before this one may have signed. */
  EarlierInstances earlier() {
    return earlier;
  }

  /** The names that it has. */
  Shard shard() {
    return shard;
  }

  /** Nothing that expires later is signed. */
  long keyEnd() {
    return keyEnd;
  }

  /** How right the clock is. */
  ComparedClock compared() {
    return compared;
  }

  /** How far ceilings go. */
  CeilingReach reach() {
    return reach;
  }

  boolean hasCeilings() {
    return lastEarlier != null;
  }

  /**
   * The instance whose lease on a name may be resumed (rule L10); empty if there is none.
   *
   * @throws LeaseRefusedException {@code NOT_HELD} without a store
   */
  OptionalLong lastEarlier(LeaseName name) throws LeaseRefusedException {
    if (lastEarlier == null) {
      throw Refusals.notHeld("a lease service without a store resumes no leases; acquire anew");
    }
    return lastEarlier.apply(name);
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

  /**
   * The highest expiry that may be signed at this moment (rule L3).
   *
   * @throws StoreNeededException if a later instance has to be looked for, or the clock compared
   * @throws LeaseRefusedException {@code SUPERSEDED} for good
   */
  long permit(Reading at) throws LeaseRefusedException, StoreNeededException {
    requireLatest();
    if (!hasCeilings()) {
      return Long.MAX_VALUE;
    }
    noteAlive(at);
    if (mustLook() || compared.isOld(at)) {
      throw new StoreNeededException(Kind.CEILING, store -> store.cover(Long.MIN_VALUE));
    }
    long permitted = published;
    return permitted == Long.MIN_VALUE ? permitted : permitted - compared.lateBy(at);
  }

  /**
   * What an expiry needs that is above {@link #permit}.
   *
   * @throws LeaseRefusedException {@code NOT_YET} if it outlasts the key
   */
  StoreNeededException needed(long expiry, Reading at) throws LeaseRefusedException {
    long wanted = expiry + compared.lateBy(at);
    if (wanted > keyEnd()) {
      throw Refusals.keyEnds(keyEnd());
    }
    return new StoreNeededException(Kind.CEILING, store -> store.cover(wanted));
  }

  /** Takes note of what was granted or prolonged: the ceiling goes on ahead of that. */
  void noteGranted(long durationNanos) {
    reach.note(durationNanos);
  }

  /** Whether a ceiling should be published, so that nobody waits for it. */
  boolean isDue(Reading at) {
    return isPublished() && reach.isShort(published - at.now()) && !isPutOff(at);
  }

  /** Whether what need not be done at once waits, since the store has just failed. */
  boolean isPutOff(Reading at) {
    return at.monotonic() - retryAt < 0;
  }

  /** That it is alive: not for long, and it was paused, so that another may have taken over. */
  void noteAlive(Reading at) {
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
  boolean mustLook() {
    return lookedAfter != pauses.get();
  }

  /** Pauses noticed so far: one that comes while somebody looks asks for another look. */
  long pauses() {
    return pauses.get();
  }

  /** A look that began after so many pauses has found no later instance. */
  void looked(long after) {
    lookedAfter = after;
  }

  /** A ceiling stands in the store, for leases of that length, and no later instance was there. */
  void published(long ceiling, Reading at, long longest) {
    published = ceiling;
    reach.published(longest);
  }

  /** Another instance has taken over: nothing is signed any more. */
  void stop() {
    superseded = true;
  }

  /** Who has. */
  void stoppedBy(Optional<String> by) {
    supersededBy = by.orElse(LATER);
  }

  /** The store can't be used. */
  void failed(String why) {
    failure = why;
  }

  /** What need not be done at once is put off from then on, monotonic nanoseconds. */
  void putOff(long now) {
    retryAt = now + RETRY_AFTER;
  }

  /** It could be used. */
  void succeeded() {
    failure = null;
  }

  /** Why the store can't be used at the moment; empty if it could be when it was asked last. */
  Optional<String> failure() {
    return Optional.ofNullable(failure);
  }

  void requireLatest() throws LeaseRefusedException {
    if (superseded) {
      String by = supersededBy;
      throw Refusals.superseded(by == null ? LATER : by, number());
    }
  }

  boolean isSuperseded() {
    return superseded;
  }

  /** Which instance has taken over, in words; empty if none has, or it is being looked at. */
  Optional<String> supersededBy() {
    return Optional.ofNullable(supersededBy);
  }

  boolean isPublished() {
    return published != Long.MIN_VALUE;
  }

  /**
   * The highest ceiling that it has published, nanoseconds since the Unix epoch; else the least.
   */
  long ceiling() {
    return published;
  }
}
