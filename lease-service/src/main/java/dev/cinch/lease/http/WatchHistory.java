package dev.cinch.lease.http;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Predicate;

/**
 * The last events of a server's watches, so that a reader whose connection broke is told what it
 * missed, by the id of the last event that it had. Not thread-safe.
 */
final class WatchHistory {
  /** An id is this server's, and ends in the event's number. */
  private final String origin;

  private final int most;
  private final ArrayDeque<Event> events = new ArrayDeque<>();
  private int size;
  private long last;

  /** Of events up to this one some are forgotten, or were never told. */
  private long forgotten;

  private record Event(long number, String name, String text) {}

  /**
   * @param origin that no other server has, nor this one after a start
   * @param most characters that are remembered
   */
  WatchHistory(String origin, int most) {
    this.origin = origin;
    this.most = most;
  }

  /** The number of the last event. */
  long last() {
    return last;
  }

  String id(long number) {
    return origin + "-" + number;
  }

  /** Takes note of an event; returns its number. */
  long add(String name, String text) {
    last++;
    events.add(new Event(last, name, text));
    size += text.length();
    while (size > most) {
      Event first = events.remove();
      size -= first.text().length();
      forgotten = first.number();
    }
    return last;
  }

  /** Something happened that nobody heard of. */
  void lose() {
    events.clear();
    size = 0;
    forgotten = ++last;
  }

  /** The number in the one of several ids, with commas between, that this server gave. */
  OptionalLong number(String ids) {
    for (String id : ids.split(",")) {
      String own = id.strip();
      if (own.startsWith(origin + "-")) {
        try {
          return OptionalLong.of(Long.parseLong(own.substring(origin.length() + 1)));
        } catch (NumberFormatException e) {
          return OptionalLong.empty();
        }
      }
    }
    return OptionalLong.empty();
  }

  /** The events since one, each with its id; empty if some of these are not known any more. */
  Optional<List<String>> since(long number, Predicate<String> wanted) {
    if (number < forgotten || number > last) {
      return Optional.empty();
    }
    var missed = new ArrayList<String>();
    for (Event event : events) {
      if (event.number() > number && wanted.test(event.name())) {
        missed.add(LeaseEvent.withId(event.text(), id(event.number())));
      }
    }
    return Optional.of(missed);
  }
}
