package dev.cinch.bag.logback;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongFunction;

/**
 * Events that are not in the store yet, bounded by the memory that they take. An event leaves it
 * only once its fate is known. Thread-safe; one thread alone takes.
 */
final class EventQueue {
  /** What an event takes besides its bytes, about. */
  private static final int OVERHEAD = 32;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition work = lock.newCondition();
  private final Condition room = lock.newCondition();
  private final ArrayDeque<byte[]> events = new ArrayDeque<>();
  private final long capacity;
  private final LongFunction<byte[]> note;
  private long bytes;
  private long dropped;

  /** Of those, how many no note in the log tells of yet. */
  private long untold;

  private boolean closed;
  private boolean abandoned;

  /**
   * @param capacity in bytes
   * @param note makes the event that says how many were dropped where it stands
   */
  EventQueue(long capacity, LongFunction<byte[]> note) {
    this.capacity = capacity;
    this.note = note;
  }

  /**
   * Adds an event if there is room.
   *
   * @param important whether it may have the last fifth of the room
   * @return whether it was added; else it counts as dropped
   */
  boolean offer(byte[] event, boolean important) {
    lock.lock();
    try {
      if (closed || !fits(event, important ? capacity : capacity - capacity / 5)) {
        dropped++;
        untold++;
        return false;
      }
      add(event);
      return true;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Adds an event, and waits for room as long as that takes.
   *
   * @param waits told once if it has to wait
   * @return false if the queue was closed; it counts as dropped then
   */
  boolean put(byte[] event, Runnable waits) {
    lock.lock();
    try {
      boolean told = false;
      while (!closed && !fits(event, capacity)) {
        if (!told) {
          told = true;
          waits.run();
        }
        room.awaitUninterruptibly();
      }
      return offer(event, true);
    } finally {
      lock.unlock();
    }
  }

  /** One that is larger than all the room there is fits if it is alone. */
  private boolean fits(byte[] event, long most) {
    return events.isEmpty() || bytes + event.length + OVERHEAD <= most;
  }

  private void add(byte[] event) {
    events.addLast(event);
    bytes += event.length + OVERHEAD;
    work.signal();
  }

  /**
   * Waits for events.
   *
   * @param most how many bytes of them, but at least one event
   * @return the oldest ones, which stay in the queue; none once it was closed and is empty
   */
  List<byte[]> oldest(int most) {
    lock.lock();
    try {
      while (events.isEmpty() && !closed) {
        work.awaitUninterruptibly();
      }
      var oldest = new ArrayList<byte[]>();
      long left = abandoned ? 0 : most;
      for (byte[] event : events) {
        left -= event.length + OVERHEAD;
        if (abandoned || (left < 0 && !oldest.isEmpty())) {
          break;
        }
        oldest.add(event);
      }
      return oldest;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Takes the oldest events off, whose fate is known. Where some were dropped, a note of that comes
   * after those that were added before.
   */
  void done(int count) {
    lock.lock();
    try {
      for (int i = 0; i < count; i++) {
        bytes -= events.removeFirst().length + OVERHEAD;
      }
      if (untold > 0 && count > 0) {
        long dropped = untold;
        untold = 0; // also where the encoder, which is the user's, fails
        add(note.apply(dropped));
      }
    } finally {
      room.signalAll();
      lock.unlock();
    }
  }

  /** Takes no more events. */
  void close() {
    lock.lock();
    try {
      closed = true;
      work.signalAll();
      room.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Gives up those that are left.
   *
   * @return how many there are
   */
  int abandon() {
    lock.lock();
    try {
      abandoned = true;
      return events.size();
    } finally {
      lock.unlock();
    }
  }

  /** How many were dropped so far. */
  long dropped() {
    lock.lock();
    try {
      return dropped;
    } finally {
      lock.unlock();
    }
  }
}
