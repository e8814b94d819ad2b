package dev.cinch.lease.sim;

import java.util.PriorityQueue;

/** Time of a simulated world, which goes on from one event to the next. Of one thread. */
public class Events {
  /** Something that happens at a time; what is scheduled first comes first. */
  private record Event(long at, long order, Runnable what) implements Comparable<Event> {
    @Override
    public int compareTo(Event other) {
      return at != other.at ? Long.compare(at, other.at) : Long.compare(order, other.order);
    }
  }

  private final PriorityQueue<Event> queue = new PriorityQueue<>();
  private long scheduled;

  /** Nanoseconds since the world began. */
  public long time;

  /** How many have happened. */
  public long events;

  /** Has something happen at a time, which is not before now. */
  public final void at(long when, Runnable what) {
    queue.add(new Event(when, scheduled++, what));
  }

  /** Has something happen in so many nanoseconds. */
  public final void in(long nanos, Runnable what) {
    at(time + nanos, what);
  }

  /** When the next happens; {@link Long#MAX_VALUE} if nothing will. */
  public final long next() {
    Event next = queue.peek();
    return next == null ? Long.MAX_VALUE : next.at();
  }

  /** Takes the next, which the caller has happen. */
  public final Runnable take() {
    events++;
    return queue.remove().what();
  }

  /** What is due by now happens, late if it is. */
  public final void runDue() {
    while (next() <= time) {
      take().run();
    }
  }

  protected final void runUntil(long end) {
    for (Event next = queue.peek(); next != null && next.at() <= end; next = queue.peek()) {
      time = next.at();
      take().run();
    }
    time = end;
  }
}
