package dev.cinch.sim;

import dev.cinch.bag.Log;
import dev.cinch.bag.Session;
import dev.cinch.bag.Store;
import dev.cinch.bag.Writers;
import dev.cinch.bag.read.ExpiredException;
import dev.cinch.bag.write.MessageRefusedException;
import dev.cinch.bag.write.PendingReceipt;
import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.hold.LeaseKeeper;
import dev.cinch.lease.sim.Rng;
import dev.cinch.sim.History.Attempt;
import dev.cinch.sim.History.Held;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;

/** Takes leases, looks what is there, appends under them, and releases them or lets them expire. */
final class SessionActor extends Actor {
  private static final LeaseName[] NAMES = {
    new LeaseName("a"), new LeaseName("b"), new LeaseName("c"), new LeaseName("d")
  };

  /** Handed over, and the verdict not asked for yet. */
  private final List<Attempt> attempts = new ArrayList<>();

  private final List<PendingReceipt> pending = new ArrayList<>();

  SessionActor(World world, Rng rng) {
    super(world, rng);
  }

  @Override
  public void run(SimProcess me) throws Exception {
    Store store = me.openStore();
    var writers = new Writers(store, world.plan.durability());
    var network = new SimNetwork(world, me);
    attempts.clear(); // those of a process that was killed
    pending.clear();
    int failures = 0;
    while (left > 0) {
      LeaseKeeper keeper = LeaseKeeper.stepped(me);
      me.keep(keeper);
      Session session = Session.open(writers, network, me.toString(), keeper);
      try {
        int looks = me.horizonLooks();
        Grant grant = session.acquire(names(rng), Duration.ofMillis(leaseMs()));
        if (me.horizonLooks() > looks && !fenced(session, grant)) {
          world.history.violation("F4: " + me + " fenced what was released: " + grant);
        }
        work(me, store, session, world.history.leases(grant));
      } catch (LeaseRefusedException | LeaseUnavailableException e) {
        me.note("not granted");
        failures++;
        long longest = world.plan.several() ? 1_000 : world.plan.leaseMs();
        me.sleepNanos(rng.spread(20_000_000, 1_000_000L * longest));
      } catch (IOException e) {
        me.note(e.getClass().getSimpleName());
        failures++;
        me.sleepNanos(100_000_000);
      }
      finish(me, session);
      if (failures > (world.plan.several() ? 80 : world.plan.lingering() ? 40 : 12)) {
        left = 0; // others want to end too
      }
    }
    writers.close();
  }

  /** Where instances go on side by side, a long one makes a ceiling for short ones after it. */
  private long leaseMs() {
    long least = world.plan.shortLeaseMs();
    return world.plan.several() && rng.below(6) > 0
        ? rng.nextLong(least, least + 800)
        : Math.max(least, world.plan.leaseMs());
  }

  private static boolean fenced(Session session, Grant grant) {
    return grant.witnesses().stream().anyMatch(s -> !session.fence(s.witness().name()).isNone());
  }

  /** One or two names, which others want too. */
  static List<LeaseName> names(Rng rng) {
    LeaseName one = NAMES[rng.below(rng.oneIn(4) ? 4 : 1)];
    LeaseName other = NAMES[rng.below(4)];
    return rng.oneIn(4) && !one.equals(other) ? List.of(one, other) : List.of(one);
  }

  private void finish(SimProcess me, Session session) {
    if (rng.oneIn(3)) {
      me.note("lets leases expire");
    } else {
      session.close();
    }
    await();
    me.keep(null);
  }

  private void await() {
    for (int i = 0; i < pending.size(); i++) {
      attempts.get(i).receipt = pending.get(i).await();
    }
    pending.clear();
    attempts.clear();
  }

  private void work(SimProcess me, Store store, Session session, List<Held> held)
      throws IOException, InterruptedException {
    int index = rng.below(world.logs());
    Log log = log(store, index);
    if (rng.oneIn(2)) {
      look(me, log, index, held);
    }
    boolean holds = world.plan.restartNanos() > 0; // for as long as several renewals
    int count = holds ? 6 : rng.between(1, 4);
    for (int i = 0; i < count && left > 0; i++) {
      if (rng.oneIn(4)) {
        index = rng.below(world.logs());
        log = log(store, index);
      }
      append(me, session, log, index, held);
      rest(me);
      if (holds) {
        long longest = world.plan.several() ? 1_000 : world.plan.leaseMs();
        me.sleepNanos(rng.nextLong(MS, longest * MS));
      } else if (world.plan.lingering() && rng.oneIn(2)) {
        me.sleepNanos(rng.spread(MS, world.plan.leaseMs() * MS));
      }
    }
  }

  /** The first read under the leases: what it does not find must never exist. */
  private void look(SimProcess me, Log log, int index, List<Held> held) throws IOException {
    var scan = new Scan(world.history, index, world.plan);
    try {
      log.reader().live(Long.MIN_VALUE, Long.MAX_VALUE, scan, scan);
    } catch (ExpiredException e) {
      return; // what it gave is not all that there is
    }
    var found = new HashSet<Integer>();
    for (Scan.Found f : scan.found()) {
      found.add(f.attempt().id);
    }
    for (Held h : held) {
      h.found = found;
      h.foundIn = index;
    }
    me.note("looked under " + held);
  }

  private void append(SimProcess me, Session session, Log log, int index, List<Held> held) {
    int batch = rng.oneIn(4) ? rng.between(2, 4) : 1;
    for (int i = 0; i < batch; i++) {
      left--;
      int length = AppenderActor.length(rng);
      Attempt a = world.history.attempt(index, length, me.toString(), held);
      a.submitted = true;
      byte[] payload = History.payload(a);
      try {
        if (batch == 1) {
          a.receipt = session.append(log, payload);
        } else {
          pending.add(session.submit(log, payload, 0, payload.length, false));
          attempts.add(a);
        }
      } catch (MessageRefusedException e) {
        a.submitted = false;
        me.note("refused");
      }
    }
    if (batch == 1 || rng.oneIn(2)) {
      await(); // else it asks for the verdicts only after it gave the leases back
    }
  }
}
