package dev.cinch.sim;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.close.TooEarlyException;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.bag.write.MessageRefusedException;
import dev.cinch.bag.write.PendingReceipt;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.hold.LostAnswers;
import dev.cinch.lease.sim.Rng;
import dev.cinch.sim.History.Attempt;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalLong;

/**
 * Takes tentative leases, makes some of them full and writes under these, and gives them back or
 * not: without a session, as a client of the service would that has its own. Where it wrote nothing
 * it stands between the holders who do, and what it inherits it has to pass on.
 */
final class TentativeActor extends Actor {
  private static final long SLICE_NANOS = 500 * MS;

  TentativeActor(World world, Rng rng) {
    super(world, rng);
  }

  @Override
  public void run(SimProcess me) throws Exception {
    Store store = me.openStore();
    var network = new SimNetwork(world, me);
    var asks = new LostAnswers(network);
    while (left > 0) {
      left--;
      boolean calm = world.faults.stopped();
      try {
        hold(me, store, network, asks.acquire(request(me, store)));
      } catch (LeaseRefusedException | LeaseUnavailableException e) {
        me.note("not granted");
        me.sleepNanos(rng.spread(20 * MS, world.plan.leaseMs() * MS));
      } catch (IOException e) {
        tolerate(me, calm, e);
        me.sleepNanos(100 * MS);
      }
      rest(me);
    }
  }

  private Operation.Acquire request(SimProcess me, Store store) throws IOException {
    LogSet logs = rng.oneIn(3) ? LogSet.ALL : LogSet.of(ids(store));
    return new Operation.Acquire(
        Id.random(me.random()),
        SessionActor.names(rng),
        me.toString(),
        world.plan.leaseMs(),
        logs,
        true);
  }

  private List<Id> ids(Store store) throws IOException {
    var ids = new ArrayList<Id>();
    for (Log log : store.whole(store.freshLogs())) {
      if (ids.isEmpty() || rng.oneIn(2)) {
        ids.add(log.id());
      }
    }
    return ids;
  }

  private void hold(SimProcess me, Store store, SimNetwork network, Grant grant)
      throws LeaseRefusedException, LeaseUnavailableException, IOException, InterruptedException {
    rest(me);
    Grant held = grant;
    if (rng.oneIn(4)) {
      held = network.renew(grant.id(), leaseMs(), LogSet.NONE, LeaseReport.NOTHING);
    }
    boolean resumed = false;
    if (world.plan.several() && rng.oneIn(2)) {
      held = resumed(me, network, held);
      resumed = !held.witnesses().get(0).witness().tentative();
    }
    boolean full = resumed || rng.below(3) > 0;
    if (full && !resumed) {
      held = network.upgrade(grant.id(), leaseMs());
      me.note("upgraded");
      rest(me);
    }
    boolean fences = rng.below(3) > 0;
    if (fences) {
      fence(me, store, held);
    }
    OptionalLong watermark = OptionalLong.empty();
    if (full && fences && rng.below(3) > 0) {
      watermark = write(me, store, held);
    }
    if (rng.below(4) > 0) {
      network.release(grant.id(), report(watermark, fences, held, resumed));
    } else {
      me.note("lets leases expire");
    }
  }

  private static LeaseReport report(
      OptionalLong watermark, boolean fences, Grant held, boolean resumed) {
    var report = new LeaseReport(watermark, fences, List.of());
    return resumed ? report.to(held.witnesses().get(0).witness().instance()) : report;
  }

  /** Tries to go on elsewhere, which no tentative lease may: one that did would be full. */
  private Grant resumed(SimProcess me, SimNetwork network, Grant grant)
      throws LeaseUnavailableException, InterruptedException {
    me.sleepNanos(rng.nextLong(MS, 1_000 * MS));
    try {
      return network.resume(new Operation.Resume(grant.id(), grant.witnesses(), leaseMs()));
    } catch (LeaseRefusedException e) {
      return grant;
    }
  }

  /** Writes one message under the leases; the highest timestamp that may have been written. */
  private OptionalLong write(SimProcess me, Store store, Grant grant) throws IOException {
    List<Log> logs = store.whole(store.freshLogs());
    Log log = logs.get(rng.below(logs.size()));
    int index = log.name().equals(Workbench.log(0)) ? 0 : 1;
    long lower = Long.MIN_VALUE;
    for (SignedWitness s : grant.witnesses()) {
      if (!s.witness().logs().contains(log.id())) {
        return OptionalLong.empty();
      }
      lower = Math.max(lower, s.witness().lowerBound());
    }
    long upper = grant.expiry() - store.settings().leaseMarginNanos();
    int length = AppenderActor.length(rng);
    Attempt a = world.history.attempt(index, length, me.toString(), world.history.leases(grant));
    a.submitted = true;
    try (LogWriter writer = log.writer(world.plan.durability())) {
      byte[] payload = History.payload(a);
      var stamp = new LeaseStamp(grant.witnesses(), lower, upper);
      PendingReceipt pending = writer.submit(stamp, payload, 0, payload.length, false);
      a.receipt = pending.await();
      return OptionalLong.of(pending.timestamp());
    } catch (MessageRefusedException e) {
      a.submitted = false;
      me.note("refused");
      return OptionalLong.empty();
    }
  }

  private long leaseMs() {
    return rng.spread(1, world.plan.leaseMs());
  }

  /** Moves the horizon past what the leases inherited, however long that takes. */
  private static void fence(SimProcess me, Store store, Grant grant)
      throws IOException, InterruptedException {
    Fence fence = Fence.NONE;
    for (SignedWitness s : grant.witnesses()) {
      fence = fence.and(s.witness().fence());
    }
    if (fence.isNone()) {
      return;
    }
    var done = new HashSet<LogName>();
    for (boolean more = true; more; ) {
      more = false;
      for (LogName name : store.freshLogs()) {
        if (done.add(name)) {
          more = true;
          fence(me, store.createLog(name), fence); // made to its end, if it is just being made
        }
      }
    }
  }

  private static void fence(SimProcess me, Log log, Fence fence)
      throws IOException, InterruptedException {
    while (fence.logs().contains(log.id())) {
      try {
        log.horizon().advance(fence.upTo(), OptionalLong.empty());
        return;
      } catch (TooEarlyException e) {
        me.sleepNanos(Math.min(e.waitNanos(), SLICE_NANOS));
      }
    }
  }
}
