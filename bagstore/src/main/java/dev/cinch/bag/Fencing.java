package dev.cinch.bag;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.TooEarlyException;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Message;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.storage.RoomWait;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Moves the horizon past what earlier holders may have written (section 7). Thread-safe. */
@CheckReturnValue
final class Fencing {
  private static final Logger LOG = LoggerFactory.getLogger(Fencing.class);

  /** How long to wait for a fence without looking after the lease. */
  private static final long SLICE_NANOS = 500_000_000;

  private final LeaseService service;
  private final TimeSource time;

  Fencing(LeaseService service, TimeSource time) {
    this.service = service;
    this.time = time;
  }

  /**
   * Advances the horizon of the logs concerned to the fence, before the first read or write
   * (section 7).
   *
   * @throws LeaseRefusedException {@code NOT_HELD} if the lease was lost meanwhile
   */
  void fence(Holding holding, Store store)
      throws LeaseRefusedException, IOException, InterruptedException {
    Fence fence = holding.fence();
    if (fence.isNone()) {
      return;
    }
    // Listed after the grant: an earlier holder may have gained a log since the request was made.
    // And again after fencing: what was made meanwhile may begin below the fence.
    var done = new HashSet<Id>();
    boolean more = true;
    while (more) {
      more = false;
      for (Log log : patiently(holding, () -> logs(store, fence))) {
        if (fence.logs().contains(log.id()) && done.add(log.id())) {
          advance(holding, log, fence.upTo());
          more = true;
        }
      }
    }
    // A service that lends names to several stores may want logs fenced that are not of this one.
    if (fence.logs().all() || done.containsAll(fence.logs().ids())) {
      holding.fenceDone();
    }
  }

  /**
   * The logs that a fence may be about. If it is for all there will be, those that are being made
   * too: whoever makes one may have looked at the horizons of others before they were fenced.
   */
  private static List<Log> logs(Store store, Fence fence) throws IOException {
    List<LogName> names = store.freshLogs();
    if (!fence.logs().equals(LogSet.ALL)) {
      return store.whole(names);
    }
    var logs = new ArrayList<Log>();
    for (LogName name : names) {
      List<Log> whole = store.whole(List.of(name));
      logs.addAll(whole.isEmpty() ? madeWhole(store, name) : whole);
    }
    return logs;
  }

  private static List<Log> madeWhole(Store store, LogName name) throws IOException {
    try {
      return List.of(store.createLog(name));
    } catch (LogRemovedException e) {
      return List.of();
    } catch (AccessDeniedException e) {
      return List.of(); // its maker kept it to himself, and may have died long ago
    }
  }

  /** The same for one log that the leases are about to be extended to. */
  void fence(Holding holding, Log log)
      throws LeaseRefusedException, IOException, InterruptedException {
    Fence fence = holding.fence();
    if (!fence.isNone() && fence.logs().contains(log.id())) {
      advance(holding, log, fence.upTo());
    }
  }

  /** As {@link Session#settleEarlier}. */
  long settleEarlier(Iterable<Holding> holdings, Log log)
      throws LeaseRefusedException, IOException, InterruptedException {
    long end = Long.MIN_VALUE;
    Holding last = null;
    var names = new HashSet<LeaseName>();
    for (Holding h : holdings) {
      end = Math.max(end, settleEarlier(h, log));
      h.lease().witnesses().forEach(w -> names.add(w.witness().name()));
      last = h;
    }
    return last == null ? end : settleAbove(last, names, log, end);
  }

  /**
   * Where a store was restored, leases that the copy does not know of may have been granted. What
   * was written under them stands above the lower bound of the next one, settled or not.
   *
   * @param end the log is settled through there
   */
  private long settleAbove(Holding holding, Set<LeaseName> names, Log log, long end)
      throws LeaseRefusedException, IOException, InterruptedException {
    long settled =
        Math.max(end, log.horizon().chain().freshTip().map(t -> t.record().to()).orElse(end));
    var found = new AtomicBoolean();
    long unused =
        log.reader()
            .live(
                settled,
                Long.MAX_VALUE,
                m -> {
                  found.set(m.permitted() && underAll(m, names));
                  return !found.get();
                },
                (m, file, why) -> {});
    if (!found.get()) {
      return settled;
    }
    long written = log.horizon().written();
    advance(holding, log, written);
    return written;
  }

  private static boolean underAll(Message m, Set<LeaseName> names) {
    var its = new HashSet<LeaseName>();
    m.leases().forEach(w -> its.add(w.witness().name()));
    return its.containsAll(names);
  }

  private long settleEarlier(Holding holding, Log log)
      throws LeaseRefusedException, IOException, InterruptedException {
    long last = holding.lowerBound(); // F1: what earlier holders wrote is not above it
    if (!holding.isOwn()) {
      // Others hold it too, and one may have been killed: no clock has given a later timestamp yet.
      StoreSettings s = log.context().store().settings();
      long ahead = s.clockAheadMs() * 1_000_000 + s.timestampDistanceNanos();
      last = Math.max(last, patiently(holding, () -> log.context().store().now()) + ahead);
    }
    if (last == Long.MIN_VALUE) {
      return last;
    }
    advance(holding, log, last + 1);
    return last + 1;
  }

  private void advance(Holding holding, Log log, long to)
      throws LeaseRefusedException, IOException, InterruptedException {
    patiently(holding, () -> log.horizon().advance(to, OptionalLong.of(opinion(holding))));
  }

  /**
   * Waits while it is too early, and while the storage is full: in slices, renewing meanwhile. A
   * fence may take longer than a lease.
   */
  @CanIgnoreReturnValue
  private <T> T patiently(Holding holding, RoomWait.Work<T> work)
      throws LeaseRefusedException, IOException, InterruptedException {
    var room = new RoomWait(time, "a fence", null);
    while (true) {
      try {
        return work.run();
      } catch (TooEarlyException e) {
        LOG.debug("fencing: {}", e.getMessage());
        time.sleepNanos(Math.min(e.waitNanos(), SLICE_NANOS));
      } catch (IOException e) {
        if (!room.pause(e)) {
          throw e;
        }
      }
      long unused = holding.lease().doWork(time.monotonicNanos());
      if (holding.lease().remainingNanos() <= 0) {
        throw new LeaseRefusedException(
            Reason.NOT_HELD,
            "a lease was lost while its fence was waited for: " + holding.lease().lostWhy(),
            0);
      }
    }
  }

  /** The service's signed time, as a third opinion on what time it is (section 5). */
  private long opinion(Holding holding) {
    try {
      return service.now();
    } catch (LeaseUnavailableException e) {
      return holding.lease().witnesses().get(0).witness().issuedAt();
    }
  }
}
