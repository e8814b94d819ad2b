package dev.cinch.cli;

import dev.cinch.bag.Store;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.registry.StoreInstances;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.lease.Between;
import dev.cinch.lease.LeaseHost;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.access.Access;
import dev.cinch.lease.access.Permission;
import dev.cinch.lease.access.TokenFile;
import dev.cinch.lease.instance.ServiceInstance;
import dev.cinch.lease.server.LeaseServer;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** A store whose buckets can be closed soon, and a lease service for it within this process. */
public final class Served implements AutoCloseable {
  private static final Permission ALL = Permission.parse("admin");

  private final LeaseServer server;
  private final Semaphore acquires = new Semaphore(0);
  private final AtomicInteger superseded = new AtomicInteger();
  private volatile boolean away;
  private volatile boolean deaf;

  /** Counted down once it was decided on a grant whose answer nobody gets; null for usual ones. */
  private volatile @Nullable CountDownLatch unanswered;

  private final CountDownLatch closed = new CountDownLatch(1);
  public final Path store;
  public final SigningKey key = SigningKey.generate();
  public final Cinch cinch;

  /** The option with a token that may do all. */
  public final String admin;

  public Served(Path parent) throws Exception {
    this(Cinch.quickStore(parent), ServiceInstance.DEFAULT_LONGEST_LEASE_MS);
  }

  public Served(Path store, long longestLeaseMs) throws Exception {
    this.store = store;
    Store opened =
        Store.open(store, Store.Environment.of(new MachineName("server"), SystemTime.INSTANCE));
    long unused = TrustedKeyFiles.add(opened.context(), key);
    ServiceInstance service =
        ServiceInstance.builder(new WitnessSigner(key), SystemTime.INSTANCE)
            .registry(new StoreInstances(opened.context(), key))
            .longestLeaseMs(longestLeaseMs)
            .start();
    var tokens = new TokenFile(store.resolveSibling("tokens"));
    Path token = store.resolveSibling("admin");
    Files.writeString(token, tokens.add("", List.of(ALL), Instant.EPOCH, Optional.empty()));
    admin = "--token-file=" + token;
    server =
        LeaseServer.builder(counting(service), service::info)
            .access(Access.of(tokens, true, SystemTime.INSTANCE))
            .port(0)
            .start();
    cinch = Cinch.on(store).with("CINCH_SERVER", uri());
  }

  private LeaseHost counting(LeaseHost service) {
    return Between.of(
        LeaseHost.class,
        call -> {
          if (call.is("waits")) { // so that all is carried out here
            return true;
          }
          boolean acquires = call.carriesOut(Operation.Acquire.class);
          try {
            if (away) {
              throw new LeaseUnavailableException("away", null);
            }
            if (deaf && call.carriesOut(Operation.Release.class)) {
              closed.await();
            }
            if (acquires && superseded.getAndDecrement() > 0) {
              var tookOver =
                  new LeaseRefusedException(Reason.SUPERSEDED, "instance 9 took over", 0);
              return List.of(new Outcome.Refused(tookOver));
            }
            Object answer = call.by(service);
            CountDownLatch decided = unanswered;
            if (decided != null
                && acquires
                && answer instanceof List<?> outcomes
                && outcomes.get(0) instanceof Outcome.Granted) {
              unanswered = null;
              decided.countDown();
              closed.await();
            }
            return answer;
          } finally {
            if (acquires) {
              this.acquires.release();
            }
          }
        });
  }

  /** Waits until so many more attempts to acquire were answered. */
  public void awaitAcquires(int n) throws InterruptedException {
    acquires.acquire(n);
  }

  /**
   * Gives the next grant no answer.
   *
   * @return counted down once that was granted
   */
  public CountDownLatch unanswered() {
    var decided = new CountDownLatch(1);
    unanswered = decided;
    return decided;
  }

  /** Whether it answers from now on that there is no service behind it. */
  public void away(boolean now) {
    away = now;
  }

  /** Gives no release an answer from now on. */
  public void deafToReleases() {
    deaf = true;
  }

  /** How many of the next requests for leases find a server that another one superseded. */
  public void superseded(int times) {
    superseded.set(times);
  }

  /** Where the service is. */
  public String uri() {
    return server.uri().toString();
  }

  @Override
  public void close() throws Exception {
    closed.countDown();
    server.close();
  }
}
