package dev.cinch.sim;

import static java.util.Objects.requireNonNull;

import dev.cinch.bag.Cuts;
import dev.cinch.bag.Log;
import dev.cinch.bag.NoSuchCutException;
import dev.cinch.bag.Store;
import dev.cinch.bag.StoreCut;
import dev.cinch.bag.audit.AuditReport;
import dev.cinch.bag.audit.Finding.Severity;
import dev.cinch.bag.audit.LeaseAuditor;
import dev.cinch.bag.audit.Violation;
import dev.cinch.bag.close.TooEarlyException;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.format.Floor;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.model.StoreSettings.Leases;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.store.LogContext;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.sim.Rng;
import dev.cinch.lease.sim.SimClock;
import dev.cinch.sim.History.Attempt;
import dev.cinch.sim.History.Held;
import dev.cinch.sim.Scan.Found;
import dev.cinch.view.Aggregator;
import dev.cinch.view.Expiry;
import dev.cinch.view.Retention;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.stream.IntStream;

/** Compares the files with what callers were told, once everything has come to rest. */
final class Checks {
  private final World world;
  private final History history;
  private final Plan plan;
  private final Map<Attempt, Found> existing = new HashMap<>();
  private final long[] floors;

  Checks(World world) {
    this.world = world;
    this.history = world.history;
    this.plan = world.plan;
    this.floors = new long[plan.logs()];
  }

  void run() throws Exception {
    for (Attempt a : history.attempts) {
      if (a.submitted && a.receipt == null && !world.wasKilled(a.who)) {
        history.violation("no verdict, though its process was not killed: " + a);
      }
    }
    var gate = new JudgesGate(world.scheduler);
    SimMachine machine = world.machine("judge", World.FIRST_USER);
    machine.setClock();
    Store store = store(machine, gate, 11).open();
    var settled = new ArrayList<List<Found>>();
    for (int i = 0; i < plan.logs(); i++) {
      Log log = store.createLog(Workbench.log(i));
      settled.add(settle(log, i));
      floors[i] = log.reader().expired();
      published(log.context(), i);
    }
    settled.forEach(this::note);
    attempts();
    views(settled);
    cuts(store);
    if (plan.expiring()) {
      new ExpiryCheck(history, existing.values(), floors, plan).run();
    }
    leases();
    // What nearly never finds anything that the others don't is not always worth its time.
    Rng rng = Rng.of(plan.seed(), 13);
    if (rng.oneIn(2)) {
      verify(machine, gate);
    }
    if (rng.oneIn(2)) {
      audit(store);
    }
    otherReader(world.machines.get(rng.below(world.machines.size())), settled, gate);
    if (rng.oneIn(3)) {
      SimMachine root = world.machine("root", 0);
      root.setClock();
      segments(store(root, gate, 15).open(), settled);
    }
    if (plan.removing()) {
      removal(store, machine, gate);
    }
  }

  /** Also floors of which nobody told: an expirer may fail once it has published one. */
  private void published(LogContext log, int index) throws IOException {
    Name place = log.layout().checkpoints();
    for (String name : log.storage().listIfThere(place, Freshness.CERTAIN)) {
      if (LogLayout.floorNumber(name).isPresent()) {
        Name floor = place.resolve(name);
        history.floor(
            index,
            log.storage()
                .read(
                    floor,
                    Envelope.MAX_SMALL_BYTES,
                    Freshness.CACHED,
                    bytes -> Floor.decode(bytes, floor))
                .to());
      }
    }
  }

  private SimStore store(SimMachine machine, JudgesGate gate, long purpose) {
    var time = new JudgesTime(world.scheduler, machine);
    return new SimStore(world, machine, gate, time, Rng.of(plan.seed(), purpose));
  }

  /** Advances the horizon past everything, and reads what there is. */
  private List<Found> settle(Log log, int index) throws IOException, InterruptedException {
    long last = SimClock.EPOCH;
    for (Attempt a : history.attempts) {
      if (a.log == index && a.receipt != null) {
        last = Math.max(last, a.receipt.timestamp());
      }
    }
    last = Math.max(last, log.horizon().reachable());
    while (true) {
      try {
        log.horizon().advance(last + 1, OptionalLong.of(Long.MAX_VALUE));
        break;
      } catch (TooEarlyException e) {
        world.scheduler.sleepUntil(world.scheduler.now() + e.waitNanos());
      }
    }
    return read(log, index);
  }

  private List<Found> read(Log log, int index) throws IOException {
    var scan = new Scan(history, index, plan);
    log.reader().settled(Long.MIN_VALUE, Long.MAX_VALUE, true, scan, scan);
    return scan.found();
  }

  private void note(List<Found> found) {
    for (Found f : found) {
      if (existing.put(f.attempt(), f) != null) {
        history.violation("twice in the settled view: " + f);
      }
    }
  }

  private void attempts() {
    for (Attempt a : history.attempts) {
      Found f = existing.get(a);
      boolean invisible = a.leases.isEmpty() && plan.leases() == Leases.REQUIRED;
      if (a.receipt instanceof Receipt.Committed c) {
        boolean there =
            f != null
                && f.timestamp() == c.timestamp()
                && f.position() == c.position()
                && f.file().equals(c.file().toString());
        boolean expired = f == null && c.timestamp() < floors[a.log];
        if (there == invisible && !expired) {
          history.violation((invisible ? "visible without a lease: " : "LOST: ") + a + " " + f);
        }
      } else if (f != null && a.receipt != null) {
        history.violation("REJECTED, and exists: " + a + " " + f);
      } else if (f != null && !a.submitted) {
        history.violation("refused, and exists: " + a + " " + f);
      }
    }
  }

  /** What was settled once never changes (H4). */
  private void views(List<List<Found>> settled) {
    for (History.View v : history.views) {
      long from = Math.max(v.floor(), floors[v.log()]); // what was before may have expired
      int[] now =
          settled.get(v.log()).stream()
              .filter(f -> f.timestamp() >= from && f.timestamp() < v.to())
              .mapToInt(f -> f.attempt().id)
              .toArray();
      int[] then =
          IntStream.range(0, v.ids().length)
              .filter(i -> v.times()[i] >= from)
              .map(i -> v.ids()[i])
              .toArray();
      if (!Arrays.equals(now, then)) {
        history.violation(
            "settled through %d for %s it was %s, and now it is %s"
                .formatted(v.to(), v.who(), Arrays.toString(then), Arrays.toString(now)));
      }
    }
  }

  /** Each cut gives what it gave once, or was told to have lost something that expired (H11). */
  private void cuts(Store store) throws IOException {
    var cuts = new Cuts(store);
    for (Map.Entry<List<Long>, History.View> e : history.cutViews.entrySet()) {
      long number = e.getKey().get(0);
      History.View then = e.getValue();
      StoreCut given = requireNonNull(history.cuts.get(number));
      StoreCut.Part part =
          given.logs().stream()
              .filter(p -> p.name().equals(Workbench.log(then.log())))
              .findFirst()
              .orElseThrow();
      try {
        StoreCut cut = cuts.find(number);
        if (!cut.equals(given)) {
          history.violation("cut " + number + " is another one: " + cut);
        }
        History.View now = CutterActor.view(world, "judge", cuts, cut, part);
        if (!Arrays.equals(now.ids(), then.ids()) || !Arrays.equals(now.times(), then.times())) {
          history.violation(
              "cut %d gave %s to %s, and now %s"
                  .formatted(
                      number, Arrays.toString(then.ids()), then.who(), Arrays.toString(now.ids())));
        }
      } catch (NoSuchCutException gone) {
        // One of which all had expired before it was taken gives nothing, and goes, too.
        if (floors[then.log()] <= part.floor() && floors[then.log()] < given.time()) {
          history.violation("nothing of it expired, and " + gone.getMessage());
        }
      }
    }
  }

  private void leases() {
    Map<LeaseName, List<Held>> byName = new HashMap<>();
    for (Held h : history.held.values()) {
      byName.computeIfAbsent(h.name, n -> new ArrayList<>()).add(h);
    }
    for (List<Held> leases : byName.values()) {
      leases.sort((a, b) -> a == b ? 0 : a.before(b) ? -1 : 1);
      exclusive(leases);
    }
    byName.forEach(this::ordered);
    byName.forEach(this::complete);
  }

  /** L1, by the signed times of instances. */
  private void exclusive(List<Held> leases) {
    for (int i = 1; i < leases.size(); i++) {
      Held a = leases.get(i - 1);
      Held b = leases.get(i);
      if (!a.released && !a.tentative && b.grantedAt < a.expiry) {
        history.violation("L1: " + b + " was granted before " + a + " ended");
      }
    }
  }

  /** F1, first half: timestamps follow the leases. */
  private void ordered(LeaseName name, List<Held> leases) {
    long highest = Long.MIN_VALUE;
    for (Held h : leases) {
      long first = Long.MAX_VALUE;
      long last = Long.MIN_VALUE;
      for (Map.Entry<Attempt, Found> e : existing.entrySet()) {
        if (e.getKey().leases.contains(h)) {
          first = Math.min(first, e.getValue().timestamp());
          last = Math.max(last, e.getValue().timestamp());
        }
      }
      if (first <= highest) {
        history.violation("F1: under " + h + " a message is not later than those before it");
      }
      highest = Math.max(highest, last);
    }
  }

  /** F1, second half: nothing comes into existence after the next holder's first look. */
  private void complete(LeaseName name, List<Held> leases) {
    for (Held h : leases) {
      var found = h.found;
      if (found == null) {
        continue;
      }
      for (Attempt a : existing.keySet()) {
        boolean earlier = a.leases.stream().anyMatch(l -> l.name.equals(name) && l.before(h));
        if (earlier && a.log == h.foundIn && !found.contains(a.id)) {
          history.violation("F1: " + h + " did not find " + a);
        }
      }
    }
  }

  private void verify(SimMachine machine, JudgesGate gate) throws IOException {
    store(machine, gate, 12)
        .verify(
            finding -> {
              if (finding.severity() == Severity.DAMAGE) {
                history.violation("verify: " + finding);
              }
            });
  }

  private void audit(Store store) throws IOException {
    if (!plan.leased()) {
      return;
    }
    AuditReport report = LeaseAuditor.audit(store);
    for (Violation v : report.violations()) {
      if (!isUnleased(v)) {
        history.violation("audit: " + v);
      }
    }
  }

  /** Where leases are required, others append without. */
  static boolean isUnleased(Violation v) {
    return v.rule() == Violation.Rule.WITNESS && v.problem().endsWith("names no lease");
  }

  /**
   * A log that is removed is as it was, to whoever has it open, and no damage to the others. What
   * nobody was told of and was not settled may be there too: it is closed early.
   */
  private void removal(Store store, SimMachine machine, JudgesGate gate)
      throws IOException, InterruptedException {
    int index = plan.logs() - 1;
    Log open = store.log(Workbench.log(index));
    List<Found> before = read(open, index);
    long settled =
        open.horizon().chain().freshTip().map(t -> t.record().to()).orElse(Long.MIN_VALUE);
    Log log = new RemovalCheck(store, history).bury(index);
    List<Found> after = read(log, index);
    List<Found> told =
        after.stream().filter(f -> f.timestamp() < settled || f.attempt().receipt != null).toList();
    if (!told.equals(before)) {
      history.violation("removed, log " + index + " gives another answer");
    }
    verify(machine, gate);
  }

  /** A machine's old caches give the same answer. */
  private void otherReader(SimMachine m, List<List<Found>> settled, JudgesGate gate)
      throws IOException {
    Store store = store(m, gate, 14).open();
    for (int i = 0; i < plan.logs(); i++) {
      if (!read(store.log(Workbench.log(i)), i).equals(settled.get(i))) {
        history.violation("another answer on " + m + " about log " + i);
      }
    }
  }

  /** Segments, and then only segments, give the same answer too (R1). */
  private void segments(Store store, List<List<Found>> settled) throws IOException {
    for (int i = 0; i < plan.logs(); i++) {
      Log log = store.log(Workbench.log(i));
      var limits = new Aggregator.Limits(3, 50_000);
      Aggregator.Result built = new Aggregator(log, limits).run();
      if (!read(log, i).equals(settled.get(i))) {
        history.violation("segments of log " + i + " give another answer: " + built);
      }
      new Retention(log, Duration.ZERO).run();
      if (!read(log, i).equals(settled.get(i))) {
        history.violation("after retention log " + i + " gives another answer");
      }
      if (plan.expiring()) {
        new Expiry(log, Duration.ZERO).run(path -> {});
        long floor = log.reader().expired();
        if (!read(log, i)
            .equals(settled.get(i).stream().filter(f -> f.timestamp() >= floor).toList())) {
          history.violation("after expiry log " + i + " gives another answer");
        }
      }
    }
  }
}
