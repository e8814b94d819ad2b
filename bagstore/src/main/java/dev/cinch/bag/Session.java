package dev.cinch.bag;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.Stamps.Stamped;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.bag.write.MessageRefusedException;
import dev.cinch.bag.write.PendingReceipt;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.OneLine;
import dev.cinch.lease.hold.HeldLease;
import dev.cinch.lease.hold.LeaseKeeper;
import dev.cinch.lease.hold.LeaseListener;
import dev.cinch.lease.hold.LostAnswers;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Leases and the logs written under them (section 7): the way to write so that whoever takes a
 * lease next sees all of it and nothing after it.
 *
 * <p>Take leases by name, append messages under all of them to any logs, release. The leases are
 * renewed in the background; when one is lost, appends are refused from the moment on at which the
 * monotonic clock says that it might have expired. Thread-safe.
 */
@CheckReturnValue
public final class Session implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Session.class);

  private final Writers writers;
  private final boolean ownsWriters;
  private final LeaseKeeper keeper;
  private final boolean ownsKeeper;
  private final Holdings holdings = new Holdings();
  private final Fencing fencing;
  private final Stamps stamps;
  private final Taking taking;

  /**
   * Written to since the last release; what other sessions do to others is no matter of this one.
   */
  private final Set<LogWriter> used = ConcurrentHashMap.newKeySet();

  private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
  private final Lock submitting = lock.readLock();
  private final Lock releasing = lock.writeLock();

  /** A thread that is submitting tells only afterwards: listeners may well close the session. */
  private final Tidings tidings = new Tidings(() -> lock.getReadHoldCount() > 0);

  private Session(
      LeaseService service,
      String holder,
      Writers writers,
      boolean ownsWriters,
      @Nullable LeaseKeeper shared) {
    Store store = writers.store();
    TimeSource time = store.context().time();
    OneLine.check("the holder", holder);
    this.writers = writers;
    this.ownsWriters = ownsWriters;
    this.keeper = shared != null ? shared : new LeaseKeeper(time);
    this.ownsKeeper = shared == null;
    this.fencing = new Fencing(service, time);
    var check = new WitnessCheck(store);
    this.stamps = new Stamps(store.context(), check, holdings);
    this.taking = new Taking(store, service, holder, check, keeper, fencing, holdings, tidings);
  }

  /**
   * Begins a session that holds nothing yet, with writers of its own.
   *
   * @param holder who it is, in its own words, for people
   * @throws IllegalArgumentException if that has controls, ends of lines, or marks that turn the
   *     direction of text
   */
  public static Session open(Store store, LeaseService service, String holder) {
    return open(store, service, holder, Durability.SYNC);
  }

  /** As {@link #open(Store, LeaseService, String)}, with another durability. */
  public static Session open(
      Store store, LeaseService service, String holder, Durability durability) {
    return new Session(service, holder, new Writers(store, durability), true, null);
  }

  /**
   * That a grant is of this store's lease service. Sessions look by themselves; this is for grants
   * that were taken for a store without one.
   *
   * @throws SessionRefusedException if it was granted for another store; it is still held then
   */
  public static void requireStore(Store store, Grant grant) throws IOException {
    WitnessCheck.checkStore(store.context(), grant);
  }

  /** Begins a session that shares writers with others. */
  public static Session open(Writers writers, LeaseService service, String holder) {
    return new Session(service, holder, writers, false, null);
  }

  /**
   * As {@link #open(Writers, LeaseService, String)}; its leases are kept by a keeper that others
   * use too, or that the caller steps. The session does not close it.
   */
  public static Session open(
      Writers writers, LeaseService service, String holder, LeaseKeeper keeper) {
    return new Session(service, holder, writers, false, keeper);
  }

  /**
   * Tells what becomes of every lease, on other threads, maybe two at once. The listener may close
   * the session.
   */
  public void listen(LeaseListener listener) {
    tidings.listen(listener);
  }

  /**
   * Takes leases, all or nothing, for all logs that exist now; where the last holder did not
   * release, waits for the fence (rule F4). More than 1,000 logs, or names times logs above 10,000
   * ({@link Grant#MAX_LOGS}), are more than witnesses name: then the leases are for those logs too
   * that will be.
   *
   * @param duration of the leases, renewed in the background; above bucket width + grace + margins
   * @throws LeaseRefusedException if one is held by another, or the service does not grant now;
   *     {@code NOT_HELD} if they were lost before they were fenced
   * @throws LeaseUnavailableException if the service did not answer; it may be asked again, which
   *     first gives back what it may have granted
   * @throws SessionRefusedException if its witnesses can't be relied on, or if the session was
   *     closed meanwhile; the leases were given back
   * @throws IllegalArgumentException if the duration is too short for a fence to end in time
   */
  @CanIgnoreReturnValue
  public Grant acquire(List<LeaseName> names, Duration duration)
      throws LeaseRefusedException, LeaseUnavailableException, IOException, InterruptedException {
    return acquire(names, duration, LeaseService::acquire);
  }

  /**
   * As {@link #acquire(List, Duration)}, and tries again while another holder has one of them,
   * first come, first served, or the service does not answer.
   *
   * @param wait how long; 0: not at all
   * @throws InterruptedException if the thread was interrupted; what may have been granted is given
   *     back when the session acquires again or is closed
   */
  @CanIgnoreReturnValue
  public Grant acquire(List<LeaseName> names, Duration duration, Duration wait)
      throws LeaseRefusedException, LeaseUnavailableException, IOException, InterruptedException {
    return taking.waiting(wait).take(asking -> acquire(names, duration, asking));
  }

  /**
   * As {@link #acquire(List, Duration)}, asking in another way.
   *
   * @param asking how, such as {@link LostAnswers.Asking#queued}
   */
  @CanIgnoreReturnValue
  public Grant acquire(List<LeaseName> names, Duration duration, LostAnswers.Asking asking)
      throws LeaseRefusedException, LeaseUnavailableException, IOException, InterruptedException {
    return taking.acquire(names, duration.toMillis(), asking);
  }

  /**
   * Writes under leases that others hold too, whoever tells this one the secret id of their grant.
   * They are renewed and fenced here as well, and never given back: {@link #leave} says what those
   * have to know who do that.
   *
   * @param instance of the service that answers now, which the others go by or will (rule L12)
   * @param duration as for {@link #acquire}
   * @throws LeaseRefusedException if they are not held, or not yet resumed at that instance
   * @throws SessionRefusedException if its witnesses can't be relied on
   */
  @CanIgnoreReturnValue
  public Grant join(Id grant, long instance, Duration duration)
      throws LeaseRefusedException, LeaseUnavailableException, IOException, InterruptedException {
    return taking.join(grant, instance, duration.toMillis());
  }

  /**
   * Appends a message under all leases held and waits for its fate.
   *
   * @param log opened from the same {@link Store} as the session
   * @throws MessageRefusedException if no lease is held, one was lost or leaves no timestamp, or
   *     the message is too long; nothing was written
   */
  public Receipt append(Log log, byte[] payload) throws MessageRefusedException {
    // This caller waits, so that no other thread is needed.
    Receipt receipt = submit(log, payload, 0, payload.length, false).await();
    if (receipt instanceof Receipt.Committed c) {
      var where = new LeaseReport.Metadata(log.id(), c.bucket().start(), c.file().toString());
      holdings.forEach(h -> h.stands(where));
    }
    return receipt;
  }

  /**
   * Hands over a message to be appended under all leases held; its receipt comes later.
   *
   * @throws MessageRefusedException as {@link #append}
   */
  public PendingReceipt submit(Log log, byte[] payload) throws MessageRefusedException {
    return submit(log, payload, 0, payload.length);
  }

  /** As {@link #submit(Log, byte[])}, with a part of an array. */
  public PendingReceipt submit(Log log, byte[] payload, int offset, int length)
      throws MessageRefusedException {
    return submit(log, payload, offset, length, true);
  }

  /**
   * As {@link #submit(Log, byte[], int, int)}.
   *
   * @param needsThread as for {@link dev.cinch.bag.write.LogWriter}
   */
  public PendingReceipt submit(Log log, byte[] payload, int offset, int length, boolean needsThread)
      throws MessageRefusedException {
    return submit(log, payload, offset, length, needsThread, null);
  }

  /**
   * As {@link #submit(Log, byte[], int, int, boolean)}, behind another message of the same log:
   * this one is in the log only if that is.
   *
   * @param behind as for {@link dev.cinch.bag.write.LogWriter}
   */
  public PendingReceipt submit(
      Log log,
      byte[] payload,
      int offset,
      int length,
      boolean needsThread,
      @Nullable PendingReceipt behind)
      throws MessageRefusedException {
    // Nothing may get a timestamp once a release has begun to state the watermark.
    submitting.lock();
    try {
      LogWriter writer = writers.writer(log);
      Stamped stamped = permitting(log);
      boolean unused = used.add(writer);
      PendingReceipt pending =
          writer.submit(stamped.stamp(), payload, offset, length, needsThread, behind);
      List<Holding> under = stamped.holdings();
      for (int i = 0; i < under.size(); i++) { // no iterator: what takes no memory can't fail here
        under.get(i).wrote(pending.timestamp());
      }
      return pending;
    } finally {
      submitting.unlock();
      tidings.tell();
    }
  }

  /** A stamp under all leases held, each of which names the log. */
  private Stamped permitting(Log log) throws MessageRefusedException {
    while (true) {
      Stamped now = stamps.current();
      if (now.holdings().isEmpty()) {
        throw new MessageRefusedException("the session holds no lease");
      }
      for (Holding h : now.holdings()) {
        if (h.lease().remainingNanos() <= 0) {
          String why = h.lease().lostWhy();
          throw new MessageRefusedException(
              "a lease is no longer held: " + (why == null ? "its time is over" : why));
        }
      }
      // By what the stamp says: a lease may be taken or renewed by another thread meanwhile.
      if (now.permits(log.id())) {
        return now;
      }
      for (Holding h : now.holdings()) {
        if (!h.permits(log.id())) {
          gain(h, log);
        }
      }
    }
  }

  /**
   * A log that did not exist when the leases were taken: a renewal names it, and it is fenced too.
   */
  private synchronized void gain(Holding holding, Log log) throws MessageRefusedException {
    try {
      fencing.fence(holding, log);
      holding.lease().renew(holding.toGain(log.id()));
      if (!holding.permits(log.id())) {
        throw new MessageRefusedException(
            "the lease service renewed the leases and did not extend them to log " + log.name());
      }
    } catch (LeaseRefusedException | LeaseUnavailableException | IOException e) {
      throw new MessageRefusedException(
          "the leases could not be extended to log " + log.name() + ": " + e.getMessage());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new MessageRefusedException("interrupted before anything was written");
    }
  }

  /**
   * Waits until all is settled that was written to a log under the names of the leases held, before
   * they were taken: by earlier holders, and under leases that were joined by everybody until now.
   * What stands in a restored store above all that its lease service knows of is among that.
   *
   * @return the time before which that is, through which the log is settled, nanoseconds since the
   *     Unix epoch; {@link Long#MIN_VALUE} if nothing was
   * @throws LeaseRefusedException {@code NOT_HELD} if the leases were lost meanwhile
   */
  public long settleEarlier(Log log)
      throws LeaseRefusedException, IOException, InterruptedException {
    return fencing.settleEarlier(holdings, log);
  }

  /**
   * What had to be fenced before the lease could be used; {@link Fence#NONE} if nothing, or if it
   * is not held.
   */
  public Fence fence(LeaseName name) {
    return holdings.fence(name);
  }

  /**
   * Gives all leases back, after every append under them has its verdict (rule L2).
   *
   * @return false if one had been lost already: the next holder has to fence, and whoever appended
   *     knows the fate of every message all the same
   * @throws LeaseUnavailableException if the service did not answer for some of them, which this
   *     may be called again for; the others are given back
   * @throws IllegalStateException if a writer failed, so that nobody knows what became of a
   *     message: nothing is given back, and the next holder has to fence
   */
  @CanIgnoreReturnValue
  public boolean release() throws LeaseUnavailableException {
    releasing.lock();
    try {
      used.forEach(LogWriter::flush);
      used.clear();
      return releaseAll();
    } finally {
      releasing.unlock();
    }
  }

  /**
   * What whoever gives joined leases back has to know of this session.
   *
   * @param highest the highest timestamp written under them; empty if nothing was
   * @param instance of the lease service, whose witnesses this session went by: they can be given
   *     back to that one only
   */
  public record Left(OptionalLong highest, long instance) {}

  /**
   * Writes nothing more under the leases that were joined, and renews them no longer, after every
   * append under them has its verdict. They may have been lost, dropped and joined anew in between.
   *
   * @throws IllegalStateException if a writer failed, so that nobody knows what became of a
   *     message: the leases must not be given back; or if not one grant was joined
   */
  public Left leave() {
    releasing.lock();
    try {
      for (LogWriter writer : used) {
        writer.flush();
      }
      used.clear();
      List<Holding> all = holdings.withLapsed();
      if (all.isEmpty()) {
        throw new IllegalStateException("no grant was joined");
      }
      Holding last = all.get(all.size() - 1);
      last.askWhoAnswers();
      OptionalLong highest = OptionalLong.empty();
      for (Holding h : all) {
        if (h.isOwn() || !h.lease().id().equals(last.lease().id())) {
          throw new IllegalStateException("not of one grant that was joined");
        }
        h.lease().close();
        highest = later(highest, h.report().watermark());
      }
      holdings.clear();
      return new Left(highest, last.lease().witnesses().get(0).witness().instance());
    } finally {
      releasing.unlock();
    }
  }

  private static OptionalLong later(OptionalLong one, OptionalLong other) {
    return other.orElse(Long.MIN_VALUE) > one.orElse(Long.MIN_VALUE) ? other : one;
  }

  /**
   * Goes on without the leases that were lost, which can't be given back: others may be taken then.
   * Nothing was written under them since, and the next holder fences what was. Those that were
   * joined may be joined again, if they were lost only here.
   *
   * @return whether there were any
   */
  @CanIgnoreReturnValue
  public boolean dropLost() {
    return holdings.dropLost();
  }

  /** The leases held at this moment, a grant each. They are given back by this session alone. */
  public List<HeldLease> leases() {
    return holdings.now().stream().map(Holding::lease).toList();
  }

  private boolean releaseAll() throws LeaseUnavailableException {
    boolean all = true;
    LeaseUnavailableException unanswered = null;
    for (Holding h : holdings) {
      if (!h.isOwn()) {
        h.lease().close();
        holdings.remove(h);
        continue;
      }
      LeaseReport report = h.report();
      try {
        h.lease().release(report);
      } catch (LeaseRefusedException e) {
        LOG.info("a lease could not be released: {}", e.getMessage());
        all = false;
      } catch (LeaseUnavailableException e) {
        // Whoever waits for one of the others must not wait for this one's time to pass.
        unanswered = e;
        continue;
      }
      holdings.remove(h);
    }
    if (unanswered != null) {
      throw unanswered;
    }
    return all;
  }

  /**
   * As {@link #close}, for whoever wants to know how it went.
   *
   * @return as {@link #release}
   * @throws IllegalStateException as {@link #release}; the leases run out by themselves, and the
   *     session is closed all the same
   * @throws LeaseUnavailableException if the service did not answer: the leases run out by
   *     themselves; the session is closed all the same
   */
  @CanIgnoreReturnValue
  public boolean end() throws LeaseUnavailableException {
    holdings.close();
    try {
      boolean all = release();
      taking.giveBackUnheard();
      return all;
    } finally {
      holdings.forEach(h -> h.lease().close());
      holdings.clear();
      if (ownsKeeper) {
        keeper.close();
      }
      if (ownsWriters) {
        writers.close();
      }
    }
  }

  /**
   * Releases what is held; leases that can't be given back now run out by themselves.
   *
   * @throws IllegalStateException as {@link #end}
   */
  @Override
  public void close() {
    try {
      end();
    } catch (LeaseUnavailableException e) {
      LOG.warn("leases were not given back and run out: {}", e.getMessage());
    }
  }
}
