package dev.cinch.lease.client;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.Ending;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.Witness;
import dev.cinch.lease.client.LeaseEvent.Kind;
import dev.cinch.lease.time.TimeSource;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.TreeMap;

/**
 * What becomes of leases, by asking again each second. First come those that are held, each as
 * {@link Kind#HELD}, then {@link Kind#SYNCED}, and then each change. Renewals are not told, nor
 * what came and went between two looks. While nothing changes a look costs a server nothing. Not
 * thread-safe.
 */
@CheckReturnValue
public final class LeaseWatch {
  private static final long EVERY = 1_000_000_000L;

  /** An answer with so many is remembered by the client, see {@link HttpTransport}. */
  private static final int PAGE = 200;

  private final LeaseService service;
  private final List<LeaseName> names;
  private final List<String> prefixes;
  private final TimeSource time;

  /** Those that were held at the last look. */
  private final Map<LeaseName, LeaseInfo> held = new TreeMap<>();

  private final Queue<LeaseEvent> events = new ArrayDeque<>();
  private boolean begun;

  /**
   * Watches leases: those of these names, and those whose names begin with one of these prefixes;
   * all if there are neither.
   *
   * @param time by which it waits between two looks
   */
  public LeaseWatch(
      LeaseService service, List<LeaseName> names, List<String> prefixes, TimeSource time) {
    this.service = service;
    this.names = List.copyOf(names);
    this.prefixes = names.isEmpty() && prefixes.isEmpty() ? List.of("") : List.copyOf(prefixes);
    this.time = time;
  }

  /**
   * Waits for the next event.
   *
   * @throws LeaseUnavailableException if the service did not answer; the next call asks again, and
   *     misses nothing that lasts
   */
  public LeaseEvent next() throws LeaseUnavailableException, InterruptedException {
    while (events.isEmpty()) {
      if (begun) {
        time.sleepNanos(EVERY);
      }
      look();
    }
    return events.remove();
  }

  private void look() throws LeaseUnavailableException {
    Map<LeaseName, LeaseInfo> found = found();
    boolean gone = held.keySet().stream().anyMatch(name -> !found.containsKey(name));
    long now = gone ? service.now() : Long.MIN_VALUE;
    for (LeaseInfo before : List.copyOf(held.values())) {
      Witness w = before.witness();
      if (!found.containsKey(w.name()) && w.expiry() <= now) { // else it may be resumed
        tell(Kind.EXPIRED, before.withState(LeaseInfo.State.EXPIRED));
      }
    }
    found.values().forEach(this::seen);
    if (!begun) {
      begun = true;
      events.add(new LeaseEvent(Kind.SYNCED, Optional.empty()));
    }
  }

  private Map<LeaseName, LeaseInfo> found() throws LeaseUnavailableException {
    var found = new TreeMap<LeaseName, LeaseInfo>();
    for (LeaseName name : names) {
      service.show(name).ifPresent(info -> found.put(name, info));
    }
    for (String prefix : prefixes) {
      Optional<LeaseName> after = Optional.empty();
      List<LeaseInfo> page = service.list(prefix, after, PAGE);
      while (!page.isEmpty()) {
        page.forEach(info -> found.put(info.witness().name(), info));
        after = Optional.of(page.get(page.size() - 1).witness().name());
        page = service.list(prefix, after, PAGE);
      }
    }
    return found;
  }

  private void seen(LeaseInfo now) {
    Witness w = now.witness();
    LeaseInfo before = held.get(w.name());
    if (before != null && !before.witness().correlation().equals(w.correlation())) {
      boolean released = w.previousEnding() == Ending.RELEASED;
      if (w.previous().filter(before.witness().correlation()::equals).isPresent()) {
        tell(
            released ? Kind.RELEASED : Kind.EXPIRED,
            before.withState(released ? LeaseInfo.State.RELEASED : LeaseInfo.State.EXPIRED));
      } else {
        held.remove(w.name()); // others had it in between, and how it ended is not known
      }
      before = null;
    }
    if (before != null && before.state() == now.state()) {
      held.put(w.name(), now);
    } else if (before != null || now.state().isHeld()) {
      tell(begun ? kind(now.state()) : Kind.HELD, now);
    }
  }

  private static Kind kind(LeaseInfo.State state) {
    return switch (state) {
      case HELD, TENTATIVE -> Kind.GRANTED;
      case REVOKED -> Kind.REVOKED;
      case RELEASED -> Kind.RELEASED;
      case EXPIRED -> Kind.EXPIRED;
    };
  }

  private void tell(Kind kind, LeaseInfo lease) {
    LeaseInfo unused =
        lease.state().isHeld()
            ? held.put(lease.witness().name(), lease)
            : held.remove(lease.witness().name());
    events.add(new LeaseEvent(kind, Optional.of(lease)));
  }
}
