package dev.cinch.lease.http;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.access.Caller;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The newest events of a {@link Trail}, in a bounded part of the memory. Refusals have a part of
 * their own: many of them push out no grant. Thread-safe.
 */
final class TrailHistory {
  private record Numbered(long number, TrailEvent event) {}

  /** Events of which the oldest go where there are too many. */
  private static final class Ring {
    private final int most;
    private final long mostBytes;
    private final ArrayDeque<Numbered> events = new ArrayDeque<>();
    private long bytes;

    Ring(int most, long mostBytes) {
      this.most = most;
      this.mostBytes = mostBytes;
    }

    void add(Numbered next) {
      events.addLast(next);
      bytes += next.event().size();
      while (events.size() > most || bytes > mostBytes) {
        bytes -= events.removeFirst().event().size();
      }
    }
  }

  private static final int DEFAULT_LIMIT = 100;
  private static final int MAX_LIMIT = 1_000;

  private final Ring refused;
  private final Ring others;
  private long last;

  /**
   * @param most events
   * @param mostBytes that they take in the heap, about
   */
  TrailHistory(int most, long mostBytes) {
    refused = new Ring(most / 4, mostBytes / 4);
    others = new Ring(most - most / 4, mostBytes - mostBytes / 4);
  }

  synchronized void add(TrailEvent event) {
    Ring ring = event.kind() == TrailEvent.Kind.REFUSED ? refused : others;
    ring.add(new Numbered(++last, event));
  }

  /** The newest of those that are wanted, newest first. */
  synchronized List<TrailEvent> newest(Predicate<TrailEvent> wanted, int limit) {
    var found = new ArrayList<TrailEvent>();
    Iterator<Numbered> mine = refused.events.descendingIterator();
    Iterator<Numbered> theirs = others.events.descendingIterator();
    Numbered a = mine.hasNext() ? mine.next() : null;
    Numbered b = theirs.hasNext() ? theirs.next() : null;
    while ((a != null || b != null) && found.size() < limit) {
      Numbered next;
      if (b == null || (a != null && a.number() > b.number())) {
        next = a;
        a = mine.hasNext() ? mine.next() : null;
      } else {
        next = b;
        b = theirs.hasNext() ? theirs.next() : null;
      }
      if (next != null && wanted.test(next.event())) {
        found.add(next.event());
      }
    }
    return found;
  }

  /** {@code GET /v1/history}. */
  Answer answer(@Nullable String query, Caller caller) throws WireException {
    Map<String, String> given = LeaseQueries.parameters(query);
    @Nullable String name = given.remove("name");
    @Nullable String limit = given.remove("limit");
    LeaseQueries.noOthers(given);
    int most = limit == null ? DEFAULT_LIMIT : LeaseQueries.limit(limit, MAX_LIMIT);
    Predicate<TrailEvent> wanted;
    if (name != null) {
      LeaseName only = WireReader.name(name);
      Optional<Answer> refusal = Routes.mayObserve(caller, name);
      if (refusal.isPresent()) {
        return refusal.get();
      }
      wanted = event -> only.equals(event.name());
    } else if (caller.permissions().isEmpty()) {
      return Routes.mayObserve(caller, "").orElseThrow();
    } else {
      wanted = event -> caller.maySee(event.name() == null ? "" : event.name().value());
    }
    ObjectNode out = LeaseDocuments.object();
    ArrayNode events = out.putArray("events");
    newest(wanted, most).forEach(event -> events.add(event.json()));
    return Answer.ok(out);
  }
}
