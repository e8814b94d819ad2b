package dev.cinch.cli.cell;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Store;
import dev.cinch.bag.format.KeyFile;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.Forked;
import dev.cinch.cli.base.MachineNames;
import dev.cinch.lease.cell.Flease;
import dev.cinch.lease.cell.PaxosLease;
import dev.cinch.lease.cell.net.CellFile;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.StoreStatement;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class CellInitTest {
  private static final List<String> NODES =
      List.of(
          "--node=127.0.0.1:7421=http://127.0.0.1:8471",
          "--node=127.0.0.1:7422=http://127.0.0.1:8472",
          "--node=127.0.0.1:7423=http://127.0.0.1:8473");

  @TempDir Path temp;
  private Path store;
  private Path file;
  private Path key;

  @BeforeEach
  void make() throws Exception {
    store = Cinch.store(temp);
    file = temp.resolve("cell.json");
    key = temp.resolve("cell.key");
  }

  private Cinch.Ran init(List<String> nodes, String... more) {
    var words = new ArrayList<>(List.of("cell", "init", file.toString()));
    words.add("--key=" + temp.resolve("served.key"));
    words.addAll(nodes);
    words.addAll(List.of(more));
    return Cinch.on(store).run(words.toArray(String[]::new));
  }

  private List<String> instances() throws IOException {
    try (var names = Files.list(store.resolve("service/instances"))) {
      // A number's signed name, and beside it where its server listens.
      return names
          .map(n -> n.getFileName().toString())
          .map(n -> n.substring(0, Math.min(n.length(), 10)))
          .sorted()
          .distinct()
          .toList();
    }
  }

  @Test
  void aCellHasAFileAKeyAndANumber() throws Exception {
    Cinch.Ran ran = init(NODES).ended(0);
    assertEquals(
        "%s: instance 1, 3 nodes; it and %s are for the machine of each, %s for the first's and so on%n"
            .formatted(file, key, temp.resolve("cell-node-1.key")),
        ran.out());
    assertEquals("", ran.err());
    CellFile cell = CellFile.read(file);
    assertEquals(1, cell.instance());
    trusts(2);
    String id = Files.readString(file).replaceAll("(?s).*\"store\" : \"(.*?)\".*", "$1");
    assertEquals(Optional.of(id), cell.store().map(Object::toString));
    assertEquals(new PaxosLease(60_000_000_000L, 500, 182_400_000_000L), cell.algorithm());
    assertEquals(8_192, cell.datagramBytes());
    assertEquals(
        List.of(
            new CellFile.Node(1, "127.0.0.1", 7421, "http://127.0.0.1:8471"),
            new CellFile.Node(2, "127.0.0.1", 7422, "http://127.0.0.1:8472"),
            new CellFile.Node(3, "127.0.0.1", 7423, "http://127.0.0.1:8473")),
        cell.nodes());
    assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(key)));
    assertEquals(List.of("0000000001"), instances());
    String line = Files.readString(store.resolve("service/instances/0000000001"));
    assertTrue(
        line.startsWith(
            "http://127.0.0.1:8471,http://127.0.0.1:8472,http://127.0.0.1:8473 "
                + MachineNames.ofHost()
                + " "),
        line);
  }

  /** Keys of the store from a number on are those of the nodes, whose files are their owner's. */
  private void trusts(int number) throws IOException {
    for (int id = 1; id <= 3; id++) {
      Path own = temp.resolve("cell-node-" + id + ".key");
      assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(own)));
      Path trusted = store.resolve("keys/000000000" + (number + id - 1));
      KeyFile there = KeyFile.decode(Files.readAllBytes(trusted), Name.of(trusted));
      assertEquals(SigningKey.load(own).publicKey(), there.key());
      assertEquals(1, there.endorsement().signedBy());
    }
  }

  @Test
  void aStoreWhoseKeyIsElsewhereIsNamed() throws Exception {
    init(NODES).ended(0);
    Path served = temp.resolve("served.key");
    file = temp.resolve("two.json");
    key = temp.resolve("two.key");
    Path moved = Files.move(served, temp.resolve("moved.key"));
    init(NODES).failed(3, served + ": no such file, and the store has its key already");
    SigningKey.generate().write(served);
    init(NODES).failed(3, "trusts another key");
    assertFalse(Files.exists(file) || Files.exists(key));
    assertEquals(List.of("0000000001"), instances());
    Files.move(moved, served, StandardCopyOption.REPLACE_EXISTING);
    init(NODES).ended(0);
  }

  @Test
  void fleaseHasAnErrorOfClocks() throws Exception {
    init(NODES, "--algorithm=flease", "--longest-lease=30s", "--datagram-bytes=1400").ended(0);
    CellFile cell = CellFile.read(file);
    assertEquals(new Flease(30_000_000_000L, 1_200_000_000, 152_400_000_000L), cell.algorithm());
    assertEquals(1_400, cell.datagramBytes());
  }

  @Test
  void addressesForClientsAreThoseOfTheHostUnlessGiven() throws Exception {
    init(List.of("--node=a:7420", "--node=[::1]:7420", "--node=c:1=https://d")).ended(0);
    assertEquals(
        List.of(
            new CellFile.Node(1, "a", 7420, "http://a:8470"),
            new CellFile.Node(2, "::1", 7420, "http://[::1]:8470"),
            new CellFile.Node(3, "c", 1, "https://d")),
        CellFile.read(file).nodes());
  }

  @Test
  void nothingIsOverwritten() throws Exception {
    init(NODES).ended(0);
    byte[] before = Files.readAllBytes(file);
    init(NODES).failed(3, file + " is there already");
    Files.delete(file);
    init(NODES).failed(3, key + " is there already");
    assertFalse(Files.exists(file));
    assertEquals(List.of("0000000001"), instances());
    Files.delete(key);
    for (int id = 1; id <= 3; id++) {
      Path own = temp.resolve("cell-node-" + id + ".key");
      init(NODES).failed(3, own + " is there already");
      Files.delete(own);
    }
    init(NODES).ended(0); // no server of the first cell answers
    trusts(5);
    assertFalse(java.util.Arrays.equals(before, Files.readAllBytes(file)));
    assertEquals(2, CellFile.read(file).instance());
  }

  @Test
  void whereNoNumberCanBeTakenNothingIsLeft() throws Exception {
    new Cinch().run("keygen", "--key=" + temp.resolve("served.key")).ended(0);
    var opened =
        Store.open(store, Store.Environment.of(new MachineName("first"), SystemTime.INSTANCE));
    SigningKey by = SigningKey.load(temp.resolve("served.key"));
    assertEquals(1, TrustedKeyFiles.add(opened.context(), by));
    String last = "9999999999";
    String signature =
        StoreStatement.sign(by, opened.context().identity().id(), "instances/" + last);
    Files.createFile(store.resolve("service/instances/" + last + "." + signature));
    init(NODES).failed(4, "no number is left");
    assertFalse(Files.exists(file) || Files.exists(key));
  }

  @Test
  void aServerThatAnswersIsReplacedOnlyIfItIsSaid() throws Exception {
    try (Forked first = Forked.serveHere(temp, store)) {
      String uri = first.listening();
      init(NODES).failed(3, "instance 1 at " + uri);
      assertFalse(Files.exists(file) || Files.exists(key));
      assertEquals(List.of("0000000001"), instances());
      init(NODES, "--replace").ended(0);
      assertEquals(2, CellFile.read(file).instance());
      first.ended(3);
      assertTrue(first.errLine().contains("instance 2 at http://127.0.0.1:8471,"));
    }
  }
}
