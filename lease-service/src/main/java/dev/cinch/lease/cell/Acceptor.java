package dev.cinch.lease.cell;

import dev.cinch.lease.cell.Message.Accept;
import dev.cinch.lease.cell.Message.Accepted;
import dev.cinch.lease.cell.Message.Memory;
import dev.cinch.lease.cell.Message.Outbox;
import dev.cinch.lease.cell.Message.Prepare;
import dev.cinch.lease.cell.Message.Promise;
import dev.cinch.lease.cell.Message.Query;
import dev.cinch.lease.cell.Message.Reject;
import dev.cinch.lease.cell.Message.Release;
import dev.cinch.lease.cell.Message.Told;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The acceptor of both algorithms, for any number of names, in memory alone (PaxosLease, 2.2 and 3;
 * Flease, algorithm 1). A node that starts makes a new one, which is silent at first (rule P5).
 * What is said to be forgotten in an answer was forgotten by a start or a sweep.
 *
 * <p>A name is kept for as long as what is known of it may matter: an attempt that was promised
 * something may still go on, or a lease that ended may have a successor. Where that takes too much
 * room, no new name is taken. Not thread-safe.
 */
public abstract class Acceptor {
  /** How often it is looked for what can be forgotten for want of room. */
  private static final long SQUEEZE_NANOS = 1_000_000_000;

  private static final int SQUEEZE_PART = 64;

  private final SortedRows rows = new Row.ByName();
  private final long quarantinedUntil;
  private final long quarantine;
  private final long keep;
  private final boolean first;
  private long most = Long.MAX_VALUE;

  /** Promised for all names of which nothing is known, beside {@link #floor}. */
  private Ballot raised = Ballot.NONE;

  private long nextSqueeze = Long.MIN_VALUE;

  /** Where the next sweep begins. */
  private int place;

  /**
   * @param quarantinedUntil when all leases and attempts of which this node may have known are over
   * @param quarantine how long an attempt lasts at most, by this clock: so long a promise is kept
   * @param keep how long a lease that ended is remembered, for its successor
   * @param first whether the cell is new, so that there is nothing that it may have forgotten
   */
  protected Acceptor(long quarantinedUntil, long quarantine, long keep, boolean first) {
    this.quarantinedUntil = quarantinedUntil;
    this.quarantine = quarantine;
    this.keep = keep;
    this.first = first;
  }

  /** Until when a lease that is accepted now excludes others. */
  protected abstract long deadline(Accept accept, long now);

  /** Whether an attempt can still succeed, and keeps to the longest lease; else it is refused. */
  protected abstract boolean timely(Accept accept, long now);

  /** What a promise carries, and {@link #timely} sees again. */
  protected abstract long pledge(long now);

  /** Promised for all names of which nothing is known. */
  protected abstract Ballot floor();

  /** Until when this acceptor drops all messages, its own node's too. */
  public final long quarantinedUntil() {
    return quarantinedUntil;
  }

  /**
   * Bounds what its names take in the heap, about: above it no new name is taken, and above one and
   * a half times as much no value grows.
   */
  public final void limit(long bytes) {
    most = bytes;
  }

  /** How many names it knows something of. */
  public final int size() {
    return rows.size();
  }

  /**
   * Takes a message; those that are not for acceptors are ignored.
   *
   * @param from the node that sent it, and gets the answer
   * @param now what this node's clock shows
   */
  public final void receive(int from, Message message, long now, Outbox out) {
    if (now < quarantinedUntil) { // rule P5
      return;
    }
    if (message instanceof Prepare prepare) {
      prepare(from, prepare, now, out);
    } else if (message instanceof Accept accept) {
      accept(from, accept, now, out);
    } else if (message instanceof Release release) {
      release(release, now);
    } else if (message instanceof Query query) {
      byte[] row = get(query.name());
      out.send(from, new Told(query.name(), memory(row, now)));
    }
  }

  /** Whether it has accepted a value with this ballot, or with one above it. */
  public final boolean hasAcceptedSince(Bytes name, Ballot ballot) {
    byte[] row = get(name);
    return row != null && Row.hasAccepted(row) && Row.compare(row, Row.ACCEPTED, ballot) >= 0;
  }

  /** The first names of which it knows a value, in ascending order: such of a prefix, above one. */
  public final List<Bytes> names(Bytes prefix, Bytes above, int most) {
    boolean fromPrefix = above.compareTo(prefix) < 0;
    var found = new ArrayList<Bytes>();
    var unused =
        rows.from(
            (fromPrefix ? prefix : above).shared(),
            fromPrefix,
            Integer.MAX_VALUE,
            row -> {
              Bytes name = Row.name(row);
              if (found.size() < most && name.startsWith(prefix) && Row.hasAccepted(row)) {
                found.add(name);
              }
              return found.size() < most && name.startsWith(prefix);
            });
    return found;
  }

  /**
   * Forgets names whose lease, with the time that it is remembered, is over.
   *
   * @param count at how many names it looks at least, going on where it stopped the last time
   * @return how many it forgot
   */
  public final int sweep(long now, int count) {
    int before = rows.size();
    place = rows.sweep(place, count, row -> Row.keep(row) <= now);
    return before - rows.size();
  }

  private byte @Nullable [] get(Bytes name) {
    return rows.get(name.shared());
  }

  private void prepare(int from, Prepare message, long now, Outbox out) {
    byte[] row = get(message.name());
    if (below(message.ballot(), row) || (row == null && !hasRoom(now))) {
      out.send(from, reject(message.name(), message.ballot(), row, now));
      return;
    }
    if (row == null) {
      row = Row.of(message.name(), message.ballot());
      rows.put(row);
    }
    Row.promise(row, message.ballot());
    Row.keepUntil(row, now + quarantine);
    out.send(from, new Promise(message.name(), message.ballot(), pledge(now), memory(row, now)));
  }

  private void accept(int from, Accept message, long now, Outbox out) {
    byte[] row = get(message.name());
    boolean live = row != null && Row.live(row, now);
    boolean same = row != null && Row.acceptedFrom(row, message.ballot());
    boolean room = row == null ? hasRoom(now) : mayGrow(row, message.value());
    if (!room) {
      out.send(from, reject(message.name(), message.ballot(), row, now));
      return;
    }
    if (!timely(message, now) || below(message.ballot(), row) || (live && !same)) { // rule P3
      out.send(from, reject(message.name(), message.ballot(), row, now));
      return;
    }
    if (row == null) {
      row = Row.of(message.name(), message.ballot());
    }
    long deadline = deadline(message, now);
    if (live) {
      deadline = Math.max(deadline, Row.deadline(row)); // rule P7
    }
    row = Row.accept(row, message.ballot(), deadline, message.value());
    Row.keepUntil(row, deadline + keep);
    rows.put(row);
    out.send(from, new Accepted(message.name(), message.ballot()));
  }

  private void release(Release message, long now) {
    byte[] row = get(message.name());
    if (row == null) {
      return;
    }
    if (Row.live(row, now)
        && Row.acceptedFrom(row, message.last()) // rule P9
        && Row.compare(row, Row.ACCEPTED, message.first()) >= 0
        && Row.compare(row, Row.ACCEPTED, message.last()) <= 0) {
      Row.release(row, now);
    }
    if (Row.compare(row, Row.PROMISED, message.last()) <= 0) {
      // What the owner sent before it stopped, and comes after this, is refused.
      Row.promise(row, message.last().next());
    }
  }

  /**
   * Whether one more name may be taken. What was promised, and nothing accepted, is forgotten for
   * that: as much is promised from then on for every name of which nothing is known.
   */
  private boolean hasRoom(long now) {
    if (rows.bytes() >= most && now >= nextSqueeze) {
      int before = rows.size();
      int unused =
          rows.sweep(
              0,
              Long.MAX_VALUE,
              row -> {
                boolean only = !Row.hasAccepted(row);
                if (only && Row.compare(row, Row.PROMISED, raised) > 0) {
                  raised = Row.ballot(row, Row.PROMISED);
                }
                return only;
              });
      // Where a look at all of them finds little, the next one waits.
      nextSqueeze = before - rows.size() > before / SQUEEZE_PART ? now : now + SQUEEZE_NANOS;
    }
    return rows.bytes() < most;
  }

  private boolean mayGrow(byte[] row, Bytes value) {
    return value.size() <= Row.value(row).size() || rows.bytes() - most < most / 2;
  }

  private Ballot floorNow() {
    return floor().below(raised) ? raised : floor();
  }

  private boolean below(Ballot ballot, byte @Nullable [] row) {
    return row == null ? ballot.below(floorNow()) : Row.compare(row, Row.PROMISED, ballot) > 0;
  }

  private Reject reject(Bytes name, Ballot ballot, byte @Nullable [] row, long now) {
    Ballot promised = row == null ? floorNow() : Row.ballot(row, Row.PROMISED);
    return new Reject(name, ballot, promised, memory(row, now));
  }

  private Memory memory(byte @Nullable [] row, long now) {
    if (row == null || !Row.hasAccepted(row)) {
      return Memory.forgotten(first ? keep : Math.min(keep, now - quarantinedUntil));
    }
    Memory.State state =
        Row.live(row, now)
            ? Memory.State.LIVE
            : Row.released(row) ? Memory.State.RELEASED : Memory.State.EXPIRED;
    long nanos = state == Memory.State.LIVE ? Row.deadline(row) - now : now - Row.deadline(row);
    nanos = Math.max(0, nanos); // a clock may have been set back
    return new Memory(state, Row.ballot(row, Row.ACCEPTED), Row.value(row), nanos);
  }

  /** All that it knows. */
  @Override
  public String toString() {
    return "quarantined until "
        + quarantinedUntil
        + " above "
        + raised
        + " "
        + rows.all().stream().map(Row::show).toList();
  }
}
