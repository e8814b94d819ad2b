package dev.cinch.lease.http;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.function.Predicate;

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
}
