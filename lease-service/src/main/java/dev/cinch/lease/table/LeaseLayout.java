package dev.cinch.lease.table;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.Ending;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.TimeBound;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A {@link LeaseState} as one array of bytes, where what a lease lacks takes no room.
 *
 * <pre>
 *   0  the request's secret id (16)
 *  16  expiry (8)
 *  24  flags (2)
 *  26  length of the name (1), name in ASCII
 *      second half of the correlation (8); the first is the time of the grant
 *      granted                                     -- times: zigzag variable-length, from the expiry
 *      duration                                    -- unsigned variable-length: twice the seconds,
 *                                                     or twice the milliseconds and one
 *      until when it excludes by the steady clock  -- unsigned variable-length: 0 none; else one
 *                                                     more than the zigzag of the milliseconds, up,
 *                                                     from the expiry
 *      generation                                  -- unsigned variable-length
 *      the instance that left it here, if one did  -- unsigned variable-length
 *      logs, then in this order what the flags announce:
 *      how the issue differs from the usual one, and the bound of time at the issue
 *      the end, if released; the latest that it could be then, if fenced on release
 *      logs that were asked for, where others came in since
 *      the lease before: the first half of its correlation, as a time, and the second (8)
 *      when that one ended
 *      watermark inherited: its timestamp, when it was told, the latest that it could be then
 *      watermark stated: likewise
 *      fence: its time, its logs
 *      metadata: how many, and for each the log (16), the time, a length and a name in UTF-8
 *      holder in UTF-8                             -- up to the end
 * </pre>
 *
 * Numbers have the most significant byte first, but for variable-length ones: seven bits a byte,
 * the lowest first. A zigzag one is twice the number, or twice minus it less one if it is negative.
 * The latest that it can be is told from one second after the time that it belongs to.
 *
 * <p>A set of logs is a number: 0 for none, 1 for all, 2 for a count and so many ids that follow,
 * from 3 on one of {@link SharedLogs}, less one. Flags: 0x3 the state (0 released, 1 tentative, 2
 * full, 3 ended), 0x4 asked for as tentative, 0x8 fenced on release, 0x30 how the lease before
 * ended, 0x40 an unusual issue, 0x80 asked for other logs, 0x100 a lease before, 0x200 its end,
 * 0x400 and 0x800 the watermarks, 0x1000 a fence, 0x2000 metadata, 0x4000 left by an earlier
 * instance, 0x8000 resumed. Thread-safe.
 */
@CheckReturnValue
public final class LeaseLayout {
  /** Where the expiry is. */
  public static final int EXPIRY = 16;

  /** Where the flags are. */
  public static final int FLAGS = 24;

  /** Where the length of the name is. */
  public static final int NAME = 26;

  /** The flags that are the number of the state. */
  public static final int STATE = 0x3;

  private static final long NANOS_PER_MS = 1_000_000;

  /** How far off the time is usually taken to be, nanoseconds: a number of the layout. */
  private static final long USUAL_NANOS = 1_000_000_000L;

  private static final int ASKED_TENTATIVE = 0x4;
  private static final int FENCED_ON_RELEASE = 0x8;
  private static final int ENDING_SHIFT = 4;

  /**
   * It was not issued as long before its expiry as was asked for when it was granted, or the time
   * was known better or worse than to a second to both sides. How the issue differs, and then the
   * bound: 0 none, 1 that one, 2 assumed, 3 measured: and its ends, from the issue.
   */
  private static final int UNUSUAL_ISSUE = 0x40;

  private static final int HAS_ASKED_LOGS = 0x80;
  private static final int HAS_PREVIOUS = 0x100;
  private static final int HAS_PREVIOUS_END = 0x200;
  private static final int HAS_WATERMARK = 0x400;
  private static final int HAS_STATED = 0x800;
  private static final int HAS_FENCE = 0x1000;
  private static final int HAS_RECENT = 0x2000;
  private static final int LEFT = 0x4000;
  private static final int RESUMED = 0x8000;

  private static final int USUAL_BOUND = 1;
  private static final int ASSUMED_BOUND = 2;
  private static final int MEASURED_BOUND = 3;

  private static final Id NO_ID = new Id(0, 0);
  private static final LeaseReport.Metadata NO_METADATA = new LeaseReport.Metadata(NO_ID, 0, "");

  /** Looked up, since {@code values()} makes a copy each time. */
  private static final LeaseState.State[] STATES = LeaseState.State.values();

  private LeaseLayout() {}

  /**
   * The bytes of a state.
   *
   * @param shared sets of logs that need not be written out
   * @throws IllegalArgumentException for a name of more than 255 characters
   */
  public static byte[] pack(LeaseState state, SharedLogs shared) {
    var out = new RowBytes();
    write(out, state, shared);
    return out.toArray();
  }

  /**
   * Reads what {@link #pack} made.
   *
   * @param shared as it was packed with
   */
  public static LeaseState unpack(byte[] bytes, SharedLogs shared) {
    return read(new RowBytes(bytes, 0), shared);
  }

  static void write(RowBytes out, LeaseState state, SharedLogs shared) {
    var unused = pass(out, state, shared);
  }

  /**
   * @throws IllegalArgumentException for some of what {@link #write} does not make
   */
  static LeaseState read(RowBytes in, SharedLogs shared) {
    return pass(in, null, shared);
  }

  /**
   * @param written null to read
   * @return that one, as it was, or what was read
   */
  private static LeaseState pass(RowBytes row, @Nullable LeaseState written, SharedLogs shared) {
    boolean reading = written == null;
    LeaseState from = written == null ? new LeaseState("") : written;
    Id id = row.id(from.id);
    long expiry = row.fixed(from.expiry);
    int flags = reading ? 0 : flags(from);
    flags = row.octet(flags >> 8) << 8 | row.octet(flags);
    String name = row.name(from.name);
    LeaseState e = reading ? new LeaseState(name) : from;
    e.id = id;
    e.expiry = expiry;
    e.state = STATES[flags & STATE];
    e.previousEnding = Ending.ofCode(flags >> ENDING_SHIFT & 0x3);
    e.askedTentative = (flags & ASKED_TENTATIVE) != 0;
    e.resumed = (flags & RESUMED) != 0;
    e.fencedOnRelease = (flags & FENCED_ON_RELEASE) != 0;
    e.correlationLow = row.fixed(e.correlationLow);
    e.correlationHigh = row.from(expiry, e.correlationHigh);
    e.durationMs = duration(row.unsigned(codedDuration(e.durationMs)));
    long steady = row.unsigned(reading ? 0 : codedSteadyUntil(e));
    if (reading) { // not what was written, which it is but for a millisecond
      e.steadyUntil =
          steady == 0 ? Moment.UNSTEADY : expiry + RowBytes.unzigzag(steady - 1) * NANOS_PER_MS;
    }
    e.generation = row.unsigned(e.generation);
    if ((flags & LEFT) != 0) {
      e.leftBy = row.unsigned(e.leftBy);
    }
    e.logs = logs(row, e.logs, shared);
    if ((flags & UNUSUAL_ISSUE) == 0) {
      e.issuedAt = usuallyIssued(e);
      e.issuedIn = usual(e.issuedAt);
    } else {
      e.issuedAt = row.from(usuallyIssued(e), e.issuedAt);
      e.issuedIn = bound(row, e.issuedIn, e.issuedAt);
    }
    if (e.state == LeaseState.State.RELEASED) {
      e.endedAt = row.from(expiry, e.endedAt);
      if (e.fencedOnRelease) {
        e.endedLatest = latest(row, e.endedLatest, e.endedAt);
      }
    }
    e.askedLogs = (flags & HAS_ASKED_LOGS) != 0 ? logs(row, e.askedLogs, shared) : e.logs;
    e.hasPrevious = (flags & HAS_PREVIOUS) != 0;
    if (e.hasPrevious) {
      e.previousHigh = row.from(expiry, e.previousHigh);
      e.previousLow = row.fixed(e.previousLow);
    }
    if ((flags & HAS_PREVIOUS_END) != 0) {
      e.previousEndedAt = row.from(expiry, e.previousEndedAt);
    }
    if ((flags & HAS_WATERMARK) != 0) {
      e.inheritedWatermark = row.from(expiry, e.inheritedWatermark);
      e.inheritedAt = row.from(expiry, e.inheritedAt);
      e.inheritedLatest = latest(row, e.inheritedLatest, e.inheritedAt);
    }
    if ((flags & HAS_STATED) != 0) {
      e.stated = row.from(expiry, e.stated);
      e.statedAt = row.from(expiry, e.statedAt);
      e.statedLatest = latest(row, e.statedLatest, e.statedAt);
    }
    if ((flags & HAS_FENCE) != 0) {
      e.fenceUpTo = row.from(expiry, e.fenceUpTo);
      e.fenceLogs = logs(row, e.fenceLogs, shared);
    }
    if ((flags & HAS_RECENT) != 0) {
      e.recent = recent(row, e.recent, expiry);
    }
    e.holder = row.rest(e.holder);
    return e;
  }

  private static int flags(LeaseState e) {
    boolean watermark =
        e.inheritedWatermark != Long.MIN_VALUE
            || e.inheritedAt != Long.MIN_VALUE
            || e.inheritedLatest != Long.MIN_VALUE;
    return e.state.ordinal()
        | e.previousEnding.code() << ENDING_SHIFT
        | flag(e.askedTentative, ASKED_TENTATIVE)
        | flag(e.fencedOnRelease, FENCED_ON_RELEASE)
        | flag(e.leftBy > 0, LEFT)
        | flag(e.resumed, RESUMED)
        | flag(!isUsual(e), UNUSUAL_ISSUE)
        | flag(!e.askedLogs.equals(e.logs), HAS_ASKED_LOGS)
        | flag(e.hasPrevious, HAS_PREVIOUS)
        | flag(e.previousEndedAt != Long.MIN_VALUE, HAS_PREVIOUS_END)
        | flag(watermark, HAS_WATERMARK)
        | flag(e.stated != Long.MIN_VALUE, HAS_STATED)
        | flag(e.fenceUpTo != Long.MIN_VALUE || !e.fenceLogs.isEmpty(), HAS_FENCE)
        | flag(!e.recent.isEmpty(), HAS_RECENT);
  }

  private static int flag(boolean on, int bit) {
    return on ? bit : 0;
  }

  private static long usuallyIssued(LeaseState e) {
    return e.expiry - e.durationMs * NANOS_PER_MS;
  }

  private static boolean isUsual(LeaseState e) {
    return e.issuedAt == usuallyIssued(e) && usual(e.issuedAt).equals(e.issuedIn);
  }

  private static TimeBound usual(long issuedAt) {
    return TimeBound.around(issuedAt, USUAL_NANOS, TimeBound.Kind.ASSUMED);
  }

  /** Whole seconds, which are usual, are short. */
  private static long codedDuration(long millis) {
    return millis % 1_000 == 0 ? millis / 1_000 << 1 : millis << 1 | 1;
  }

  private static long duration(long coded) {
    return (coded & 1) == 0 ? (coded >>> 1) * 1_000 : coded >>> 1;
  }

  /** Rounded up, so that two clocks that were not read at once take a byte. */
  private static long codedSteadyUntil(LeaseState e) {
    return e.steadyUntil == Moment.UNSTEADY || e.state == LeaseState.State.RELEASED
        ? 0
        : RowBytes.zigzag(-Math.floorDiv(e.expiry - e.steadyUntil, NANOS_PER_MS)) + 1;
  }

  /**
   * @param bound null to read
   */
  private static TimeBound bound(RowBytes row, @Nullable TimeBound bound, long issuedAt) {
    TimeBound usual = usual(issuedAt);
    TimeBound known = bound == null ? usual : bound;
    int code =
        row.octet(
            known.equals(usual)
                ? USUAL_BOUND
                : known.kind() == TimeBound.Kind.MEASURED ? MEASURED_BOUND : ASSUMED_BOUND);
    return code == USUAL_BOUND
        ? usual
        : new TimeBound(
            row.from(issuedAt, known.earliest()),
            row.from(issuedAt, known.latest()),
            code == MEASURED_BOUND ? TimeBound.Kind.MEASURED : TimeBound.Kind.ASSUMED);
  }

  /** The latest that it could be at some time, which takes a byte where that is only assumed. */
  private static long latest(RowBytes row, long latest, long at) {
    return row.from(at + USUAL_NANOS, latest);
  }

  private static LogSet logs(RowBytes row, LogSet logs, SharedLogs shared) {
    int known = logs.isEmpty() ? 0 : logs.all() ? 1 : shared.numberOf(logs);
    int number = (int) row.unsigned(known < 0 ? 2 : known < 2 ? known : known + 1);
    if (number != 2) {
      return number == 0 ? LogSet.NONE : number == 1 ? LogSet.ALL : shared.at(number - 1);
    }
    List<Id> written = List.copyOf(logs.ids());
    long count = row.unsigned(written.size());
    var ids = new ArrayList<Id>();
    for (int i = 0; i < count; i++) {
      ids.add(row.id(written.isEmpty() ? NO_ID : written.get(i)));
    }
    return LogSet.of(ids);
  }

  private static List<LeaseReport.Metadata> recent(
      RowBytes row, List<LeaseReport.Metadata> written, long expiry) {
    long count = row.unsigned(written.size());
    var recent = new ArrayList<LeaseReport.Metadata>();
    for (int i = 0; i < count; i++) {
      LeaseReport.Metadata m = written.isEmpty() ? NO_METADATA : written.get(i);
      recent.add(
          new LeaseReport.Metadata(
              row.id(m.log()), row.from(expiry, m.bucketStart()), row.text(m.dataFile())));
    }
    return List.copyOf(recent);
  }
}
