package dev.cinch.cli.serve;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.cinch.bag.Log;
import dev.cinch.bag.Session;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.registry.InstanceFile;
import dev.cinch.bag.registry.StoreInstances;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.Forked;
import dev.cinch.cli.Served;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.MachineNames;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Shard;
import dev.cinch.lease.ShardMap;
import dev.cinch.lease.client.Credentials;
import dev.cinch.lease.client.HttpLeaseClient;
import dev.cinch.lease.client.ServerAddresses;
import dev.cinch.lease.client.ShardRouter;
import dev.cinch.lease.instance.ServiceInstance;
import dev.cinch.lease.server.LeaseServer;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Commands and sessions that know one lease service by several addresses. */
@Timeout(600)
class EqualServersTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** Nobody listens there. */
  private static final String NOBODY = "http://127.0.0.1:1";

  @TempDir Path temp;
  private final SigningKey key = SigningKey.generate();

  /** A server that is starting until it is told to take over. */
  private final class Node implements AutoCloseable {
    private final LateService service;
    private final LeaseServer server;
    private final Store store;

    Node(Store store) throws Exception {
      this.store = store;
      service = new LateService(store.context());
      String id = store.context().identity().id().toString();
      server =
          LeaseServer.builder(service, service::info)
              .health(() -> service.health(id))
              .port(0)
              .start();
    }

    String address() {
      return server.uri().toString();
    }

    void takeOver(String addresses) throws Exception {
      var where = new InstanceFile(addresses, MachineNames.ofHost().value());
      service.start(
          ServiceInstance.builder(new WitnessSigner(key), SystemTime.INSTANCE)
              .registry(new StoreInstances(store.context(), where, key)));
    }

    @Override
    public void close() throws Exception {
      server.close();
    }
  }

  private Store store(Path path) throws Exception {
    Store store =
        Store.open(path, Store.Environment.of(new MachineName("server"), SystemTime.INSTANCE));
    long unused = TrustedKeyFiles.add(store.context(), key);
    return store;
  }

  /** Rules L10 and L13, from a session to the server that goes on. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aSessionWhoseServerDiesWritesOn(boolean byRouter) throws Exception {
    Path path = Cinch.quickStore(temp);
    Cinch cinch = Cinch.on(path);
    cinch.run("log", "create", "jobs").ended(0);
    Store store = store(path);
    try (var first = new Node(store);
        var second = new Node(store)) {
      String both = first.address() + "," + second.address();
      first.takeOver(both);
      ServerAddresses given = ServerAddresses.parse(both);
      LeaseService leases =
          byRouter ? ShardRouter.of(given) : HttpLeaseClient.builder(given).build();
      Log log = store.log(new LogName("jobs"));
      try (Session session = Session.open(store, leases, "tester")) {
        var unused = session.acquire(List.of(new LeaseName("x")), Duration.ofSeconds(60));
        committed(session.append(log, "one".getBytes(UTF_8)));
        first.close();
        second.takeOver(both);
        session.leases().get(0).renew(LogSet.NONE);
        committed(session.append(log, "two".getBytes(UTF_8)));
        assertTrue(session.end(), "given back");
      }
      assertEquals(
          List.of("RELEASED"),
          JSON.readTree(cinch.run("lease", "show", "x", "--server", both, "--json").ended(0).out())
              .findValuesAsText("state"));
    }
    cinch.settle("jobs");
    assertEquals("one\ntwo\n", cinch.run("cat", "--log=jobs").ended(0).out());
    cinch.run("audit").ended(0);
  }

  private static void committed(Receipt receipt) {
    assertTrue(receipt instanceof Receipt.Committed, "" + receipt);
  }

  @Test
  void commandsUseTheOneThatWorks() throws Exception {
    try (var served = new Served(temp)) {
      String both = NOBODY + "," + served.uri();
      Cinch cinch = served.cinch.with("CINCH_SERVER", both);
      cinch.feed("a\n", "append", "--log=jobs", "--create", "--lease=x").ended(0);
      assertTrue(cinch.run("lease", "list").ended(0).out().contains("x"));
      cinch.run("lease", "run", "x", "--", "sh", "-c", "test \"$CINCH_SERVER\" = " + both).ended(0);
      String export = cinch.run("lease", "acquire", "--export", "x").ended(0).out();
      assertTrue(export.contains("CINCH_SERVER='" + both + "'"), export);
      cinch.run("lease", "list", "--server=" + NOBODY + ",http://127.0.0.1:2").failed(4, NOBODY);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "http://a:1,|an address of a lease service is missing beside a comma",
        "http://a:1,b:1|not the address of a lease service: b:1",
        "http://a:1,http://a:1/|the address of a lease service is there twice: http://a:1",
      })
  void whatIsNoListOfAddressesIsMisuse(String given, String said) throws Exception {
    Cinch cinch = Cinch.on(Cinch.quickStore(temp));
    cinch.run("lease", "list", "--server=" + given).failed(2, said);
    cinch.with("CINCH_SERVER", given).run("status").failed(2, said);
    cinch.with("CINCH_SERVER", given).feed("", "append", "--log=jobs", "--lease=x").failed(2, said);
  }

  /** A variable that was set to nothing is as good as none. */
  @Test
  void anEmptyVariableNamesNoServer() throws Exception {
    Cinch cinch = Cinch.on(Cinch.quickStore(temp)).with("CINCH_SERVER", "");
    cinch.feed("a\n", "append", "--log=jobs", "--create").ended(0);
    cinch.run("status").ended(0);
    cinch.run("lease", "list").failed(2, "--server");
  }

  private static List<String> attention(JsonNode status) {
    var found = new ArrayList<String>();
    for (JsonNode a : status.get("attention")) {
      found.add(a.get("kind").textValue() + " " + a.get("message").textValue());
    }
    return found;
  }

  private static JsonNode status(Cinch cinch, int code, String... more) throws Exception {
    var words = new ArrayList<>(List.of("status", "--json"));
    words.addAll(List.of(more));
    return JSON.readTree(cinch.run(words.toArray(String[]::new)).ended(code).out());
  }

  @Test
  void statusAsksAllAndSaysWhichAreIll() throws Exception {
    Path path = Cinch.quickStore(temp);
    Cinch cinch = Cinch.on(path);
    Store store = store(path);
    try (var first = new Node(store);
        var second = new Node(store)) {
      String both = first.address() + "," + second.address();
      first.takeOver(both);
      JsonNode status = status(cinch, 3);
      assertEquals(both, status.get("server").get("address").textValue());
      assertEquals("GRANTING", status.get("server").get("state").textValue());
      assertEquals(
          List.of(
              "SERVER the lease server at " + second.address() + ": the lease service is starting"),
          attention(status));
      status = status(cinch, 3, "--server=" + NOBODY + "," + first.address());
      assertEquals("GRANTING", status.get("server").get("state").textValue());
      assertEquals(1, attention(status).size());
      assertTrue(
          attention(status).get(0).startsWith("SERVER the lease server at " + NOBODY + ": no "));
      String same = first.address().replace("127.0.0.1", "localhost") + "," + first.address();
      assertEquals(List.of(), attention(status(cinch, 0, "--server=" + same)));
      assertTrue(cinch.run("shards").ended(0).out().contains(both));
    }
    JsonNode silent = status(cinch, 3);
    assertEquals("SILENT", silent.get("server").get("state").textValue());
    assertEquals(2, attention(silent).size());
  }

  private static String event(Forked watch) throws Exception {
    return JSON.readTree(watch.line()).get("event").textValue();
  }

  @Test
  void aWatchGoesOnAtTheNextServer() throws Exception {
    var service =
        ServiceInstance.builder(new WitnessSigner(key), SystemTime.INSTANCE).fresh(true).start();
    try (LeaseServer first = LeaseServer.builder(service, service::info).port(0).start();
        LeaseServer second = LeaseServer.builder(service, service::info).port(0).start()) {
      String both = first.uri() + "," + second.uri();
      ShardRouter router = ShardRouter.of(ServerAddresses.parse(both));
      var request =
          new Operation.Acquire(
              new Id(1, 2), List.of(new LeaseName("x")), "tester", 60_000, LogSet.ALL, false);
      Grant held = router.acquire(request);
      try (Forked watch = Forked.endless("lease", "watch", "--json", "--server=" + both)) {
        assertEquals("held", event(watch));
        assertEquals("synced", event(watch));
        assertEquals(0, first.drain().toCompletableFuture().join());
        service.release(held.id(), LeaseReport.NOTHING);
        assertEquals("released", event(watch));
        assertEquals(0, second.drain().toCompletableFuture().join());
        assertEquals(1, watch.err().lines().count());
        watch.ended(4);
      }
    }
  }

  /** In the store stands where the servers are; of several one is enough. */
  @Test
  void whoFindsTheServersInTheStoreUsesTheOneThatWorks() throws Exception {
    Path path = Cinch.quickStore(temp);
    Cinch cinch = Cinch.on(path);
    Store store = store(path);
    try (var node = new Node(store)) {
      String both = NOBODY + "," + node.address();
      node.takeOver(both);
      cinch.run("lease", "acquire", "x", "--server", node.address()).ended(0);
      assertEquals("x\n", cinch.run("names", "leases").ended(0).out());
      assertTrue(
          cinch.run("lease", "list", "--server", node.address()).ended(0).out().contains("x"));
      var earlier =
          new EarlierInstance(
              store.context(),
              new Shard(ShardMap.NONE, 1),
              MachineNames.ofHost(),
              Credentials.NONE);
      Failure.Refusal e = assertThrows(Failure.Refusal.class, earlier::requireGone);
      assertTrue(String.valueOf(e.getMessage()).contains("serves this store already"), "" + e);
    }
  }
}
