package dev.cinch.bag;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.hold.HeldLease;
import dev.cinch.lease.hold.HoldSettings;
import dev.cinch.lease.hold.LeaseKeeper;
import dev.cinch.lease.hold.LeaseListener;
import dev.cinch.lease.hold.LeaseWait;
import dev.cinch.lease.hold.LostAnswers;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes leases for a session: asks, checks the witnesses, keeps them renewed and fences (rule F4).
 * What fails on the way is given back. Thread-safe.
 */
@CheckReturnValue
final class Taking {
  private static final Logger LOG = LoggerFactory.getLogger(Taking.class);

  private final Store store;
  private final LeaseService service;
  private final LostAnswers asks;
  private final String holder;
  private final TimeSource time;
  private final WitnessCheck check;
  private final LeaseKeeper keeper;
  private final Fencing fencing;
  private final Holdings holdings;
  private final LeaseListener listener;

  /**
   * @param holdings that what is taken is added to
   * @param listener told what becomes of them, on other threads
   */
  Taking(
      Store store,
      LeaseService service,
      String holder,
      WitnessCheck check,
      LeaseKeeper keeper,
      Fencing fencing,
      Holdings holdings,
      LeaseListener listener) {
    this.store = store;
    this.service = service;
    this.asks = new LostAnswers(service);
    this.holder = holder;
    this.time = store.context().time();
    this.check = check;
    this.keeper = keeper;
    this.fencing = fencing;
    this.holdings = holdings;
    this.listener = listener;
  }

  /** {@link Session#acquire}. */
  Grant acquire(List<LeaseName> names, long durationMs, LostAnswers.Asking asking)
      throws LeaseRefusedException, LeaseUnavailableException, IOException, InterruptedException {
    checkDuration(durationMs);
    List<Log> logs = logs();
    long before = store.context().checkedNow();
    var request =
        new Operation.Acquire(
            Id.random(store.context().random()),
            names,
            holder,
            durationMs,
            Holding.canBeNamed(names.size(), logs.size())
                ? LogSet.of(logs.stream().map(Log::id).toList())
                : LogSet.ALL,
            false);
    var asked = HeldLease.AskedAt.now(time);
    return use(asks.acquire(request, asking), asked, durationMs, before, true);
  }

  /** Asks again for so long. */
  LeaseWait waiting(Duration wait) {
    return LeaseWait.queued(wait, time, store.context().random());
  }

  /** {@link Session#join}. */
  Grant join(Id grant, long instance, long durationMs)
      throws LeaseRefusedException, LeaseUnavailableException, IOException, InterruptedException {
    checkDuration(durationMs);
    long before = store.context().checkedNow();
    var asked = HeldLease.AskedAt.now(time);
    Grant joined = service.renew(grant, durationMs, LogSet.NONE, LeaseReport.NOTHING.to(instance));
    return use(joined, asked, durationMs, before, false);
  }

  /**
   * @param own whether this session gives them back
   */
  private Grant use(Grant grant, HeldLease.AskedAt asked, long durationMs, long before, boolean own)
      throws LeaseRefusedException, LeaseUnavailableException, IOException, InterruptedException {
    var holding = new Holding(store.timestamps(), grant.witnesses(), own);
    boolean taken = false;
    try {
      check.check(grant, before);
      var held =
          new HeldLease(
              service,
              time,
              HoldSettings.of(durationMs),
              grant,
              asked,
              holding::report,
              listener,
              store.context().random());
      holding.holds(held);
      held.renewIfDue(); // the request may have waited
      keeper.keep(held); // renewing while the fence takes its time
      fencing.fence(holding, store);
      if (!holding.fence().isNone()) {
        Grant renewed = held.renew(LogSet.NONE);
        LOG.debug("fence reported, now until {}", renewed.expiry());
      }
      holdings.add(holding);
      taken = true;
    } finally {
      if (!taken) { // whatever the reason: the keeper would renew them for ever, for nobody
        if (own) {
          giveBack(grant.id(), holding);
        } else if (holding.isHeld()) {
          holding.lease().close();
        }
      }
    }
    return holding.lease().grant();
  }

  private void checkDuration(long durationMs) {
    long least = store.settings().leaseAboveMs();
    if (durationMs <= least) {
      throw new IllegalArgumentException(
          "a lease of %d ms is too short: it must be above bucket width + grace + margins, %d ms"
              .formatted(durationMs, least));
    }
  }

  private List<Log> logs() throws IOException {
    return store.whole(store.freshLogs());
  }

  /** Nothing renews them any more, also if the service does not hear of it. */
  private void giveBack(Id id, Holding holding) {
    try {
      if (holding.isHeld()) {
        holding.lease().close(); // before what may fail
        holding.lease().release(holding.report());
      } else {
        service.release(id, holding.report());
      }
    } catch (LeaseRefusedException e) {
      LOG.debug("leases to be given back were gone: {}", e.toString());
    } catch (LeaseUnavailableException e) {
      LOG.debug("could not give leases back yet: {}", e.toString());
      asks.lost(id);
    }
  }

  /**
   * Gives back what was asked for without an answer, and may have been granted; what can't be given
   * back runs out.
   */
  void giveBackUnheard() {
    try {
      asks.giveBack();
    } catch (LeaseUnavailableException e) {
      LOG.debug("could not give back what may have been granted; it runs out: {}", e.toString());
    }
  }
}
