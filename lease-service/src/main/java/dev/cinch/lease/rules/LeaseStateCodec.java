package dev.cinch.lease.rules;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.TimeBound;
import dev.cinch.lease.Watermark;
import dev.cinch.lease.Witness;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The state of a lease to bytes and back, for backends that keep or send it as one value; what the
 * lease lacks takes no room.
 *
 * <pre>
 *   0  version: 3 (1)
 *   1  the request's secret id (16)
 *  17  expiry (8)
 *  25  flags (2)
 *  27  length of the name (1), name in ASCII
 *      second half of the correlation (8); the first is the time of the grant
 *      granted     -- times: zigzag variable-length, from the expiry
 *      duration    -- unsigned variable-length: twice the seconds, or twice the milliseconds and one
 *      generation  -- unsigned variable-length
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
 *      holder in UTF-8, up to the end
 * </pre>
 *
 * Numbers have the most significant byte first, but for variable-length ones: seven bits a byte,
 * the lowest first. A zigzag one is twice the number, or twice minus it less one if it is negative.
 * The latest that it can be is told from one second after the time that it belongs to. A set of
 * logs is a number: 0 for none, 1 for all, 2 for a count and so many ids that follow.
 *
 * <p>Flags: 0x3 the state (0 released, 1 tentative, 2 full, 3 ended), 0x4 asked for as tentative,
 * 0x8 fenced on release, 0x30 how the lease before ended, 0x40 an unusual issue, 0x80 asked for
 * other logs, 0x100 a lease before, 0x200 its end, 0x400 and 0x800 the watermarks, 0x1000 a fence,
 * 0x2000 metadata, 0x4000 left by an earlier instance, 0x8000 resumed.
 *
 * <p>Until when a steady clock excludes others is not told: it is of one machine. A state has one
 * encoding, and nothing else is read. The bytes hold the secret of the lease's request: whoever
 * sees them may act as its holder. Thread-safe.
 */
@CheckReturnValue
public final class LeaseStateCodec {
  private static final int VERSION = 3;

  /** The longest holder, in bytes of UTF-8, as in a witness. */
  private static final int MAX_HOLDER_BYTES = 255;

  private static final long NANOS_PER_MS = 1_000_000;
  private static final long NEVER = Long.MIN_VALUE;

  /** How far off the time is usually taken to be, nanoseconds: a number of the layout. */
  private static final long USUAL_NANOS = 1_000_000_000L;

  private static final int STATE = 0x3;
  private static final int ASKED_TENTATIVE = 0x4;
  private static final int FENCED_ON_RELEASE = 0x8;
  private static final int ENDING_SHIFT = 4;

  /**
   * It was not issued as long before its expiry as was asked for when it was granted, or the time
   * was known better or worse than to a second to both sides. How the issue differs, and then the
   * bound: 1 that one, 2 assumed, 3 measured: and its ends, from the issue.
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

  /** What is passed where one is read, and does not count. */
  private static final LeaseState ANY = LeaseState.unknown(new LeaseName("any"));

  /** Looked up, since {@code values()} makes a copy each time. */
  private static final LeaseState.State[] STATES = LeaseState.State.values();

  private LeaseStateCodec() {}

  /**
   * The one encoding of a state.
   *
   * @throws IllegalArgumentException if there is none: there was no lease, or it has a holder or as
   *     many logs as no witness can name
   */
  public static byte[] encode(LeaseState state) {
    if (!state.isKnown()) {
      throw new IllegalArgumentException("no lease on " + state.name());
    }
    requireUnicode(state.holder());
    if (state.holder().getBytes(StandardCharsets.UTF_8).length > MAX_HOLDER_BYTES) {
      throw new IllegalArgumentException("a holder of more than " + MAX_HOLDER_BYTES + " bytes");
    }
    requireFew(state.term().logs());
    requireFew(state.request().logs());
    requireFew(state.from().fence().logs());
    for (LeaseReport.Metadata m : state.recent()) {
      requireUnicode(m.dataFile());
    }
    var out = new StateBytes();
    int unusedVersion = out.octet(VERSION);
    LeaseState unused = pass(out, state);
    return out.toArray();
  }

  /**
   * Reads a state that fills the array exactly.
   *
   * @throws MalformedLeaseStateException for anything but what {@link #encode} makes
   */
  public static LeaseState decode(byte[] bytes) throws MalformedLeaseStateException {
    if (bytes.length == 0 || bytes[0] != VERSION) {
      throw new MalformedLeaseStateException(
          bytes.length == 0
              ? "no bytes"
              : "version " + (bytes[0] & 0xFF) + ", this software knows " + VERSION);
    }
    var in = new StateBytes(bytes, 1);
    try {
      LeaseState state = pass(in, null);
      // What was read leniently is what was written, or it is refused.
      if (Arrays.equals(encode(state), bytes)) {
        return state;
      }
    } catch (IllegalArgumentException e) {
      throw new MalformedLeaseStateException(
          "at byte " + in.position() + " of " + bytes.length + ": " + e.getMessage());
    }
    throw new MalformedLeaseStateException(
        "its " + bytes.length + " bytes are not the one encoding of what they say");
  }

  /**
   * Writes a state, or reads one.
   *
   * @param written null to read
   */
  private static LeaseState pass(StateBytes row, @Nullable LeaseState written) {
    LeaseState e = written == null ? ANY : written;
    Id id = row.id(e.id());
    long expiry = row.fixed(e.expiry());
    int flags = written == null ? 0 : flags(e);
    flags = row.octet(flags >> 8) << 8 | row.octet(flags);
    LeaseState.State state = STATES[flags & STATE];
    var name = new LeaseName(row.name(e.name().value()));
    long correlationLow = row.fixed(e.correlation().low());
    long correlationHigh = row.from(expiry, e.correlation().high());
    long durationMs = duration(row.unsigned(codedDuration(e.request().durationMs())));
    long generation = row.unsigned(e.generation());
    long leftBy = (flags & LEFT) != 0 ? row.unsigned(e.leftBy()) : 0;
    LogSet logs = logs(row, e.term().logs());
    long issuedAt = expiry - durationMs * NANOS_PER_MS;
    TimeBound issuedIn = usual(issuedAt);
    if ((flags & UNUSUAL_ISSUE) != 0) {
      issuedAt = row.from(issuedAt, e.term().issuedAt());
      issuedIn = bound(row, e.term().issuedIn(), issuedAt);
    }
    var end = LeaseState.End.NONE;
    if (state == LeaseState.State.RELEASED) {
      boolean fenced = (flags & FENCED_ON_RELEASE) != 0;
      long at = row.from(expiry, e.end().at());
      end = new LeaseState.End(at, fenced ? latest(row, e.end().latest(), at) : NEVER, fenced);
    }
    LogSet askedLogs = (flags & HAS_ASKED_LOGS) != 0 ? logs(row, e.request().logs()) : logs;
    Id previous = null;
    if ((flags & HAS_PREVIOUS) != 0) {
      Id before = e.from().correlation() == null ? NO_ID : e.from().correlation();
      previous = new Id(row.from(expiry, before.high()), row.fixed(before.low()));
    }
    long previousEnd =
        (flags & HAS_PREVIOUS_END) != 0 ? row.from(expiry, e.from().endedAt()) : NEVER;
    Watermark inherited = watermark(row, flags & HAS_WATERMARK, e.from().watermark(), expiry);
    Watermark stated = watermark(row, flags & HAS_STATED, e.stated(), expiry);
    Fence fence = Fence.NONE;
    if ((flags & HAS_FENCE) != 0) {
      fence =
          new Fence(row.from(expiry, e.from().fence().upTo()), logs(row, e.from().fence().logs()));
    }
    List<LeaseReport.Metadata> recent =
        (flags & HAS_RECENT) != 0 ? recent(row, e.recent(), expiry) : List.of();
    String holder = row.rest(e.holder());
    return new LeaseState(
        name,
        state,
        new LeaseState.Request(id, holder, durationMs, (flags & ASKED_TENTATIVE) != 0, askedLogs),
        new Inheritance(
            generation - 1,
            previous,
            Ending.ofCode(flags >> ENDING_SHIFT & 0x3),
            previousEnd,
            inherited,
            fence),
        new Id(correlationHigh, correlationLow),
        new LeaseState.Term(logs, expiry, Moment.UNSTEADY, issuedAt, issuedIn),
        stated,
        end,
        (flags & RESUMED) != 0,
        leftBy,
        recent);
  }

  private static int flags(LeaseState e) {
    Inheritance from = e.from();
    return e.state().ordinal()
        | from.ending().code() << ENDING_SHIFT
        | flag(e.request().tentative(), ASKED_TENTATIVE)
        | flag(e.end().fenced(), FENCED_ON_RELEASE)
        | flag(e.isLeft(), LEFT)
        | flag(e.resumed(), RESUMED)
        | flag(!isUsual(e), UNUSUAL_ISSUE)
        | flag(!e.request().logs().equals(e.term().logs()), HAS_ASKED_LOGS)
        | flag(from.correlation() != null, HAS_PREVIOUS)
        | flag(from.endedAt() != NEVER, HAS_PREVIOUS_END)
        | flag(!from.watermark().equals(Watermark.NONE), HAS_WATERMARK)
        | flag(!e.stated().equals(Watermark.NONE), HAS_STATED)
        | flag(!from.fence().equals(Fence.NONE), HAS_FENCE)
        | flag(!e.recent().isEmpty(), HAS_RECENT);
  }

  private static int flag(boolean on, int bit) {
    return on ? bit : 0;
  }

  private static boolean isUsual(LeaseState e) {
    long issuedAt = e.term().issuedAt();
    return issuedAt == e.expiry() - e.request().durationMs() * NANOS_PER_MS
        && e.term().issuedIn().equals(usual(issuedAt));
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

  private static TimeBound bound(StateBytes row, TimeBound bound, long issuedAt) {
    TimeBound usual = usual(issuedAt);
    int code =
        row.octet(
            bound.equals(usual)
                ? USUAL_BOUND
                : bound.kind() == TimeBound.Kind.MEASURED ? MEASURED_BOUND : ASSUMED_BOUND);
    return code == USUAL_BOUND
        ? usual
        : new TimeBound(
            row.from(issuedAt, bound.earliest()),
            row.from(issuedAt, bound.latest()),
            code == MEASURED_BOUND ? TimeBound.Kind.MEASURED : TimeBound.Kind.ASSUMED);
  }

  /** The latest that it could be at some time, which takes a byte where that is only assumed. */
  private static long latest(StateBytes row, long latest, long at) {
    return row.from(at + USUAL_NANOS, latest);
  }

  private static Watermark watermark(StateBytes row, int flag, Watermark watermark, long expiry) {
    if (flag == 0) {
      return Watermark.NONE;
    }
    long timestamp = row.from(expiry, watermark.timestamp());
    long at = row.from(expiry, watermark.signedTime());
    return new Watermark(timestamp, at, latest(row, watermark.latest(), at));
  }

  private static LogSet logs(StateBytes row, LogSet logs) {
    long number = row.unsigned(logs.isEmpty() ? 0 : logs.all() ? 1 : 2);
    if (number != 2) {
      if (number > 2 || number < 0) {
        throw new IllegalArgumentException("logs of number " + number);
      }
      return number == 0 ? LogSet.NONE : LogSet.ALL;
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
      StateBytes row, List<LeaseReport.Metadata> written, long expiry) {
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

  private static void requireUnicode(String text) {
    if (!StandardCharsets.UTF_8.newEncoder().canEncode(text)) {
      throw new IllegalArgumentException("a text that is not Unicode");
    }
  }

  private static void requireFew(LogSet logs) {
    if (logs.ids().size() > Witness.MAX_LOGS) {
      throw new IllegalArgumentException(
          logs.ids().size() + " logs, more than " + Witness.MAX_LOGS);
    }
  }

  /** Bytes that should be the state of a lease are not. The message is one line and says why. */
  public static final class MalformedLeaseStateException extends Exception {
    private static final long serialVersionUID = 1;

    MalformedLeaseStateException(String what) {
      super("malformed state of a lease: " + what);
    }
  }
}
