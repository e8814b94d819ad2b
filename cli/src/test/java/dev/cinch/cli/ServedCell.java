package dev.cinch.cli;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.cell.net.CellFile;
import dev.cinch.lease.cell.net.CellStatus;
import dev.cinch.lease.cell.net.CellStatus.Traffic;
import dev.cinch.lease.instance.ServiceInstance;
import dev.cinch.lease.server.LeaseServer;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.wire.Health;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicReference;

/** Three servers that tell of a cell's nodes what a test says, and the cell's file. */
public final class ServedCell implements AutoCloseable {
  public static final long SECOND = 1_000_000_000;
  public static final long NOW = 1_767_225_600 * SECOND;
  public static final Traffic QUIET = new Traffic(1, 2, 3, 4, 5, 0, 0, 0, 0, 0, 0);

  public final List<LeaseServer> servers = new ArrayList<>();
  public final List<AtomicReference<Optional<ObjectNode>>> documents = new ArrayList<>();
  private final List<AtomicReference<Optional<LeaseRefusedException>>> obstacles =
      new ArrayList<>();
  public final Path file;
  final Cinch.Ran made;
  public final CellFile cell;

  /**
   * Makes a cell.
   *
   * @param more options of {@code cinch cell init}
   */
  public ServedCell(Path directory, String... more) throws Exception {
    Path store = Cinch.store(directory);
    var service =
        ServiceInstance.builder(new WitnessSigner(SigningKey.generate()), SystemTime.INSTANCE)
            .fresh(true)
            .start();
    file = directory.resolve("cell.json");
    var words = new ArrayList<>(List.of("cell", "init", "--json", file.toString()));
    words.add("--key=" + directory.resolve("cinch.key"));
    for (int i = 0; i < 3; i++) {
      var document = new AtomicReference<Optional<ObjectNode>>(Optional.empty());
      documents.add(document);
      var obstacle = new AtomicReference<Optional<LeaseRefusedException>>(Optional.empty());
      obstacles.add(obstacle);
      LeaseServer server =
          LeaseServer.builder(service, service::info)
              .health(
                  () -> new Health(OptionalLong.of(1), "", Objects.requireNonNull(obstacle.get())))
              .port(0)
              .cell(document::get)
              .start();
      servers.add(server);
      words.add("--node=127.0.0.1:" + freePort() + "=" + server.uri());
    }
    words.addAll(List.of(more));
    made = Cinch.on(store).run(words.toArray(String[]::new)).ended(0);
    cell = CellFile.read(file);
  }

  private static int freePort() throws IOException {
    try (var free =
        new DatagramSocket(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))) {
      return free.getLocalPort();
    }
  }

  /** Runs {@code cinch cell status}. */
  public Cinch.Ran status(String... more) {
    var words = new ArrayList<>(List.of("cell", "status", file.toString()));
    words.addAll(List.of(more));
    return new Cinch().run(words.toArray(String[]::new));
  }

  public static CellStatus status(int node, long quarantineLeft, long ahead, Traffic traffic) {
    int other = node % 3 + 1;
    return new CellStatus(
        node,
        7,
        NOW,
        NOW + quarantineLeft,
        4,
        5,
        6,
        3,
        99,
        10,
        0,
        traffic,
        List.of(new CellStatus.Peer(other, NOW - SECOND, 1, ahead)));
  }

  /** From now on a node is so. */
  public void tell(CellStatus status) {
    tell(status.node(), status.document(cell, NOW));
  }

  public void tell(int node, ObjectNode document) {
    documents.get(node - 1).set(Optional.of(document));
  }

  /** From now on a node grants nothing, for that reason. */
  public void hinder(int node, String why) {
    obstacles.get(node - 1).set(Optional.of(new LeaseRefusedException(Reason.NOT_YET, why, 1)));
  }

  @Override
  public void close() throws IOException {
    for (LeaseServer server : servers) {
      server.close();
    }
  }
}
