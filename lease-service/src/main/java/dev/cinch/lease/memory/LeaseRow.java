package dev.cinch.lease.memory;

import dev.cinch.lease.Ending;
import dev.cinch.lease.Id;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Metadata;
import dev.cinch.lease.TimeBound;
import dev.cinch.lease.time.TimeBounds;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A {@link LeaseEntry} as one array of bytes, which is how the table keeps it: what a lease lacks
 * takes no room, and a row costs one object. A row is replaced by the next one of its name; where
 * only the same request's leases are prolonged, and as many bytes say so, they are put in its place
 * ({@link NameRows#renew}): its name and id stay what they are.
 *
 * <pre>
 *   0  the request's secret id (16)
 *  16  expiry; in a stub the time of the end (8)
 *  24  flags (2)
 *  26  length of the name (1), name in ASCII       -- a stub ends before this
 *      second half of the correlation (8); the first is the time of the grant
 *      granted                                     -- times: zigzag variable-length, from the expiry
 *      duration, generation                        -- unsigned variable-length
 *      logs, then in this order what the flags announce
 *      holder in UTF-8                             -- up to the end
 * </pre>
 *
 * A set of logs is a number: 0 for none, 1 for all, 2 for a count and so many ids that follow, from
 * 3 on one of {@link LogSets}. See docs/decisions/lease-memory.md.
 */
final class LeaseRow {
  private static final int EXPIRY = 16;
  private static final int FLAGS = 24;
  private static final int NAME = 26;

  private static final long NANOS_PER_MS = 1_000_000;

  private static final int STATE = 0x3;
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
  private static final int NO_BOUND = 0;
  private static final int USUAL_BOUND = 1;
  private static final int ASSUMED_BOUND = 2;
  private static final int MEASURED_BOUND = 3;

  /** It may not be its name's any more; the only flag that is set later. */
  private static final int REPLACED = 0x4000;

  private static final int RESUMED = 0x8000;

  /** In a stub: the request was given back before it was granted. */
  private static final int GIVEN_UP = 0x1;

  /** Looked up, since {@code values()} makes a copy each time. */
  private static final LeaseEntry.State[] STATES = LeaseEntry.State.values();

  private LeaseRow() {}

  /** What is left of a request whose leases were released, so that a late copy is not granted. */
  static byte[] stub(Id id, long endedAt) {
    return stub(id, endedAt, 0);
  }

  /** The same for a request that was not granted yet. */
  static byte[] givenUp(Id id, long at) {
    return stub(id, at, GIVEN_UP);
  }

  private static byte[] stub(Id id, long endedAt, int flags) {
    return ByteBuffer.allocate(NAME)
        .putLong(id.high())
        .putLong(id.low())
        .putLong(endedAt)
        .putShort((short) flags)
        .array();
  }

  static boolean isStub(byte[] row) {
    return row.length == NAME;
  }

  /** Whether it is what the partition has for its name; if not, that is to be looked up. */
  static boolean isCurrent(byte[] row) {
    return (ByteBuffer.wrap(row).getShort(FLAGS) & REPLACED) == 0;
  }

  /** Tells those who have the row from elsewhere to look its name up. */
  static void replaced(byte[] row) {
    row[FLAGS] |= REPLACED >> 8;
  }

  /** Whether its leases are full: asked for so, or upgraded. */
  static boolean isFull(byte[] row) {
    return (ByteBuffer.wrap(row).getShort(FLAGS) & STATE) == LeaseEntry.State.FULL.ordinal();
  }

  /** Of a stub. */
  static boolean isGivenUp(byte[] row) {
    return (ByteBuffer.wrap(row).getShort(FLAGS) & GIVEN_UP) != 0;
  }

  static boolean isReleased(byte[] row) {
    return (ByteBuffer.wrap(row).getShort(FLAGS) & STATE) == LeaseEntry.State.RELEASED.ordinal();
  }

  static boolean hasId(byte[] row, Id id) {
    ByteBuffer in = ByteBuffer.wrap(row);
    return in.getLong(0) == id.high() && in.getLong(8) == id.low();
  }

  static boolean haveOneId(byte[] a, byte[] b) {
    return Arrays.equals(a, 0, Id.BYTES, b, 0, Id.BYTES);
  }

  static Id id(byte[] row) {
    ByteBuffer in = ByteBuffer.wrap(row);
    return new Id(in.getLong(0), in.getLong(8));
  }

  /** The lease's expiry; a stub's time of the end. */
  static long expiry(byte[] row) {
    return ByteBuffer.wrap(row).getLong(EXPIRY);
  }

  static String name(byte[] row) {
    return new String(row, NAME + 1, row[NAME] & 0xFF, StandardCharsets.US_ASCII);
  }

  /** A name, or what one may start with, as {@link #compare} wants it. */
  static byte[] key(String name) {
    return name.getBytes(StandardCharsets.UTF_8);
  }

  static byte[] keyOf(byte[] row) {
    return Arrays.copyOfRange(row, NAME + 1, NAME + 1 + (row[NAME] & 0xFF));
  }

  /** Compares a row's name with a key, in the order of strings. */
  static int compare(byte[] row, byte[] key) {
    int to = NAME + 1 + (row[NAME] & 0xFF);
    return Arrays.compareUnsigned(row, NAME + 1, to, key, 0, key.length);
  }

  static int compareNames(byte[] a, byte[] b) {
    return Arrays.compareUnsigned(
        a, NAME + 1, NAME + 1 + (a[NAME] & 0xFF), b, NAME + 1, NAME + 1 + (b[NAME] & 0xFF));
  }

  static byte[] pack(LeaseEntry e, LogSets logSets) {
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
    var out = new RowWriter();
    out.putLong(e.id.high());
    out.putLong(e.id.low());
    out.putLong(e.expiry);
    out.putByte(flags >> 8);
    out.putByte(flags);
    out.putShort(key(e.name));
    out.putLong(e.correlationLow);
    out.putSigned(e.correlationHigh - e.expiry);
    putDuration(out, e.durationMs);
    out.putUnsigned(e.generation);
    putLogs(out, e.logs, logSets);
    if (!isUsual(e)) {
      out.putSigned(e.issuedAt - usuallyIssued(e));
      putBound(out, e.issuedIn, e.issuedAt);
    }
    if (e.state == LeaseEntry.State.RELEASED) {
      out.putSigned(e.endedAt - e.expiry);
      if (e.fencedOnRelease) {
        putLatest(out, e.endedLatest, e.endedAt);
      }
    }
    if (widened) {
      putLogs(out, e.askedLogs, logSets);
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
      putLogs(out, e.fenceLogs, logSets);
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
    return out.toArray();
  }

  private static long usuallyIssued(LeaseEntry e) {
    return e.expiry - e.durationMs * NANOS_PER_MS;
  }

  private static boolean isUsual(LeaseEntry e) {
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

  private static int flag(boolean on, int bit) {
    return on ? bit : 0;
  }

  private static void putBound(RowWriter out, @Nullable TimeBound bound, long issuedAt) {
    if (bound == null) {
      out.putByte(NO_BOUND);
    } else if (bound.equals(usual(issuedAt))) {
      out.putByte(USUAL_BOUND);
    } else {
      out.putByte(bound.kind() == TimeBound.Kind.MEASURED ? MEASURED_BOUND : ASSUMED_BOUND);
      out.putSigned(bound.earliest() - issuedAt);
      out.putSigned(bound.latest() - issuedAt);
    }
  }

  private static @Nullable TimeBound getBound(ByteBuffer in, long issuedAt) {
    int code = in.get();
    if (code == NO_BOUND) {
      return null;
    }
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
    return TimeBound.around(issuedAt, TimeBounds.ASSUMED_NANOS, TimeBound.Kind.ASSUMED);
  }

  /** The latest that it could be at some time, which takes a byte where that is only assumed. */
  private static void putLatest(RowWriter out, long latest, long at) {
    out.putSigned(latest - at - TimeBounds.ASSUMED_NANOS);
  }

  private static long getLatest(ByteBuffer in, long at) {
    return at + TimeBounds.ASSUMED_NANOS + getSigned(in);
  }

  private static void putLogs(RowWriter out, LogSet logs, LogSets logSets) {
    int number = logs.isEmpty() ? 0 : logs.all() ? 1 : logSets.numberOf(logs);
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

  /** Of a row that is no stub. */
  static LeaseEntry unpack(byte[] row, LogSets logSets) {
    ByteBuffer in = ByteBuffer.wrap(row);
    Id id = new Id(in.getLong(), in.getLong());
    long expiry = in.getLong();
    int flags = in.getShort();
    var e = new LeaseEntry(getText(in, in.get() & 0xFF));
    e.row = row;
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
    e.generation = getUnsigned(in);
    e.logs = getLogs(in, logSets);
    boolean usual = (flags & UNUSUAL_ISSUE) == 0;
    e.issuedAt = usuallyIssued(e) + (usual ? 0 : getSigned(in));
    e.issuedIn = usual ? usual(e.issuedAt) : getBound(in, e.issuedAt);
    if (e.state == LeaseEntry.State.RELEASED) {
      e.endedAt = expiry + getSigned(in);
      e.endedLatest = e.fencedOnRelease ? getLatest(in, e.endedAt) : Long.MIN_VALUE;
    }
    e.askedLogs = (flags & HAS_ASKED_LOGS) != 0 ? getLogs(in, logSets) : e.logs;
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
      e.fenceLogs = getLogs(in, logSets);
    }
    if ((flags & HAS_RECENT) != 0) {
      var recent = new ArrayList<Metadata>();
      for (long n = getUnsigned(in); n > 0; n--) {
        Id log = new Id(in.getLong(), in.getLong());
        long bucketStart = expiry + getSigned(in);
        recent.add(new Metadata(log, bucketStart, getText(in, (int) getUnsigned(in))));
      }
      e.recent = List.copyOf(recent);
    }
    e.holder = getText(in, in.remaining());
    return e;
  }

  private static String getText(ByteBuffer in, int length) {
    var text = new String(in.array(), in.position(), length, StandardCharsets.UTF_8);
    in.position(in.position() + length);
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

  private static LogSet getLogs(ByteBuffer in, LogSets logSets) {
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
        return logSets.at(number - 1);
    }
  }
}
