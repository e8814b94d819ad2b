package dev.cinch.lease.direct;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.access.Permission.Right;
import dev.cinch.lease.cell.net.CellFile;
import dev.cinch.lease.cell.net.CellNode;
import dev.cinch.lease.cell.net.CellSettings;
import dev.cinch.lease.memory.MemoryLeaseService;
import dev.cinch.lease.register.CellRegister;
import dev.cinch.lease.register.CellSigner;
import dev.cinch.lease.register.RegisterBackend;
import dev.cinch.lease.service.InstanceRegistry;
import dev.cinch.lease.time.TimeSource;
import dev.cinch.lease.witness.CellKeys;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.random.RandomGenerator;

/**
 * The leases of a cell for one of its clients, with no server in between: this process proposes,
 * and the nodes of the cell accept and sign. It is one more machine of the cell's instance (rule
 * L17), and has the same rules; only what nodes accept and sign counts.
 *
 * <p>It needs the cell's file and key, and the store: what the names of earlier instances inherit
 * stands there (rule L3), and leases end there (rule L11). Its clock is compared with the store's.
 *
 * <p>Names are not listed, since a client keeps none, and nobody is told of changes: what would
 * wait in a queue is answered at once.
 *
 * <p>Thread-safe. Operations wait for the nodes, and for the store.
 */
@CheckReturnValue
public final class DirectLeases implements LeaseService, AutoCloseable {
  private static final long MAINTENANCE_MS = 1_000;

  /**
   * How often an operation is asked for whose outcome is unknown: nodes that sign first after a
   * while have a ceiling published before, and a store may take longer than a name is kept.
   */
  private static final int ATTEMPTS = 3;

  private final CellNode client;
  private final MemoryLeaseService service;
  private final RegisterBackend backend;
  private final VouchedTime vouched;
  private final ScheduledExecutorService maintenance;

  private DirectLeases(
      CellNode client, MemoryLeaseService service, RegisterBackend backend, VouchedTime vouched) {
    this.client = client;
    this.service = service;
    this.backend = backend;
    this.vouched = vouched;
    this.maintenance =
        Executors.newSingleThreadScheduledExecutor(
            run -> {
              var thread = new Thread(run, "cinch-direct-leases");
              thread.setDaemon(true);
              return thread;
            });
    var unused =
        maintenance.scheduleWithFixedDelay(
            service::maintain, MAINTENANCE_MS, MAINTENANCE_MS, TimeUnit.MILLISECONDS);
  }

  /**
   * Becomes a client of a cell.
   *
   * @param cell that serves the registry's store
   * @param registry of the store, for the cell's number
   * @param longestLeaseMs the longest lease that is asked for, milliseconds; not above the cell's
   * @param apartMs milliseconds that the clocks of two of its machines are apart at most
   * @param time this machine's clocks
   * @throws IOException one line: the cell's key can't be read, the store can't be used or trusts
   *     no nodes of this cell, a later instance has taken over, or the clock is off
   */
  public static DirectLeases open(
      CellFile cell, InstanceRegistry registry, long longestLeaseMs, long apartMs, TimeSource time)
      throws IOException {
    CellKeys keys =
        registry
            .trustedKeys()
            .cell(cell.instance())
            .orElseThrow(
                () ->
                    new IOException(
                        "the store trusts no nodes of instance "
                            + cell.instance()
                            + ": it is no cell's; cinch cell init makes one"));
    var nodes = cell.nodes().stream().map(CellFile.Node::id).toList();
    var signer = new CellSigner(keys, nodes);
    CellNode client = CellNode.client(cell, CellSettings.DEFAULT, time);
    try {
      var register = new CellRegister(client, RandomGenerator.getDefault(), signer);
      long since = TimeUnit.MILLISECONDS.toNanos(cell.sinceMs() - apartMs);
      return open(client, register, signer, registry, since, longestLeaseMs, apartMs, time);
    } catch (IOException | RuntimeException e) {
      client.close();
      throw e;
    }
  }

  private static DirectLeases open(
      CellNode client,
      CellRegister register,
      CellSigner signer,
      InstanceRegistry registry,
      long since,
      long longestLeaseMs,
      long apartMs,
      TimeSource time)
      throws IOException {
    var vouched = new VouchedTime(signer, time);
    var made = new AtomicReference<RegisterBackend>();
    var factory = RegisterBackend.on(register, since, longestLeaseMs, apartMs);
    MemoryLeaseService service =
        MemoryLeaseService.builder(vouched, time)
            .registry(registry)
            .longestLeaseMs(longestLeaseMs)
            .backend(
                setting -> {
                  var backend = (RegisterBackend) factory.create(setting);
                  made.set(backend);
                  return backend;
                })
            .start();
    return new DirectLeases(client, service, Objects.requireNonNull(made.get()), vouched);
  }

  /** The number of the cell's instance. */
  public long instance() {
    return service.number();
  }

  /** This machine's time as it is signed, which vouches for nothing; nanoseconds since 1970. */
  public long clock() {
    return service.now();
  }

  /**
   * Takes note of a grant that another process of its holder has, so that it can be renewed and
   * given back here. Nothing is taken on trust: the nodes know whose the leases are.
   *
   * @param names of all its leases
   */
  public void share(Id id, List<LeaseName> names) {
    backend.share(id, names, service.now());
  }

  /** Each is of an id, by which nodes know it again: so it may be asked for again. */
  @Override
  public List<Outcome> carryOut(List<Operation> operations) throws LeaseUnavailableException {
    var permitted = new ArrayList<Operation>();
    for (Operation operation : operations) {
      if (refusal(operation).isPresent()) {
        break;
      }
      permitted.add(operation);
    }
    if (!permitted.isEmpty()) {
      return carryOutPermitted(permitted); // the rest is asked for again
    }
    return List.of(new Outcome.Refused(refusal(operations.get(0)).orElseThrow()));
  }

  /** Why this client's pass does not permit something: nodes would not answer. */
  private Optional<LeaseRefusedException> refusal(Operation operation) {
    if (operation instanceof Operation.Revoke revoke) {
      return refusal(Right.ACQUIRE, revoke.name());
    }
    return client.key().get().caller(service.now()).flatMap(caller -> caller.refusal(operation));
  }

  private Optional<LeaseRefusedException> refusal(Right right, LeaseName name) {
    return client
        .key()
        .get()
        .caller(service.now())
        .flatMap(caller -> caller.refusal(right, name.value()));
  }

  private List<Outcome> carryOutPermitted(List<Operation> operations)
      throws LeaseUnavailableException {
    for (int attempt = 1; ; attempt++) {
      try {
        return service.carryOut(operations);
      } catch (LeaseUnavailableException e) {
        if (attempt == ATTEMPTS) {
          throw e;
        }
      }
    }
  }

  @Override
  public Optional<LeaseInfo> show(LeaseName name) throws LeaseUnavailableException {
    Optional<LeaseRefusedException> refusal = refusal(Right.OBSERVE, name);
    if (refusal.isPresent()) {
      throw new LeaseUnavailableException(
          String.valueOf(refusal.get().getMessage()), refusal.get());
    }
    return service.show(name);
  }

  /**
   * {@inheritDoc}
   *
   * @throws LeaseUnavailableException always
   */
  @Override
  public List<LeaseInfo> list(String prefix, Optional<LeaseName> after, int limit)
      throws LeaseUnavailableException {
    throw new LeaseUnavailableException(
        "a client of a cell keeps no names and lists none: ask one of its servers", null);
  }

  /**
   * {@inheritDoc}
   *
   * <p>Here the time of the last grant that a majority of nodes signed, and what has passed since.
   *
   * @throws LeaseUnavailableException while nothing was signed for this client
   */
  @Override
  public long now() throws LeaseUnavailableException {
    return vouched
        .now()
        .orElseThrow(
            () ->
                new LeaseUnavailableException(
                    "the cell's nodes have signed nothing yet, and so vouch for no time", null));
  }

  /** Ends. Leases that are held run out: give them back before. */
  @Override
  public void close() throws IOException {
    maintenance.shutdownNow();
    client.close();
  }
}
