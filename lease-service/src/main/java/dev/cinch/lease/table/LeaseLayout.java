package dev.cinch.lease.table;

import static java.util.Objects.requireNonNull;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.Ending;
import dev.cinch.lease.Id;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Metadata;
import dev.cinch.lease.TimeBound;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

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
 * 0x400 and 0x800 the watermarks, 0x1000 a fence, 0x2000 metadata, 0x8000 resumed. 0x4000 is the
 * backend's own, not written and not looked at here. Thread-safe.
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
  private static final int RESUMED = 0x8000;

  private static final int USUAL_BOUND = 1;
  private static final int ASSUMED_BOUND = 2;
  private static final int MEASURED_BOUND = 3;

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
    var out = new RowWriter();
    write(out, state, shared);
    return out.toArray();
  }

  static void write(RowWriter out, LeaseState e, SharedLogs shared) {
    boolean widened = !e.askedLogs.equals(e.logs);
    boolean watermark =
        e.inheritedWatermark != Long.MIN_VALUE
            || e.inheritedAt != Long.MIN_VALUE
            || e.inheritedLatest != Long.MIN_VALUE;
    boolean fence = e.fenceUpTo != Long.MIN_VALUE || !e.fenceLogs.isEmpty();
    int flags =
        e.state.ordinal()
            | e.previousEnding.code() << ENDING_SHIFT
            | flag(e.askedTentative, ASKED_TENTATIVE)
            | flag(e.fencedOnRelease, FENCED_ON_RELEASE)
            | flag(e.resumed, RESUMED)
            | flag(!isUsual(e), UNUSUAL_ISSUE)
            | flag(widened, HAS_ASKED_LOGS)
            | flag(e.hasPrevious, HAS_PREVIOUS)
            | flag(e.previousEndedAt != Long.MIN_VALUE, HAS_PREVIOUS_END)
            | flag(watermark, HAS_WATERMARK)
            | flag(e.stated != Long.MIN_VALUE, HAS_STATED)
            | flag(fence, HAS_FENCE)
            | flag(!e.recent.isEmpty(), HAS_RECENT);
    out.putLong(e.id.high());
    out.putLong(e.id.low());
    out.putLong(e.expiry);
    out.putByte(flags >> 8);
    out.putByte(flags);
    out.putShort(e.name.getBytes(StandardCharsets.UTF_8));
    out.putLong(e.correlationLow);
    out.putSigned(e.correlationHigh - e.expiry);
    putDuration(out, e.durationMs);
    putSteadyUntil(out, e);
    out.putUnsigned(e.generation);
    putLogs(out, e.logs, shared);
    if (!isUsual(e)) {
      out.putSigned(e.issuedAt - usuallyIssued(e));
      putBound(out, requireNonNull(e.issuedIn), e.issuedAt);
    }
    if (e.state == LeaseState.State.RELEASED) {
      out.putSigned(e.endedAt - e.expiry);
      if (e.fencedOnRelease) {
        putLatest(out, e.endedLatest, e.endedAt);
      }
    }
    if (widened) {
      putLogs(out, e.askedLogs, shared);
    }
    if (e.hasPrevious) {
      out.putSigned(e.previousHigh - e.expiry);
      out.putLong(e.previousLow);
    }
    if (e.previousEndedAt != Long.MIN_VALUE) {
      out.putSigned(e.previousEndedAt - e.expiry);
    }
    if (watermark) {
      out.putSigned(e.inheritedWatermark - e.expiry);
      out.putSigned(e.inheritedAt - e.expiry);
      putLatest(out, e.inheritedLatest, e.inheritedAt);
    }
    if (e.stated != Long.MIN_VALUE) {
      out.putSigned(e.stated - e.expiry);
      out.putSigned(e.statedAt - e.expiry);
      putLatest(out, e.statedLatest, e.statedAt);
    }
    if (fence) {
      out.putSigned(e.fenceUpTo - e.expiry);
      putLogs(out, e.fenceLogs, shared);
    }
    if (!e.recent.isEmpty()) {
      out.putUnsigned(e.recent.size());
      for (Metadata m : e.recent) {
        out.putLong(m.log().high());
        out.putLong(m.log().low());
        out.putSigned(m.bucketStart() - e.expiry);
        byte[] file = m.dataFile().getBytes(StandardCharsets.UTF_8);
        out.putUnsigned(file.length);
        out.putBytes(file);
      }
    }
    out.putBytes(e.holder.getBytes(StandardCharsets.UTF_8));
  }

  private static long usuallyIssued(LeaseState e) {
    return e.expiry - e.durationMs * NANOS_PER_MS;
  }

  private static boolean isUsual(LeaseState e) {
    return e.issuedAt == usuallyIssued(e) && usual(e.issuedAt).equals(e.issuedIn);
  }

  /** Whole seconds, which are usual, are short. */
  private static void putDuration(RowWriter out, long millis) {
    out.putUnsigned(millis % 1_000 == 0 ? millis / 1_000 << 1 : millis << 1 | 1);
  }

  private static long getDuration(ByteBuffer in) {
    long coded = getUnsigned(in);
    return (coded & 1) == 0 ? (coded >>> 1) * 1_000 : coded >>> 1;
  }

  /** Rounded up, so that two clocks that were not read at once take a byte. */
  private static void putSteadyUntil(RowWriter out, LeaseState e) {
    if (e.steadyUntil == Moment.UNSTEADY || e.state == LeaseState.State.RELEASED) {
      out.putUnsigned(0);
    } else {
      long millis = -Math.floorDiv(e.expiry - e.steadyUntil, NANOS_PER_MS);
      out.putUnsigned((millis << 1 ^ millis >> 63) + 1);
    }
  }

  private static long getSteadyUntil(ByteBuffer in, long expiry) {
    long coded = getUnsigned(in);
    if (coded == 0) {
      return Moment.UNSTEADY;
    }
    long zigzag = coded - 1;
    return expiry + (zigzag >>> 1 ^ -(zigzag & 1)) * NANOS_PER_MS;
  }

  private static int flag(boolean on, int bit) {
    return on ? bit : 0;
  }

  private static void putBound(RowWriter out, TimeBound bound, long issuedAt) {
    if (bound.equals(usual(issuedAt))) {
      out.putByte(USUAL_BOUND);
    } else {
      out.putByte(bound.kind() == TimeBound.Kind.MEASURED ? MEASURED_BOUND : ASSUMED_BOUND);
      out.putSigned(bound.earliest() - issuedAt);
      out.putSigned(bound.latest() - issuedAt);
    }
  }

  private static TimeBound getBound(ByteBuffer in, long issuedAt) {
    int code = in.get();
    if (code == USUAL_BOUND) {
      return usual(issuedAt);
    }
    long earliest = issuedAt + getSigned(in);
    long latest = issuedAt + getSigned(in);
    return new TimeBound(
        earliest,
        latest,
        code == MEASURED_BOUND ? TimeBound.Kind.MEASURED : TimeBound.Kind.ASSUMED);
  }

  private static TimeBound usual(long issuedAt) {
    return TimeBound.around(issuedAt, USUAL_NANOS, TimeBound.Kind.ASSUMED);
  }

  /** The latest that it could be at some time, which takes a byte where that is only assumed. */
  private static void putLatest(RowWriter out, long latest, long at) {
    out.putSigned(latest - at - USUAL_NANOS);
  }

  private static long getLatest(ByteBuffer in, long at) {
    return at + USUAL_NANOS + getSigned(in);
  }

  private static void putLogs(RowWriter out, LogSet logs, SharedLogs shared) {
    int number = logs.isEmpty() ? 0 : logs.all() ? 1 : shared.numberOf(logs);
    if (number >= 0) {
      out.putUnsigned(number < 2 ? number : number + 1);
      return;
    }
    out.putUnsigned(2);
    out.putUnsigned(logs.ids().size());
    for (Id id : logs.ids()) {
      out.putLong(id.high());
      out.putLong(id.low());
    }
  }

  /**
   * Reads what {@link #pack} made.
   *
   * @param create makes a state of that name, of which nothing is known
   * @param shared as it was packed with
   */
  public static <S extends LeaseState> S unpack(
      byte[] bytes, Function<String, S> create, SharedLogs shared) {
    return read(ByteBuffer.wrap(bytes), create, shared);
  }

  /**
   * @throws IllegalArgumentException or {@link java.nio.BufferUnderflowException} for some of what
   *     {@link #write} does not make
   */
  static <S extends LeaseState> S read(
      ByteBuffer in, Function<String, S> create, SharedLogs shared) {
    Id id = new Id(in.getLong(), in.getLong());
    long expiry = in.getLong();
    int flags = in.getShort();
    S made = create.apply(getText(in, in.get() & 0xFF));
    LeaseState e = made;
    e.id = id;
    e.expiry = expiry;
    e.state = STATES[flags & STATE];
    e.previousEnding = Ending.ofCode(flags >> ENDING_SHIFT & 0x3);
    e.askedTentative = (flags & ASKED_TENTATIVE) != 0;
    e.resumed = (flags & RESUMED) != 0;
    e.fencedOnRelease = (flags & FENCED_ON_RELEASE) != 0;
    e.correlationLow = in.getLong();
    e.correlationHigh = expiry + getSigned(in);
    e.durationMs = getDuration(in);
    e.steadyUntil = getSteadyUntil(in, expiry);
    e.generation = getUnsigned(in);
    e.logs = getLogs(in, shared);
    boolean usual = (flags & UNUSUAL_ISSUE) == 0;
    e.issuedAt = usuallyIssued(e) + (usual ? 0 : getSigned(in));
    e.issuedIn = usual ? usual(e.issuedAt) : getBound(in, e.issuedAt);
    if (e.state == LeaseState.State.RELEASED) {
      e.endedAt = expiry + getSigned(in);
      e.endedLatest = e.fencedOnRelease ? getLatest(in, e.endedAt) : Long.MIN_VALUE;
    }
    e.askedLogs = (flags & HAS_ASKED_LOGS) != 0 ? getLogs(in, shared) : e.logs;
    if ((flags & HAS_PREVIOUS) != 0) {
      e.hasPrevious = true;
      e.previousHigh = expiry + getSigned(in);
      e.previousLow = in.getLong();
    }
    e.previousEndedAt = (flags & HAS_PREVIOUS_END) != 0 ? expiry + getSigned(in) : Long.MIN_VALUE;
    if ((flags & HAS_WATERMARK) != 0) {
      e.inheritedWatermark = expiry + getSigned(in);
      e.inheritedAt = expiry + getSigned(in);
      e.inheritedLatest = getLatest(in, e.inheritedAt);
    }
    if ((flags & HAS_STATED) != 0) {
      e.stated = expiry + getSigned(in);
      e.statedAt = expiry + getSigned(in);
      e.statedLatest = getLatest(in, e.statedAt);
    }
    if ((flags & HAS_FENCE) != 0) {
      e.fenceUpTo = expiry + getSigned(in);
      e.fenceLogs = getLogs(in, shared);
    }
    if ((flags & HAS_RECENT) != 0) {
      var recent = new ArrayList<Metadata>();
      for (long n = getUnsigned(in); n > 0; n--) {
        Id log = new Id(in.getLong(), in.getLong());
        long bucketStart = expiry + getSigned(in);
        recent.add(new Metadata(log, bucketStart, getText(in, getUnsigned(in))));
      }
      e.recent = List.copyOf(recent);
    }
    e.holder = getText(in, in.remaining());
    return made;
  }

  private static String getText(ByteBuffer in, long length) {
    if (length < 0 || length > in.remaining()) {
      throw new IllegalArgumentException("a text of " + length + " bytes");
    }
    var text = new String(in.array(), in.position(), (int) length, StandardCharsets.UTF_8);
    in.position(in.position() + (int) length);
    return text;
  }

  private static long getUnsigned(ByteBuffer in) {
    long value = 0;
    int shift = 0;
    byte b;
    do {
      b = in.get();
      value |= (b & 0x7FL) << shift;
      shift += 7;
    } while (b < 0);
    return value;
  }

  private static long getSigned(ByteBuffer in) {
    long zigzag = getUnsigned(in);
    return zigzag >>> 1 ^ -(zigzag & 1);
  }

  private static LogSet getLogs(ByteBuffer in, SharedLogs shared) {
    int number = (int) getUnsigned(in);
    switch (number) {
      case 0:
        return LogSet.NONE;
      case 1:
        return LogSet.ALL;
      case 2:
        var ids = new ArrayList<Id>();
        for (long n = getUnsigned(in); n > 0; n--) {
          ids.add(new Id(in.getLong(), in.getLong()));
        }
        return LogSet.of(ids);
      default:
        return shared.at(number - 1);
    }
  }
}
