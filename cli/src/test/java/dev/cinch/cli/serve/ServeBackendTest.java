package dev.cinch.cli.serve;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.cli.Cinch;
import dev.cinch.cli.Forked;
import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Servers that keep the same leases, as processes. */
@Timeout(600)
class ServeBackendTest {
  @TempDir Path temp;

  private final List<Forked> nodes = new ArrayList<>();
  private final List<String> addresses = new ArrayList<>();
  private Path store = Path.of("none");
  private Path cell = Path.of("none");

  @AfterEach
  void stop() throws InterruptedException {
    for (Forked node : nodes) {
      node.close();
    }
  }

  /** A port is free until somebody takes it; nobody else does so fast. */
  private void cell(String... options) throws IOException {
    store = Cinch.store(temp);
    cell = temp.resolve("cell.json");
    var args = new ArrayList<>(List.of("cell", "init", cell.toString()));
    args.add("--key=" + temp.resolve("cinch.key"));
    var held = new ArrayList<AutoCloseable>();
    for (int i = 0; i < 3; i++) {
      var udp = new DatagramSocket(0, InetAddress.getLoopbackAddress());
      var http = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
      held.add(udp);
      held.add(http);
      addresses.add("http://127.0.0.1:" + http.getLocalPort());
      args.add("--node=127.0.0.1:" + udp.getLocalPort() + "=" + addresses.get(i));
    }
    args.addAll(List.of(options));
    Cinch.on(store).run(args.toArray(String[]::new)).ended(0);
    try {
      for (AutoCloseable port : held) {
        port.close();
      }
    } catch (Exception e) {
      throw new IOException(e);
    }
  }

  private List<String> node(String algorithm, int id) {
    return List.of(
        "serve",
        "--backend=" + algorithm,
        "--cell=" + cell,
        "--node=" + id,
        "--node-dir=" + temp.resolve("node-" + id),
        "--store=" + store);
  }

  private String[] words(String algorithm, int id, String... options) {
    var args = new ArrayList<>(node(algorithm, id));
    args.addAll(List.of(options));
    return args.toArray(String[]::new);
  }

  private Forked start(String algorithm, int id, String... options) throws IOException {
    return started(id, Forked.here(words(algorithm, id, options)));
  }

  private Forked started(int id, Forked node) throws IOException {
    nodes.add(node);
    assertEquals(addresses.get(id - 1), node.listening());
    return node;
  }

  private Cinch client(int... ids) {
    var servers = new ArrayList<String>();
    for (int id : ids) {
      servers.add(addresses.get(id - 1));
    }
    return Cinch.on(store).with("CINCH_SERVER", String.join(",", servers));
  }

  @ParameterizedTest
  @ValueSource(strings = {"paxoslease", "flease"})
  void nodesOfACellKeepTheSameLeasesAndOneMayDie(String algorithm) throws Exception {
    cell("--algorithm=" + algorithm);
    Forked first = started(1, new Forked(words(algorithm, 1, "--first"))); // which is killed
    assertEquals(
        "node 1 of 3, instance 1; the cell grants leases while 2 of them vote", first.line());
    // One alone grants nothing, and says why.
    client(1).run("lease", "acquire", "a").failed(3, "too few nodes of the cell answer");
    var unused = start(algorithm, 2, "--first");
    var alsoUnused = start(algorithm, 3, "--first");
    client(1).run("lease", "acquire", "a").ended(0);
    client(2).run("lease", "acquire", "a").failed(3, "a is held by ");
    Cinch.on(store).run("cell", "status", cell.toString()).ended(0);
    first.close();
    assertTrue(client(1, 3).run("lease", "list").ended(0).out().contains("HELD"));
    client(1, 2, 3).run("log", "create", "log").ended(0);
    client(1, 2, 3).feed("line\n", "append", "--log=log", "--lease=b").ended(0);
    Cinch.on(store).run("audit").ended(0);
    // It comes back, and says that it does not vote yet.
    String said = start(algorithm, 1).line();
    assertTrue(said.endsWith(", as after every start"), said);
    client(1).run("lease", "acquire", "a").failed(3, "a is held by ");
  }

  /** Else clients would know each node twice, and wait for it twice. */
  @Test
  void aNodeThatListensOnAllAddressesIsKnownByThatOfTheCellsFile() throws Exception {
    cell();
    var node = Forked.here(words("paxoslease", 1, "--first", "--host=0.0.0.0", "--insecure"));
    nodes.add(node);
    assertTrue(node.listening().startsWith("http://0.0.0.0:"));
    try (Stream<Path> files = Files.list(store.resolve("service/instances"))) {
      assertEquals(
          List.of("0000000001"),
          files.map(f -> f.getFileName().toString()).filter(f -> f.indexOf('.') < 0).toList());
    }
  }

  /** A mistyped directory begins a count anew, and only the operator can know (rule P4). */
  @Test
  void aNodeThatCountsItsFirstStartNamesItsDirectory() throws Exception {
    cell();
    String said = start("paxoslease", 1).line();
    assertTrue(said.contains("It is the first one in " + temp.toRealPath()), said);
  }

  @Test
  void p4_aNodeThatHasStartedIsNotOfANewCell() throws Exception {
    cell();
    start("paxoslease", 1, "--first").close();
    Cinch.on(store).run(words("paxoslease", 1, "--first")).failed(4, "the node has started before");
  }

  @Test
  void whatDoesNotFitTogetherIsRefused() throws Exception {
    cell();
    refused(2, "--backend is memory, paxoslease, flease or etcd, not raft", "--backend=raft");
    refused(2, "needs --cell FILE, --node ID and --store DIR", "--backend=paxoslease");
    refused(2, "go with --backend paxoslease or flease", "--node=1");
    refused(2, "--backend etcd and --etcd URL go together", "--backend=etcd");
    refused(2, "--backend etcd and --etcd URL go together", "--etcd=http://127.0.0.1:1");
    String at = "--cell=" + cell;
    refused(3, "a cell of paxoslease, not of flease", "--backend=flease", at, "--node=1");
    refused(2, "has no node 4; it has [1, 2, 3]", "--backend=paxoslease", at, "--node=4");
    refused(
        2,
        "--shard goes with --backend memory alone",
        "--backend=paxoslease",
        at,
        "--node=1",
        "--shard=1/2");
    refused(
        2,
        "the longest lease of the cell is 60000 ms, not 61000",
        "--backend=paxoslease",
        at,
        "--node=1",
        "--longest-lease=61s");
  }

  private void refused(int code, String said, String... options) {
    var args = new ArrayList<>(List.of("serve"));
    args.addAll(List.of(options));
    Cinch.on(store).run(args.toArray(String[]::new)).failed(code, said);
  }
}
