package dev.cinch.lease.server;

import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Who waits for which name, first come, first served. Knows no clock and no thread: it is told what
 * happens, and says which requests are to be tried now. Not thread-safe.
 *
 * <p>A request takes a number when it first has to wait, and stands by it in every queue. One that
 * is asked again after its time was over goes on with the number that it had.
 *
 * <p>A request waits for one name at a time, the one that it was refused for. Only the first of a
 * name's queue is ever tried, so a lease that becomes free wakes one request. Of each queue that is
 * not empty either the first is being tried, or its last try found the name held and nobody has
 * freed it since: no wake-up is lost as long as the queue is told of what frees names.
 *
 * @param <W> a request with all that belongs to it
 */
final class Queues<W extends Queues.Waiter> {
  /** So many are remembered that may come back. */
  static final int LEFT = 4_096;

  /** One request that waits, or is about to. */
  static class Waiter {
    final Id id;
    @Nullable LeaseName at;
    long number;
    long since;

    /**
     * @param id of the request
     * @param since when it came
     */
    Waiter(Id id, long since) {
      this.id = id;
      this.since = since;
    }

    /** When it first came: that of the first, of copies that took each other's place. */
    long since() {
      return since;
    }

    Id id() {
      return id;
    }

    /** The name that it waits for; empty if it does not wait. */
    Optional<LeaseName> at() {
      return Optional.ofNullable(at);
    }
  }

  /** Those who wait for one name. */
  private static final class Queue<W extends Waiter> {
    /** By their numbers. */
    private final TreeMap<Long, W> waiters = new TreeMap<>();

    /** Who is being tried, which was the first when that began. */
    private @Nullable W tried;

    /** Whether the name was freed meanwhile. */
    private boolean again;
  }

  private final Map<LeaseName, Queue<W>> queues = new HashMap<>();
  private final Map<Id, W> waiters = new HashMap<>();

  /** Where one stood, and since when. */
  private record Place(long number, long since) {}

  /** Places of those that ceased to wait and may come back, the oldest first. */
  private final Map<Id, Place> left =
      new LinkedHashMap<>() {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Id, Place> eldest) {
          return size() > LEFT;
        }
      };

  private long numbers;

  /** How many wait. */
  int size() {
    return waiters.size();
  }

  /** Those who wait. */
  List<W> all() {
    return List.copyOf(waiters.values());
  }

  /** Those who wait for each name, in the order in which they would have it. */
  Map<LeaseName, List<W>> byName() {
    var all = new HashMap<LeaseName, List<W>>();
    queues.forEach((name, queue) -> all.put(name, List.copyOf(queue.waiters.values())));
    return all;
  }

  /** The earlier copy of the same request, if that waits. */
  Optional<W> copy(Id id) {
    return Optional.ofNullable(waiters.get(id));
  }

  /**
   * Whose queue a newcomer has to join before it is tried: the first of its names that is about to
   * go to somebody who came before.
   */
  Optional<LeaseName> taken(Collection<LeaseName> names) {
    return names.stream()
        .sorted()
        .filter(
            name -> {
              Queue<W> queue = queues.get(name);
              return queue != null && queue.tried != null;
            })
        .findFirst();
  }

  /** Joins a queue, at its end if it is new; who is to be tried now. */
  List<W> join(W waiter, LeaseName name) {
    Queue<W> queue = queues.computeIfAbsent(name, n -> new Queue<>());
    waiter.at = name;
    waiters.put(waiter.id(), waiter);
    queue.waiters.put(number(waiter), waiter);
    // The name may have been freed since it was refused, before anybody waited for it.
    return queue.waiters.size() == 1 ? next(queue) : List.of();
  }

  /** A name is free, or may be; who is to be tried now. */
  List<W> freed(LeaseName name) {
    Queue<W> queue = queues.get(name);
    if (queue == null) {
      return List.of();
    }
    if (queue.tried != null) {
      queue.again = true;
      return List.of();
    }
    return next(queue);
  }

  /** One that was tried found a name held; who is to be tried now. */
  List<W> held(W waiter, LeaseName by) {
    LeaseName at = waiter.at().orElse(null);
    if (at == null) {
      return List.of();
    }
    if (!at.equals(by)) {
      var next = new ArrayList<>(leave(waiter));
      next.addAll(join(waiter, by));
      return next;
    }
    Queue<W> queue = queue(at);
    queue.tried = null;
    return queue.again ? next(queue) : List.of();
  }

  /** One was answered, or its sender has gone; who is to be tried now. */
  List<W> leave(W waiter) {
    LeaseName at = waiter.at().orElse(null);
    if (at == null) {
      return List.of();
    }
    waiters.remove(waiter.id(), waiter);
    waiter.at = null;
    Queue<W> queue = queues.get(at);
    if (queue == null) {
      return List.of(); // a copy took its place, and left before it
    }
    boolean tried = queue.tried == waiter;
    boolean unused = queue.waiters.remove(number(waiter), waiter);
    if (queue.waiters.isEmpty()) {
      queues.remove(at);
      return List.of();
    }
    return tried ? next(queue) : List.of();
  }

  /**
   * One that ceases to wait and was not granted keeps its number for the case that it comes back.
   */
  void mayComeBack(W waiter) {
    if (waiter.number > 0) {
      left.put(waiter.id(), new Place(waiter.number, waiter.since));
    }
  }

  private long number(W waiter) {
    if (waiter.number == 0) {
      Place before = left.remove(waiter.id());
      waiter.number = before == null ? ++numbers : before.number();
      waiter.since = before == null ? waiter.since : before.since();
    }
    return waiter.number;
  }

  /** Whether anybody waits for a name. */
  boolean isWaitedFor(LeaseName name) {
    return queues.containsKey(name);
  }

  private List<W> next(Queue<W> queue) {
    W first = queue.waiters.firstEntry().getValue();
    queue.tried = first;
    queue.again = false;
    return List.of(first);
  }

  private Queue<W> queue(LeaseName name) {
    Queue<W> queue = queues.get(name);
    if (queue == null) {
      throw new IllegalStateException("no queue for " + name);
    }
    return queue;
  }
}
