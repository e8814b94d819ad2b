package dev.cinch.lease.server;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.lease.LeaseHost;
import dev.cinch.lease.Witness;
import dev.cinch.lease.access.Caller;
import dev.cinch.lease.wire.Answer;
import dev.cinch.lease.wire.LeaseDocuments;
import dev.cinch.lease.wire.WireException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The newest events, and how many leases ran out: what {@code GET /v1/lately} says. Of the events a
 * quarter may be refusals, so that whoever is refused over and over does not displace the others.
 * Thread-safe.
 */
final class Lately {
  static final String PATH = "/v1/lately";

  /** Events that are remembered. */
  static final int MOST = 1_000;

  private static final int REFUSALS = MOST / 4;
  private static final int DEFAULT_LIMIT = 100;
  private static final long SECOND = 1_000_000_000;
  private static final long MINUTE = Duration.ofMinutes(1).toNanos();
  private static final int MINUTES = 60;

  private record Numbered(long number, TrailEvent event) {}

  /** How many leases were held, and when that was, by the clock. */
  private record Counted(OptionalLong held, long at) {}

  /** No other server's tags begin so. */
  private final String origin = Long.toHexString(new SecureRandom().nextLong());

  private final LeaseHost service;
  private final LongSupplier clock;
  private final Expiries expiries;
  private final ArrayDeque<Numbered> refused = new ArrayDeque<>();
  private final ArrayDeque<Numbered> others = new ArrayDeque<>();
  private volatile @Nullable Counted counted;
  private long last;
  private long expired;

  /** How many ran out in each of the last minutes, by the minute's number, and which that was. */
  private final long[] lost = new long[MINUTES];

  private final long[] minutes = new long[MINUTES];

  /**
   * @param clock monotonic, nanoseconds
   */
  Lately(LeaseHost service, LongSupplier clock) {
    this.service = service;
    this.clock = clock;
    this.expiries = new Expiries(service);
  }

  /** Returns whether it is not known. */
  boolean granted(Witness witness) {
    return expiries.granted(witness);
  }

  void released(Witness witness) {
    expiries.released(witness);
  }

  /** Takes the leases that ran out since the last time. */
  List<TrailEvent> expired() {
    List<TrailEvent> over = expiries.take();
    synchronized (this) {
      expired += over.size();
      long now = minute();
      int place = place(now);
      lost[place] = (minutes[place] == now ? lost[place] : 0) + over.size();
      minutes[place] = now;
    }
    return over;
  }

  private long minute() {
    return Math.floorDiv(clock.getAsLong(), MINUTE);
  }

  private static int place(long minute) {
    return (int) Math.floorMod(minute, (long) MINUTES);
  }

  /** How many leases were found to have run out, since the start. */
  synchronized long expiredEver() {
    return expired;
  }

  private synchronized long lostInTheLastHour() {
    long now = minute();
    long sum = 0;
    for (int i = 0; i < MINUTES; i++) {
      sum += now - minutes[i] < MINUTES ? lost[i] : 0;
    }
    return sum;
  }

  synchronized void add(TrailEvent event) {
    boolean isRefusal = event.kind() == TrailEvent.Kind.REFUSED;
    ArrayDeque<Numbered> to = isRefusal ? refused : others;
    to.addFirst(new Numbered(++last, event));
    if (to.size() > (isRefusal ? REFUSALS : MOST - REFUSALS)) {
      var unused = to.removeLast();
    }
  }

  /** To count goes over all leases: about once a second, and nobody who grants waits for it. */
  private OptionalLong held() {
    long now = clock.getAsLong();
    Counted last = counted;
    if (last == null || now - last.at() > SECOND) {
      last = new Counted(service.counts().held(), now);
      counted = last;
    }
    return last.held();
  }

  private synchronized long number() {
    return last;
  }

  /** The newest that a caller may see, newest first. */
  private List<TrailEvent> newest(Caller caller, int limit) {
    var all = new ArrayList<Numbered>();
    synchronized (this) {
      all.addAll(refused);
      all.addAll(others);
    }
    all.sort(Comparator.comparingLong(Numbered::number).reversed());
    var found = new ArrayList<TrailEvent>();
    for (Iterator<Numbered> each = all.iterator(); each.hasNext() && found.size() < limit; ) {
      TrailEvent event = each.next().event();
      if (caller.maySee(event.name() == null ? "" : event.name().value())) {
        found.add(event);
      }
    }
    return found;
  }

  /**
   * {@code GET /v1/lately}.
   *
   * @param waiting acquires that wait here
   * @param known the {@code ETag} of an answer that its reader has; null if it has none
   */
  Answer answer(@Nullable String query, Caller caller, int waiting, @Nullable String known)
      throws WireException {
    Map<String, String> given = LeaseQueries.parameters(query);
    @Nullable String limit = given.remove("limit");
    LeaseQueries.noOthers(given);
    int most = limit == null ? DEFAULT_LIMIT : LeaseQueries.limit(limit, MOST);
    Optional<Answer> refusal = Routes.mayObserve(caller, "");
    if (refusal.isPresent() && caller.permissions().isEmpty()) {
      return refusal.get();
    }
    ObjectNode out = LeaseDocuments.object();
    if (refusal.isEmpty()) { // totals are of all names
      held().ifPresent(held -> out.put("held", held));
      out.put("waiting", waiting).put("lost", lostInTheLastHour());
    }
    String tag =
        '"' + origin + '-' + number() + '-' + Objects.hash(out, caller.permissions()) + '"';
    if (tag.equals(known)) {
      return Answer.unchanged(tag);
    }
    ArrayNode events = out.putArray("events");
    newest(caller, most).forEach(event -> events.add(event.json()));
    return Answer.ok(out).tagged(tag);
  }
}
