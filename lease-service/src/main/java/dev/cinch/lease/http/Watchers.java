package dev.cinch.lease.http;

import dev.cinch.lease.ChangeListener;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Those who watch leases: each is told what is held, and then what becomes of it. One that does not
 * take what it is told hears that it lagged, and what is held then. Confined to one event loop, but
 * for {@link #changed}, {@link #watches} and {@link #became}, which any thread calls.
 */
final class Watchers implements ChangeListener {
  /** Where one of them reads. */
  interface Sink {
    /** Whether so much was not taken that no more is to be written than what was found at once. */
    boolean isFull();

    void write(String text);

    void end();

    /** Whether its reader still has the right to it. */
    default boolean isPermitted() {
      return true;
    }

    /** Answers that it can't be watched, where nothing was written yet. */
    void refuse(String why);
  }

  /**
   * Asks the service, which may take a while, and tells on the loop what it is told, or why not.
   */
  interface Look {
    void page(
        String prefix,
        Optional<LeaseName> after,
        Consumer<List<LeaseInfo>> told,
        Consumer<String> failed);

    void show(List<LeaseName> names, Consumer<List<LeaseInfo>> told, Consumer<String> failed);

    void now(Consumer<Long> told);
  }

  static final long SWEEP_MS = 1_000;

  /** Without an event so many sweeps there is a comment, so that both sides see who is gone. */
  static final int HEARTBEAT_SWEEPS = 15;

  /** Whoever takes nothing for so many sweeps is gone. */
  static final int STALLED_SWEEPS = 30;

  /** Leases whose ends are waited for, and changes that the loop has not heard of, at most. */
  static final int MOST = 65_536;

  /** For so many sweeps what becomes of leases is remembered for one whose connection broke. */
  static final int REMEMBERED_SWEEPS = 60;

  /** Characters of events that are remembered. */
  static final int HISTORY = 64 << 10;

  /** One who watches, or has a moment ago. */
  static final class Watcher {
    private final Set<String> names;
    private final List<String> prefixes;
    private final String since;
    private final Sink sink;

    /** Since this event all that it wants is in the history. */
    private long covered = Long.MAX_VALUE;

    /** Whether something was written. */
    private boolean begun;

    private int sweepsLeft = REMEMBERED_SWEEPS;

    /**
     * What of the snapshot is next: the names, or a prefix by its number from 1; after the last:
     * none.
     */
    private int part;

    private Optional<LeaseName> after = Optional.empty();
    private boolean looking;
    private boolean lagged;

    /** Whether it is to be told before what is held that it lagged. */
    private boolean tellsLag;

    private boolean gone;
    private int quiet;
    private int stalled;

    /**
     * @param since the id of the last event that it had, perhaps several with commas between; empty
     *     if it begins
     */
    Watcher(Set<String> names, List<String> prefixes, String since, Sink sink) {
      this.names = Set.copyOf(names);
      this.prefixes = List.copyOf(prefixes);
      this.since = since;
      this.sink = sink;
    }

    private boolean wantsTheSame(Watcher other) {
      return names.equals(other.names) && prefixes.equals(other.prefixes);
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

  /** Those whose connections broke, the last one behind: they may come back. */
  private final List<Watcher> away = new CopyOnWriteArrayList<>();

  private final WatchHistory history;

  /** Changes that the loop has not heard of. */
  private final Queue<LeaseInfo> news = new ConcurrentLinkedQueue<>();

  private final AtomicInteger waiting = new AtomicInteger();
  private final AtomicBoolean missed = new AtomicBoolean();
  private final AtomicBoolean told = new AtomicBoolean();

  /** Leases that somebody watches, as last seen: nobody tells of those whose time is over. */
  private final Map<LeaseName, LeaseInfo> held = new HashMap<>();

  private boolean sweeping;
  private boolean expiring;
  private boolean ended;

  /**
   * @param most so many watch at once
   * @param origin that no other server has, nor this one after a start: its ids begin so
   */
  Watchers(int most, String origin, WaitingRoom.Loop loop, Look look) {
    this.most = most;
    this.history = new WatchHistory(origin, HISTORY);
    this.loop = loop;
    this.look = look;
  }

  @Override
  public void changed(String name, boolean free) {}

  @Override
  public boolean watches(String name) {
    return wants(watchers, name) || wants(away, name);
  }

  private static boolean wants(List<Watcher> any, String name) {
    for (Watcher watcher : any) {
      if (watcher.wants(name)) {
        return true;
      }
    }
    return false;
  }

  @Override
  public void lost() {
    missed.set(true);
    if (told.compareAndSet(false, true)) {
      loop.run(this::hear);
    }
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
      history.lose();
      watchers.forEach(this::lag);
    }
  }

  /** Whether one more may watch; it is told what is held, or what it missed. */
  boolean add(Watcher watcher) {
    if (ended || watchers.size() >= most) {
      return false;
    }
    watchers.add(watcher); // before it is looked: nothing is missed from then on
    if (!goesOn(watcher)) {
      watcher.tellsLag = !watcher.since.isEmpty();
      snapshot(watcher);
    }
    if (!sweeping) {
      sweeping = true;
      var unused = loop.after(SWEEP_MS, this::sweep);
    }
    return true;
  }

  /** Whether it was told all that it missed since it went. */
  private boolean goesOn(Watcher watcher) {
    OptionalLong number = history.number(watcher.since);
    if (number.isEmpty()) {
      return false;
    }
    Optional<Watcher> before =
        Stream.concat(away.stream(), watchers.stream())
            .filter(w -> w.wantsTheSame(watcher) && w.covered <= number.getAsLong())
            .findFirst();
    Optional<List<String>> events =
        before.flatMap(b -> history.since(number.getAsLong(), watcher::wants));
    if (events.isEmpty()) {
      return false;
    }
    watcher.covered = before.get().covered;
    away.remove(before.get());
    events.get().forEach(text -> write(watcher, text));
    watcher.part = watcher.prefixes.size() + 1;
    synced(watcher);
    return true;
  }

  private void synced(Watcher watcher) {
    watcher.covered = Math.min(watcher.covered, history.last());
    String text = LeaseEvent.of(LeaseEvent.Kind.SYNCED).text();
    write(watcher, LeaseEvent.withId(text, history.id(history.last())));
  }

  /** It has gone; what it wants is remembered for a while, unless it never heard all. */
  void leave(Watcher watcher) {
    boolean was = watchers.remove(watcher);
    watcher.gone = true;
    if (was && !ended && watcher.covered < Long.MAX_VALUE) {
      away.add(watcher);
      if (away.size() > most) {
        away.remove(0);
      }
    }
    held.keySet().removeIf(name -> !watches(name.value()));
  }

  /** Nobody watches any more. */
  void end() {
    ended = true;
    for (Watcher watcher : watchers) {
      leave(watcher);
      watcher.sink.end();
    }
    away.clear();
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
      watcher.tellsLag = true;
      tellLag(watcher);
      snapshot(watcher);
    }
  }

  private static void tellLag(Watcher watcher) {
    if (watcher.tellsLag) {
      watcher.tellsLag = false;
      write(watcher, LeaseEvent.of(LeaseEvent.Kind.LAGGED).text());
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
      tellLag(watcher);
      synced(watcher);
      if (watcher.lagged) {
        lag(watcher);
      }
      return;
    }
    watcher.looking = true;
    Consumer<List<LeaseInfo>> seen = page -> seen(watcher, page);
    Consumer<String> unseen = why -> unseen(watcher, why);
    if (watcher.part == 0) {
      look.show(watcher.names.stream().sorted().map(LeaseName::new).toList(), seen, unseen);
    } else {
      look.page(watcher.prefixes.get(watcher.part - 1), watcher.after, seen, unseen);
    }
  }

  /** One that has begun waits until it can be told; another one asks elsewhere. */
  private void unseen(Watcher watcher, String why) {
    if (watcher.gone) {
      watcher.looking = false;
    } else if (watcher.begun) {
      var unused =
          loop.after(
              SWEEP_MS,
              () -> {
                watcher.looking = false;
                if (!watcher.gone) {
                  next(watcher);
                }
              });
    } else {
      leave(watcher);
      watcher.sink.refuse(why);
    }
  }

  private void seen(Watcher watcher, List<LeaseInfo> page) {
    watcher.looking = false;
    if (watcher.gone) {
      return;
    }
    tellLag(watcher);
    for (LeaseInfo info : page) {
      if (isHeld(info)) {
        keep(info);
        write(watcher, new LeaseEvent(LeaseEvent.Kind.HELD, Optional.of(info)).text());
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
    String name = info.witness().name().value();
    String text = new LeaseEvent(LeaseEvent.Kind.of(info.state()), Optional.of(info)).text();
    String id = history.id(history.add(name, text));
    for (Watcher watcher : watchers) {
      if (watcher.wants(name) && !watcher.lagged) {
        if (watcher.sink.isFull()) {
          watcher.lagged = true;
        } else {
          // Before it has heard all that is held, it could not go on from here.
          write(watcher, watcher.isSynced() ? LeaseEvent.withId(text, id) : text);
        }
      }
    }
  }

  private static void write(Watcher watcher, String text) {
    watcher.quiet = 0;
    watcher.begun = true;
    watcher.sink.write(text);
  }

  private void sweep() {
    for (Watcher gone : away) {
      if (--gone.sweepsLeft <= 0) {
        away.remove(gone);
        held.keySet().removeIf(name -> !watches(name.value()));
      }
    }
    if (watchers.isEmpty() && away.isEmpty()) {
      sweeping = false;
      return;
    }
    var unused = loop.after(SWEEP_MS, this::sweep);
    for (Watcher watcher : watchers) {
      if (!watcher.sink.isPermitted()) {
        leave(watcher);
        watcher.sink.end();
      } else if (watcher.sink.isFull()) {
        if (++watcher.stalled >= STALLED_SWEEPS) {
          leave(watcher);
          watcher.sink.end();
        }
      } else if (watcher.begun && ++watcher.quiet >= HEARTBEAT_SWEEPS) {
        watcher.quiet = 0;
        watcher.sink.write(":\n\n");
      }
    }
    if (!expiring) {
      look.now(this::expire);
    }
  }

  /** Looks at those whose time was over when they were last seen: they may have been prolonged. */
  private void expire(long now) {
    List<LeaseName> due =
        held.values().stream()
            .filter(info -> info.witness().expiry() <= now)
            .map(info -> info.witness().name())
            .toList();
    if (!due.isEmpty()) {
      expiring = true; // the next sweep asks again where nobody answers, and not this one too
      look.show(
          due,
          infos -> {
            expiring = false;
            infos.forEach(this::tell);
          },
          why -> expiring = false);
    }
  }

  /** How many watch; for tests, and no more than a hint elsewhere than on the loop. */
  int size() {
    return watchers.size();
  }
}
