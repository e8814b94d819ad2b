package dev.cinch.bag.model;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * What {@code init} decides once for a store, and nobody changes: {@code store.json}. Times are in
 * milliseconds.
 *
 * @param bucketWidthMs width of every bucket, 100 to 3,600,000
 * @param graceMs how long after its end a bucket may be closed, by the filesystem's clock; above
 *     clock bound + distance + slow append
 * @param clockAheadMs how far a machine's clock may be ahead of the filesystem's before it refuses
 *     to work
 * @param clockBehindMs how far it may be behind
 * @param timestampDistanceMs how far a message's timestamp may be ahead of its writer's clock
 * @param slowAppendMs how long a slow append takes, from its timestamp to its being visible
 * @param longestLeaseMs the longest lease time when the store is made; later ones stand in {@code
 *     limits/}
 * @param leaseMarginMs how long before a lease expires its holder stops writing under it
 * @param fileMode mode bits of new files, octal in the file
 * @param directoryMode mode bits of new directories, octal in the file
 * @param group name of the group of everything created; empty: as the filesystem gives it
 * @param messageLimit the longest message in bytes, 1 to 16 MiB
 * @param confirm whether a writer always looks at the prelock after a write
 * @param leases whether readers demand a valid witness for every message
 */
public record StoreSettings(
    long bucketWidthMs,
    long graceMs,
    long clockAheadMs,
    long clockBehindMs,
    long timestampDistanceMs,
    long slowAppendMs,
    long longestLeaseMs,
    long leaseMarginMs,
    int fileMode,
    int directoryMode,
    Optional<String> group,
    int messageLimit,
    Confirm confirm,
    Leases leases) {
  /** For what a clock goes wrong between two comparisons, milliseconds. */
  private static final long WATERMARK_SLACK_MS = 1_000;

  /** How far off a clock may be unseen, since the filesystem took so long to tell its own. */
  public static final long CLOCK_COMPARED_MS = 50;

  /**
   * How far a clock may be off beyond its bound within a minute after it was compared,
   * milliseconds: what the comparison did not see, a step of 20 ms that nobody looks at
   * (SignedClock), and 500 ppm.
   */
  private static final long CLOCK_SLACK_MS = CLOCK_COMPARED_MS + 20 + 30;

  /** Half a second, by which an object store's clock is rounded, and some to hear of it. */
  private static final long OBJECTS_CLOCK_MS = 600;

  /** Section 5, last sentences. */
  public enum Confirm {
    /** After every batch. */
    ALWAYS,
    /**
     * Only when a change time that the server assigned does not show the write to be clearly early.
     */
    LATE
  }

  /** Rule F3. */
  public enum Leases {
    OPTIONAL,
    REQUIRED
  }

  /** The highest message limit there can be, in bytes. */
  public static final int MAX_MESSAGE_LIMIT = 16 << 20;

  /**
   * One-second buckets, two seconds of grace, clocks within half a second, messages up to 1 MiB.
   */
  public static final StoreSettings DEFAULT =
      new StoreSettings(
          1_000,
          2_000,
          500,
          500,
          500,
          500,
          60_000,
          500,
          0664,
          02775,
          Optional.empty(),
          1 << 20,
          Confirm.ALWAYS,
          Leases.OPTIONAL);

  /**
   * The same for an object store, where each bucket costs requests, an append takes three of them,
   * and the clock shows whole seconds: buckets and grace of ten seconds, clocks within two.
   */
  public static final StoreSettings OF_OBJECTS =
      builder()
          .bucketWidth(Duration.ofSeconds(10))
          .grace(Duration.ofSeconds(10))
          .clockBound(Duration.ofSeconds(2))
          .slowAppend(Duration.ofSeconds(5))
          .build();

  /** Prepares settings; what is not said is as in {@link #DEFAULT}. */
  public static Builder builder() {
    return new Builder();
  }

  /** Takes settings one by one, times to the millisecond. Not thread-safe. */
  public static final class Builder {
    private long bucketWidthMs = DEFAULT.bucketWidthMs;
    private long graceMs = DEFAULT.graceMs;
    private long clockMs = DEFAULT.clockAheadMs;
    private long timestampDistanceMs = DEFAULT.timestampDistanceMs;
    private long slowAppendMs = DEFAULT.slowAppendMs;
    private long longestLeaseMs = DEFAULT.longestLeaseMs;
    private long leaseMarginMs = DEFAULT.leaseMarginMs;
    private int fileMode = DEFAULT.fileMode;
    private int directoryMode = DEFAULT.directoryMode;
    private Optional<String> group = DEFAULT.group;
    private int messageLimit = DEFAULT.messageLimit;
    private Confirm confirm = DEFAULT.confirm;
    private Leases leases = DEFAULT.leases;

    private Builder() {}

    /** The width of every bucket, 100 ms to an hour. */
    @CanIgnoreReturnValue
    public Builder bucketWidth(Duration bucketWidth) {
      bucketWidthMs = bucketWidth.toMillis();
      return this;
    }

    /**
     * How long after its end a bucket may be closed; above clock bound + distance + slow append.
     */
    @CanIgnoreReturnValue
    public Builder grace(Duration grace) {
      graceMs = grace.toMillis();
      return this;
    }

    /** How far a machine's clock may be from the filesystem's, ahead or behind. */
    @CanIgnoreReturnValue
    public Builder clockBound(Duration clockBound) {
      clockMs = clockBound.toMillis();
      return this;
    }

    /** How far a message's timestamp may be from its writer's clock. */
    @CanIgnoreReturnValue
    public Builder timestampDistance(Duration timestampDistance) {
      timestampDistanceMs = timestampDistance.toMillis();
      return this;
    }

    /** How long a slow append takes; raise it on slow storage. */
    @CanIgnoreReturnValue
    public Builder slowAppend(Duration slowAppend) {
      slowAppendMs = slowAppend.toMillis();
      return this;
    }

    /** The longest lease time when the store is made. */
    @CanIgnoreReturnValue
    public Builder longestLease(Duration longestLease) {
      longestLeaseMs = longestLease.toMillis();
      return this;
    }

    /** How long before a lease expires its holder stops writing under it. */
    @CanIgnoreReturnValue
    public Builder leaseMargin(Duration leaseMargin) {
      leaseMarginMs = leaseMargin.toMillis();
      return this;
    }

    /** The mode bits of new files and directories, such as 0660 and 02770. */
    @CanIgnoreReturnValue
    public Builder modes(int fileMode, int directoryMode) {
      this.fileMode = fileMode;
      this.directoryMode = directoryMode;
      return this;
    }

    /** The name of the group of everything created. */
    @CanIgnoreReturnValue
    public Builder group(String group) {
      this.group = Optional.of(group);
      return this;
    }

    /** The longest message in bytes, 1 to 16 MiB. */
    @CanIgnoreReturnValue
    public Builder messageLimit(int bytes) {
      messageLimit = bytes;
      return this;
    }

    /** Whether a writer always looks at the prelock after a write. */
    @CanIgnoreReturnValue
    public Builder confirm(Confirm confirm) {
      this.confirm = confirm;
      return this;
    }

    /** Whether readers demand a valid witness for every message. */
    @CanIgnoreReturnValue
    public Builder leases(Leases leases) {
      this.leases = leases;
      return this;
    }

    /**
     * The settings.
     *
     * @throws IllegalArgumentException if they cannot work; the message says why, in one line
     */
    public StoreSettings build() {
      var made =
          new StoreSettings(
              bucketWidthMs,
              graceMs,
              clockMs,
              clockMs,
              timestampDistanceMs,
              slowAppendMs,
              longestLeaseMs,
              leaseMarginMs,
              fileMode,
              directoryMode,
              group,
              messageLimit,
              confirm,
              leases);
      if (!made.problems().isEmpty()) {
        throw new IllegalArgumentException(String.join("; ", made.problems()));
      }
      return made;
    }
  }

  /** What cannot work about these settings, each a line for the user; empty if nothing. */
  public List<String> problems() {
    var problems = new ArrayList<String>();
    within(problems, "bucket width", bucketWidthMs, 100, 3_600_000, "ms");
    within(problems, "clock bound ahead", clockAheadMs, 1, 3_600_000, "ms");
    within(problems, "clock bound behind", clockBehindMs, 1, 3_600_000, "ms");
    within(problems, "timestamp distance", timestampDistanceMs, 1, 3_600_000, "ms");
    within(problems, "slow append", slowAppendMs, 1, 3_600_000, "ms");
    within(problems, "grace", graceMs, 1, 86_400_000, "ms");
    within(problems, "longest lease", longestLeaseMs, 1, 86_400_000, "ms");
    within(problems, "lease margin", leaseMarginMs, 0, 3_600_000, "ms");
    long needed = Math.max(clockAheadMs, clockBehindMs) + timestampDistanceMs + slowAppendMs;
    if (graceMs <= needed) {
      problems.add(
          "grace is %d ms; it must be above clock bound + timestamp distance + slow append, %d ms"
              .formatted(graceMs, needed));
    }
    long lease = leaseAboveMs();
    if (longestLeaseMs <= lease) {
      problems.add(
          "longest lease is %d ms; it must be above bucket width + grace + margins, %d ms, or no fence ends in time"
              .formatted(longestLeaseMs, lease));
    }
    within(problems, "message limit", messageLimit, 1, MAX_MESSAGE_LIMIT, "bytes");
    if ((fileMode & 0600) != 0600 || (fileMode & ~0777) != 0) {
      problems.add("file mode %o must let the owner read and write".formatted(fileMode));
    }
    if ((directoryMode & 0700) != 0700 || (directoryMode & ~07777) != 0) {
      problems.add("directory mode %o must let the owner do all".formatted(directoryMode));
    }
    return problems;
  }

  /** The same in an object store. */
  public List<String> problemsOfObjects() {
    List<String> problems = problems();
    if (Math.min(clockAheadMs, clockBehindMs) < OBJECTS_CLOCK_MS) {
      problems.add(
          "clock bound is %d ms; an object store's clock shows whole seconds, so it must be %d ms or more"
              .formatted(Math.min(clockAheadMs, clockBehindMs), OBJECTS_CLOCK_MS));
    }
    return problems;
  }

  private static void within(
      List<String> problems, String what, long value, long min, long max, String unit) {
    if (value < min || value > max) {
      problems.add(
          "%s is %d %s; it must be from %d to %d %s".formatted(what, value, unit, min, max, unit));
    }
  }

  public long bucketWidthNanos() {
    return bucketWidthMs * 1_000_000;
  }

  public long graceNanos() {
    return graceMs * 1_000_000;
  }

  public long timestampDistanceNanos() {
    return timestampDistanceMs * 1_000_000;
  }

  /**
   * How far ahead a watermark may be of the time that the lease service knows (rule L2),
   * nanoseconds. A writer's clock may be ahead of the filesystem's while the service's is behind
   * it, or the other way round, and a timestamp ahead of its writer's clock.
   */
  public long watermarkAheadNanos() {
    return (clockAheadMs + clockBehindMs + timestampDistanceMs + WATERMARK_SLACK_MS) * 1_000_000;
  }

  /**
   * How far the clocks of two machines may be apart at most that serve leases, nanoseconds (rule
   * L18): what each may be off by the filesystem's, and {@link #CLOCK_SLACK_MS} more.
   */
  public long clocksApartNanos() {
    return (clockAheadMs + clockBehindMs + 2 * CLOCK_SLACK_MS) * 1_000_000;
  }

  /** What a lease must last longer than, or no fence ends in time (section 7); milliseconds. */
  public long leaseAboveMs() {
    return bucketWidthMs + graceMs + leaseMarginMs + clockAheadMs;
  }

  public long leaseMarginNanos() {
    return leaseMarginMs * 1_000_000;
  }

  /** The mode of a file that nobody writes to any more. */
  public int closedFileMode() {
    return fileMode & ~0222;
  }
}
