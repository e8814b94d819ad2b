package dev.cinch.cli.serve;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Store;
import dev.cinch.bag.fs.ClockedFs;
import dev.cinch.bag.fs.PosixFs;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.registry.InstanceFile;
import dev.cinch.bag.registry.StoreInstances;
import dev.cinch.cli.Cinch;
import dev.cinch.lease.Ending;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Witness;
import dev.cinch.lease.cell.net.CellFile;
import dev.cinch.lease.instance.ServiceInstance;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.time.TimeSource;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.io.IOException;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Instances of the lease service follow each other: a cell, another cell, a server alone. */
@Timeout(240)
class CellReplaceTest {
  private static final long LEASE_MS = 30_000;
  private static final long MS = 1_000_000;

  /** The machine's clocks, put forward by a test. */
  private static final class Ahead implements TimeSource {
    private volatile long nanos;

    void forward(long ms) {
      nanos += ms * MS;
    }

    @Override
    public long wallNanos() {
      return SystemTime.INSTANCE.wallNanos() + nanos;
    }

    @Override
    public long monotonicNanos() {
      return SystemTime.INSTANCE.monotonicNanos() + nanos;
    }

    @Override
    public void sleepNanos(long nanos) throws InterruptedException {
      SystemTime.INSTANCE.sleepNanos(nanos);
    }
  }

  /** Servers of one instance. */
  private final class Serving implements AutoCloseable {
    final long number;
    final List<ServiceInstance> servers = new ArrayList<>();
    private final List<ServeBackend.Running> nodes = new ArrayList<>();

    /** One server. */
    Serving() throws Exception {
      var where = new InstanceFile("http://127.0.0.1:1", "server");
      servers.add(
          ServiceInstance.builder(new WitnessSigner(SigningKey.load(key)), time)
              .storeInCallers()
              .registry(new StoreInstances(opened.context(), where, SigningKey.load(key)))
              .start());
      number = servers.get(0).number();
      started.add(this);
    }

    /** A new cell, which is started as {@code cinch serve} does. */
    Serving(Path cell) throws Exception {
      CellFile file = CellFile.read(cell);
      number = file.instance();
      started.add(this);
      for (CellFile.Node node : file.nodes()) {
        var backend = new ServeBackend();
        backend.etcd = new EtcdOptions();
        backend.backend = file.algorithm().name();
        backend.cell = cell;
        backend.node = node.id();
        backend.directory = temp.resolve(cell.getFileName() + "-" + node.id());
        backend.check(true);
        Path own = backend.signingKey().orElseThrow();
        ServiceInstance.Builder builder =
            ServiceInstance.builder(new WitnessSigner(SigningKey.load(own)), time).storeInCallers();
        nodes.add(
            backend.start(
                builder,
                opened,
                time,
                opened.settings().longestLeaseMs(),
                true,
                new InstanceFile(node.http(), "node"),
                SigningKey.load(own),
                () -> {}));
        servers.add(builder.start());
      }
    }

    ServiceInstance one() {
      return servers.get(0);
    }

    /** Lets all of them look who has taken over, and says whom they name. */
    List<String> supersededBy() {
      time.forward(6_000);
      servers.forEach(ServiceInstance::maintain);
      return servers.stream().map(s -> s.supersededBy().orElse("nobody")).distinct().toList();
    }

    @Override
    public void close() throws IOException {
      for (ServeBackend.Running node : nodes) {
        node.close();
      }
    }
  }

  @TempDir Path temp;
  private final Ahead time = new Ahead();
  private final SecureRandom random = new SecureRandom();
  private final List<Serving> started = new ArrayList<>();
  private Path key;
  private Path store;
  private Store opened;

  @BeforeEach
  void make() throws Exception {
    key = temp.resolve("cinch.key");
    store = Cinch.store(temp, "--key=" + key);
    opened =
        Store.open(
            store,
            new Store.Environment(
                new ClockedFs(new PosixFs(null, null), time),
                new MachineName("server"),
                time,
                random));
  }

  @AfterEach
  void stop() throws IOException {
    for (Serving each : started) {
      each.close();
    }
  }

  /** A cell with three nodes that run nowhere yet. */
  private Path cell(String name, String... more) throws Exception {
    Path file = temp.resolve(name + ".json");
    var words = new ArrayList<>(List.of("cell", "init", file.toString(), "--key=" + key));
    for (int i = 0; i < 3; i++) {
      words.add("--node=127.0.0.1:%d=http://127.0.0.1:%d".formatted(freeUdpPort(), 8471 + i));
    }
    words.addAll(List.of(more));
    Cinch.on(store).run(words.toArray(String[]::new)).ended(0);
    return file;
  }

  private static int freeUdpPort() throws IOException {
    try (var free = new java.net.DatagramSocket()) {
      return free.getLocalPort();
    }
  }

  private Operation.Acquire request(String name) {
    return new Operation.Acquire(
        Id.random(random), List.of(new LeaseName(name)), "tester", LEASE_MS, LogSet.ALL, false);
  }

  private static Witness only(Grant grant) {
    return grant.witnesses().get(0).witness();
  }

  private static LeaseRefusedException refused(Reason reason, Executable call) {
    LeaseRefusedException e = assertThrows(LeaseRefusedException.class, call);
    assertEquals(reason, e.reason(), e.getMessage());
    return e;
  }

  private static Grant renew(ServiceInstance at, Grant grant)
      throws LeaseRefusedException, LeaseUnavailableException {
    LeaseReport report = LeaseReport.NOTHING.to(only(grant).instance());
    return at.renew(grant.id(), LEASE_MS, LogSet.NONE, report);
  }

  private static Grant resume(ServiceInstance at, Grant grant)
      throws LeaseRefusedException, LeaseUnavailableException {
    return at.resume(new Operation.Resume(grant.id(), grant.witnesses(), LEASE_MS));
  }

  /** Until no lease of an earlier instance can be held: what the first of a name gets then. */
  private Witness afterTheWait(Serving next, Serving before, long expiry) throws Exception {
    while (true) {
      long left = next.one().info().quarantineLeftMs();
      if (left == 0) {
        break;
      }
      if (left > 1_000) { // the clock runs meanwhile
        refused(Reason.NOT_YET, () -> next.one().acquire(request("x")));
      }
      time.forward(Math.max(1, left / 2));
      for (ServiceInstance server : before.servers) {
        refused(Reason.SUPERSEDED, () -> server.acquire(request("x")));
      }
    }
    Witness witness = only(next.one().acquire(request("x")));
    assertTrue(witness.issuedAt() >= expiry, "the lease of before has ended");
    assertEquals(next.number, witness.instance());
    return witness;
  }

  private static void isFenced(Witness witness, long expiry) {
    assertEquals(Ending.UNKNOWN, witness.previousEnding());
    assertEquals(Optional.empty(), witness.previous());
    assertEquals(LogSet.ALL, witness.fence().logs());
    assertTrue(witness.fence().upTo() >= expiry);
  }

  /** Rules L1 and L3: leases of the old cell are waited out, also those that it renews still. */
  @Test
  void l1_l3_aCellWithAnotherNodeTakesOverFromAnotherCell() throws Exception {
    var old = new Serving(cell("cell"));
    Grant grant = old.one().acquire(request("x"));
    var next = new Serving(cell("cell-2", "--replace"));
    assertEquals(old.number + 1, next.number);
    time.forward(1_000);
    Grant renewed = renew(old.servers.get(0), grant); // it has not heard of the other one
    refused(Reason.NOT_YET, () -> next.one().acquire(request("x")));
    refused(Reason.NOT_YET, () -> next.one().acquire(request("y")));
    assertEquals(
        List.of("instance 2 at http://127.0.0.1:8471,http://127.0.0.1:8472,http://127.0.0.1:8473"),
        old.supersededBy().stream().map(by -> by.replaceAll(" on .*", "")).toList());
    refused(Reason.SUPERSEDED, () -> renew(old.servers.get(0), renewed));
    var e = refused(Reason.NOT_HELD, () -> resume(next.one(), renewed));
    assertEquals(
        "x is a lease of instance 1, and instance 2 resumes none of an earlier one; acquire anew",
        e.getMessage());
    long expiry = only(renewed).expiry();
    isFenced(afterTheWait(next, old, expiry), expiry);
    refused(Reason.HELD, () -> next.servers.get(2).acquire(request("x")));
  }

  /** Rules L3 and L10: a server alone resumes nothing of a cell, and waits its leases out. */
  @Test
  void l3_l10_aServerTakesOverFromACellAndACellFromThat() throws Exception {
    var old = new Serving(cell("cell"));
    Grant grant = old.one().acquire(request("x"));
    var alone = new Serving();
    assertEquals(old.number + 1, alone.number);
    time.forward(1_000);
    Grant renewed = renew(old.one(), grant); // it has not heard of the other one
    for (Grant each : List.of(grant, renewed)) {
      var e = refused(Reason.NOT_HELD, () -> resume(alone.one(), each));
      assertEquals(
          "x is a lease of instance 1, and instance 2 resumes none of an earlier one; acquire anew",
          e.getMessage());
    }
    refused(Reason.NOT_YET, () -> alone.one().acquire(request("x")));
    assertEquals(List.of("instance 2 at http://127.0.0.1:1 on server"), old.supersededBy());
    refused(Reason.SUPERSEDED, () -> renew(old.one(), grant));
    refused(
        Reason.SUPERSEDED, () -> old.one().release(grant.id(), LeaseReport.NOTHING.to(old.number)));
    long expiry = only(renewed).expiry();
    Witness after = afterTheWait(alone, old, expiry);
    isFenced(after, expiry);

    Grant held = alone.one().acquire(request("w"));
    var back = new Serving(cell("cell-3", "--replace"));
    assertEquals(alone.number + 1, back.number);
    refused(Reason.NOT_HELD, () -> resume(back.one(), held));
    assertEquals(1, alone.supersededBy().size());
    refused(Reason.SUPERSEDED, () -> renew(alone.one(), held));
    long last = Math.max(only(held).expiry(), after.expiry());
    isFenced(afterTheWait(back, alone, last), last);
  }
}
