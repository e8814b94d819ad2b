package dev.cinch.cli.cell;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.cli.Cinch;
import dev.cinch.cli.Forked;
import dev.cinch.cli.serve.RestartTest;
import dev.cinch.lease.cell.net.CellFile;
import dev.cinch.lease.witness.SigningKey;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Nodes of a cell that serve a store, each in a process and with a key of its own. */
@Timeout(240)
class CellServeTest {
  @TempDir Path temp;
  private Path store;
  private Path file;
  private final List<Forked> nodes = new ArrayList<>();

  /** Where clients find the nodes of each cell. */
  private final List<String> http = new ArrayList<>();

  @BeforeEach
  void make() throws Exception {
    Path key = temp.resolve("cinch.key");
    store =
        Cinch.store(
            temp,
            "--key=" + key,
            "--leases=required",
            "--bucket-width=100ms",
            "--clock-ahead=200ms",
            "--clock-behind=200ms",
            "--timestamp-distance=100ms",
            "--slow-append=100ms",
            "--grace=500ms");
    cell("cell");
  }

  /** Makes a cell, of which nodes are started from now on. */
  private void cell(String name, String... more) throws Exception {
    file = temp.resolve(name + ".json");
    var words =
        new ArrayList<>(
            List.of("cell", "init", file.toString(), "--key=" + temp.resolve("cinch.key")));
    try (var ports = new Ports(6)) {
      for (int i = 0; i < 3; i++) {
        if (http.size() == i) {
          http.add("http://127.0.0.1:" + ports.get(3 + i));
        }
        words.add("--node=127.0.0.1:%d=%s".formatted(ports.get(i), http.get(i)));
      }
    }
    words.addAll(List.of(more));
    Cinch.on(store).run(words.toArray(String[]::new)).ended(0);
  }

  @AfterEach
  void stop() throws Exception {
    for (Forked node : nodes) {
      node.close();
    }
  }

  /** Ports that are free, each another. */
  private static final class Ports implements AutoCloseable {
    private final List<ServerSocket> held = new ArrayList<>();

    Ports(int count) throws IOException {
      for (int i = 0; i < count; i++) {
        held.add(new ServerSocket(0, 1, InetAddress.getLoopbackAddress()));
      }
    }

    int get(int i) {
      return held.get(i).getLocalPort();
    }

    @Override
    public void close() throws IOException {
      for (ServerSocket each : held) {
        each.close();
      }
    }
  }

  private Path key(int id) {
    return temp.resolve("cell-node-" + id + ".key");
  }

  /** A process of its own can be killed. */
  private Forked serve(int id) throws IOException {
    var started = new Forked(words(id));
    nodes.add(started);
    return started;
  }

  private Forked serveHere(int id) throws IOException {
    var started = Forked.here(words(id));
    nodes.add(started);
    return started;
  }

  /** The last one can be killed. */
  private void serveTheLastApart() throws IOException {
    String unused = serveHere(1).listening();
    unused = serveHere(2).listening();
    unused = serve(3).listening();
  }

  private void serveAllHere() throws IOException {
    for (int id = 1; id <= 3; id++) {
      String unused = serveHere(id).listening();
    }
  }

  private String[] words(int id, String... more) {
    var words =
        new ArrayList<>(
            List.of(
                "serve",
                "--backend=paxoslease",
                "--cell=" + file,
                "--node=" + id,
                "--first",
                "--node-dir=" + temp.resolve(file.getFileName() + "-" + id),
                "--store=" + store));
    words.addAll(List.of(more));
    return words.toArray(String[]::new);
  }

  private void refused(String why, int id, String... more) {
    new Cinch().run(words(id, more)).failed(3, why);
  }

  private Cinch clients() throws IOException {
    return Cinch.on(store).with("CINCH_SERVER", CellFile.read(file).httpAddresses());
  }

  @Test
  void l17_oneNodeLessIsNoTroubleForClients() throws Exception {
    serveTheLastApart();
    Cinch cinch = clients();
    cinch.run("log", "create", "jobs").ended(0);
    cinch.feed("a\n", "append", "--log=jobs", "--lease=one").ended(0);
    nodes.get(2).close();
    cinch.feed("b\n", "append", "--log=jobs", "--lease=one").ended(0);
    String grant = cinch.run("lease", "acquire", "one").ended(0).out();
    cinch
        .feed("c\n", "append", "--log=jobs", "--lease=one", "--server=" + http(1))
        .failed(3, "one is held");
    cinch.feed(grant, "lease", "release", "--grant-file=-", "--server=" + http(1)).ended(0);
    cinch.feed("c\n", "append", "--log=jobs", "--lease=one", "--server=" + http(1)).ended(0);
    cinch.settle("jobs");
    assertEquals("a\nb\nc\n", cinch.run("cat", "--log=jobs").ended(0).out());
    cinch.run("audit").ended(0);
    cinch.run("verify").ended(0);
  }

  private String http(int id) throws IOException {
    return CellFile.read(file).node(id).http();
  }

  @Test
  void f3_aNodeStartsWithAKeyThatTheStoreTrusts() throws Exception {
    Path kept = Files.move(key(1), temp.resolve("kept.key"));
    refused(key(1) + ": no such file: copy this node's key", 1);
    SigningKey.generate().write(key(1));
    refused("trusts another key", 1);
    Files.move(kept, key(1), StandardCopyOption.REPLACE_EXISTING);
    assertTrue(serveHere(1).listening().startsWith("http://127.0.0.1:"));
  }

  @Test
  void aCellOfAnotherStoreIsNamedAsThat() throws Exception {
    String id = CellFile.read(file).store().orElseThrow().toString();
    Files.writeString(file, Files.readString(file).replace(id, "0".repeat(id.length())));
    new Cinch().run(words(1)).failed(4, file + ": this cell serves the store 0");
  }

  /** Holds a lease until its input ends. */
  private static Forked holder(String servers) throws Exception {
    var holder =
        new Forked(
            "lease",
            "run",
            "--for=60s",
            "--server=" + servers,
            "x",
            "--",
            "sh",
            "-c",
            "echo ready; read line");
    assertEquals("ready", holder.line());
    return holder;
  }

  private void endsAllNodes() throws Exception {
    for (Forked node : nodes) {
      node.ended(3); // another instance has taken over
    }
  }

  @Test
  void l10_whoHeldALeaseOfACellThatAServerReplacedIsToldSo() throws Exception {
    serveAllHere();
    int port = RestartTest.freePort();
    String alone = "http://127.0.0.1:" + port;
    try (Forked holder = holder(CellFile.read(file).httpAddresses() + "," + alone);
        Forked server =
            Forked.here(
                "serve",
                "--replace",
                "--port=" + port,
                "--store=" + store,
                "--key=" + temp.resolve("cinch.key"))) {
      assertEquals(alone, server.listening());
      endsAllNodes();
      isTold(holder);
      Cinch.on(store).run("lease", "acquire", "x", "--server", alone).failed(3, "grants again in");
    }
  }

  private static void isTold(Forked holder) throws Exception {
    holder.endInput();
    String said = holder.err();
    assertTrue(said.contains("are not given back, and run out: "), said);
    assertTrue(said.contains("instance 2"), said);
    holder.ended(1); // read met the end of its input
  }

  /** A cell resumes no lease of an earlier instance: it runs out, and is waited for. */
  @Test
  void l17_whoHeldALeaseOfACellThatAnotherCellReplacedIsToldSo() throws Exception {
    serveAllHere();
    try (Forked holder = holder(CellFile.read(file).httpAddresses())) {
      cell("cell-2", "--replace");
      endsAllNodes();
      nodes.clear();
      serveAllHere();
      isTold(holder);
      clients().run("lease", "acquire", "x").failed(3, "grants again in");
    }
  }

  @Test
  void aNodeThatIsToldToEndHandsOver() throws Exception {
    serveAllHere();
    Cinch cinch = clients();
    try (Forked holder = holder(CellFile.read(file).httpAddresses());
        Forked watch =
            Forked.endless("lease", "watch", "--server=" + CellFile.read(file).httpAddresses())) {
      assertTrue(watch.line().startsWith("x held by"));
      nodes.get(0).signal("TERM");
      nodes.get(0).ended(0);
      cinch.run("lease", "acquire", "x").failed(3, "is held by");
      holder.endInput();
      assertEquals("", holder.err());
      assertTrue(watch.line().startsWith("x released by"));
    }
    cinch.run("cell", "status", file.toString(), "--wait=1ms").failed(3, "2 of 3 do");
  }
}
