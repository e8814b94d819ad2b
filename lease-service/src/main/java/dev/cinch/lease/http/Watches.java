package dev.cinch.lease.http;

import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseListener;
import dev.cinch.lease.LeaseName;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/**
 * Those who watch leases: each is told what is held, and then what becomes of it. One that does not
 * take what it is told hears that it lagged, and what is held then. Confined to one event loop, but
 * for {@link #changed}, {@link #watches} and {@link #became}, which any thread calls.
 */
final class Watches implements LeaseListener {
  /** Where one of them reads. */
  interface Sink {
    /** Whether so much was not taken that no more is to be written than what was found at once. */
    boolean isFull();

    void write(String text);

    void end();
  }

  /** Asks the service, which may take a while, and tells on the loop; nothing if it fails. */
  interface Look {
    void page(String prefix, Optional<LeaseName> after, Consumer<List<LeaseInfo>> told);

    void show(List<LeaseName> names, Consumer<List<LeaseInfo>> told);

    void now(Consumer<Long> told);
  }

  static final long SWEEP_MS = 1_000;

  /** Without an event so many sweeps there is a comment, so that both sides see who is gone. */
  static final int HEARTBEAT_SWEEPS = 15;

  /** Whoever takes nothing for so many sweeps is gone. */
  static final int STALLED_SWEEPS = 30;

  /** Leases whose ends are waited for, and changes that the loop has not heard of, at most. */
  static final int MOST = 65_536;

  /** One who watches. */
  static final class Watcher {
    private final Set<String> names;
    private final List<String> prefixes;
    private final Sink sink;

    /**
     * What of the snapshot is next: the names, or a prefix by its number from 1; after the last:
     * none.
     */
    private int part;

    private Optional<LeaseName> after = Optional.empty();
    private boolean looking;
    private boolean lagged;
    private boolean gone;
    private int quiet;
    private int stalled;

    Watcher(Set<String> names, List<String> prefixes, Sink sink) {
      this.names = Set.copyOf(names);
      this.prefixes = List.copyOf(prefixes);
      this.sink = sink;
    }

    private boolean wants(String name) {
      return names.contains(name) || prefixes.stream().anyMatch(name::startsWith);
    }

    private boolean isSynced() {
      return part > prefixes.size();
    }
  }

  private final int most;
  private final WaitingRoom.Loop loop;
  private final Look look;
  private final List<Watcher> watchers = new CopyOnWriteArrayList<>();

  /** Changes that the loop has not heard of. */
  private final Queue<LeaseInfo> news = new ConcurrentLinkedQueue<>();

  private final AtomicInteger waiting = new AtomicInteger();
  private final AtomicBoolean missed = new AtomicBoolean();
  private final AtomicBoolean told = new AtomicBoolean();

  /** Leases that somebody watches, as last seen: nobody tells of those whose time is over. */
  private final Map<LeaseName, LeaseInfo> held = new HashMap<>();

  private boolean sweeping;
  private boolean ended;

  /**
   * @param most so many watch at once
   */
  Watches(int most, WaitingRoom.Loop loop, Look look) {
    this.most = most;
    this.loop = loop;
    this.look = look;
  }

  @Override
  public void changed(String name, boolean free) {}

  @Override
  public boolean watches(String name) {
    for (Watcher watcher : watchers) {
      if (watcher.wants(name)) {
        return true;
      }
    }
    return false;
  }

  @Override
  public void became(LeaseInfo lease) {
    if (waiting.incrementAndGet() > MOST) {
      waiting.decrementAndGet();
      missed.set(true);
    } else {
      news.add(lease);
    }
    if (told.compareAndSet(false, true)) {
      loop.run(this::hear);
    }
  }

  private void hear() {
    told.set(false); // before the news are taken: what comes later calls again
    for (LeaseInfo next = news.poll(); next != null; next = news.poll()) {
      waiting.decrementAndGet();
      tell(next);
    }
    if (missed.getAndSet(false)) {
      watchers.forEach(this::lag);
    }
  }

  /** Whether one more may watch; it is told what is held. */
  boolean add(Watcher watcher) {
    if (ended || watchers.size() >= most) {
      return false;
    }
    watchers.add(watcher); // before it is looked: nothing is missed from then on
    snapshot(watcher);
    if (!sweeping) {
      sweeping = true;
      var unused = loop.after(SWEEP_MS, this::sweep);
    }
    return true;
  }

  /** It has gone. */
  void leave(Watcher watcher) {
    watcher.gone = true;
    watchers.remove(watcher);
    held.keySet().removeIf(name -> !watches(name.value()));
  }

  /** Nobody watches any more. */
  void end() {
    ended = true;
    for (Watcher watcher : watchers) {
      leave(watcher);
      watcher.sink.end();
    }
  }

  /** It has taken what was written. */
  void drained(Watcher watcher) {
    watcher.stalled = 0;
    if (watcher.gone || watcher.looking) {
      return;
    }
    if (!watcher.isSynced()) {
      next(watcher);
    } else if (watcher.lagged) {
      write(watcher, LeaseEvent.of(LeaseEvent.Kind.LAGGED));
      snapshot(watcher);
    }
  }

  private void lag(Watcher watcher) {
    watcher.lagged = true;
    if (!watcher.sink.isFull()) {
      drained(watcher);
    }
  }

  private void snapshot(Watcher watcher) {
    watcher.lagged = false;
    watcher.part = 0;
    watcher.after = Optional.empty();
    next(watcher);
  }

  /** Looks for what is next of what is held. */
  private void next(Watcher watcher) {
    if (watcher.part == 0 && watcher.names.isEmpty()) {
      watcher.part++;
    }
    if (watcher.isSynced()) {
      write(watcher, LeaseEvent.of(LeaseEvent.Kind.SYNCED));
      if (watcher.lagged) {
        lag(watcher);
      }
      return;
    }
    watcher.looking = true;
    if (watcher.part == 0) {
      look.show(
          watcher.names.stream().sorted().map(LeaseName::new).toList(), p -> seen(watcher, p));
    } else {
      look.page(watcher.prefixes.get(watcher.part - 1), watcher.after, p -> seen(watcher, p));
    }
  }

  private void seen(Watcher watcher, List<LeaseInfo> page) {
    watcher.looking = false;
    if (watcher.gone) {
      return;
    }
    for (LeaseInfo info : page) {
      if (isHeld(info)) {
        keep(info);
        write(watcher, new LeaseEvent(LeaseEvent.Kind.HELD, Optional.of(info)));
      }
    }
    if (watcher.part == 0 || page.isEmpty()) {
      watcher.part++;
      watcher.after = Optional.empty();
    } else {
      watcher.after = Optional.of(page.get(page.size() - 1).witness().name());
    }
    if (!watcher.sink.isFull()) {
      next(watcher);
    }
  }

  private static boolean isHeld(LeaseInfo info) {
    return info.state().excludes() || info.state() == LeaseInfo.State.TENTATIVE;
  }

  private void keep(LeaseInfo info) {
    LeaseName name = info.witness().name();
    if (held.size() < MOST || held.containsKey(name)) {
      held.put(name, info);
    }
  }

  private void tell(LeaseInfo info) {
    LeaseInfo before = held.get(info.witness().name());
    boolean same =
        before != null && before.witness().correlation().equals(info.witness().correlation());
    if (isHeld(info)) {
      keep(info);
      if (before != null && same && before.state() == info.state()) {
        return; // it is told already
      }
    } else if (same) {
      held.remove(info.witness().name());
    } else if (info.state() == LeaseInfo.State.EXPIRED) {
      return; // likewise
    }
    var event = new LeaseEvent(LeaseEvent.Kind.of(info.state()), Optional.of(info));
    for (Watcher watcher : watchers) {
      if (watcher.wants(info.witness().name().value()) && !watcher.lagged) {
        if (watcher.sink.isFull()) {
          watcher.lagged = true;
        } else {
          write(watcher, event);
        }
      }
    }
  }

  private static void write(Watcher watcher, LeaseEvent event) {
    watcher.quiet = 0;
    watcher.sink.write(event.text());
  }

  private void sweep() {
    if (watchers.isEmpty()) {
      sweeping = false;
      return;
    }
    var unused = loop.after(SWEEP_MS, this::sweep);
    for (Watcher watcher : watchers) {
      if (watcher.sink.isFull()) {
        if (++watcher.stalled >= STALLED_SWEEPS) {
          leave(watcher);
          watcher.sink.end();
        }
      } else if (++watcher.quiet >= HEARTBEAT_SWEEPS) {
        watcher.quiet = 0;
        watcher.sink.write(":\n\n");
      }
    }
    look.now(this::expire);
  }

  /** Looks at those whose time was over when they were last seen: they may have been prolonged. */
  private void expire(long now) {
    List<LeaseName> due =
        held.values().stream()
            .filter(info -> info.witness().expiry() <= now)
            .map(info -> info.witness().name())
            .toList();
    if (!due.isEmpty()) {
      look.show(due, infos -> infos.forEach(this::tell));
    }
  }

  /** How many watch; for tests, and no more than a hint elsewhere than on the loop. */
  int size() {
    return watchers.size();
  }
}
