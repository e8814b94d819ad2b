package dev.cinch.lease.cell.net;

import dev.cinch.lease.cell.Algorithm;
import dev.cinch.lease.cell.PaxosLease;
import dev.cinch.lease.cell.net.Link.UdpLink;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.random.RandomGenerator;

/** Three nodes in this process that talk over loopback, with a clock that a test puts forward. */
public final class LoopbackCell implements AutoCloseable {
  private static final CellKey KEY = new CellKey(new byte[CellKey.BYTES]);
  private static final List<Integer> IDS = List.of(1, 2, 3);

  public final List<CellNode> nodes = new ArrayList<>();
  private final Map<Integer, InetSocketAddress> addresses = new HashMap<>();
  private final TestClock clock = new TestClock();
  private final long quarantine;
  private final Set<Integer> cut = ConcurrentHashMap.newKeySet();

  /**
   * Starts the nodes; they are quarantined.
   *
   * @param directory that is empty
   */
  public LoopbackCell(Path directory, PaxosLease durations, CellSettings settings)
      throws IOException {
    this(directory, durations, false, settings);
  }

  /**
   * Likewise, with an algorithm.
   *
   * @param first whether it is new, and not quarantined
   */
  public LoopbackCell(Path directory, Algorithm algorithm, boolean first, CellSettings settings)
      throws IOException {
    this.quarantine = 2 * algorithm.longest();
    List<UdpLink> links = new ArrayList<>();
    for (int id : IDS) {
      var link = new UdpLink(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), Map.of());
      links.add(link);
      addresses.put(id, link.address());
    }
    links.forEach(link -> link.nodes(addresses));
    for (int id : IDS) {
      nodes.add(
          CellNode.start(
              id,
              first,
              directory.resolve("node-" + id),
              new CellSettings.CellParts(
                  IDS,
                  KEY,
                  algorithm,
                  settings,
                  new CutLink(id, links.get(id - 1)),
                  clock,
                  clock,
                  RandomGenerator.of("L64X128MixRandom"))));
    }
  }

  long now() {
    return clock.getAsLong();
  }

  public CellNode node(int id) {
    return nodes.get(id - 1);
  }

  /** From now on a node hears from no other node, and none hears from it. */
  public void cut(int id) {
    cut.add(id);
  }

  /** No node is cut off any more. */
  public void heal() {
    cut.clear();
  }

  /** Drops what goes to or comes from a node that is cut off. */
  private final class CutLink implements Link {
    private final int id;
    private final Link link;

    CutLink(int id, Link link) {
      this.id = id;
      this.link = link;
    }

    @Override
    public boolean receive(ByteBuffer into) throws IOException {
      while (link.receive(into)) {
        if (!cut.contains(id)) {
          return true;
        }
        into.clear();
      }
      return false;
    }

    @Override
    public boolean send(int node, ByteBuffer datagram) throws IOException {
      return cut.contains(id) || cut.contains(node) || link.send(node, datagram);
    }

    @Override
    public void await(long nanos) throws IOException {
      link.await(nanos);
    }

    @Override
    public void wakeUp() {
      link.wakeUp();
    }

    @Override
    public void close() throws IOException {
      link.close();
    }
  }

  /** From now on time passes only where it is put forward. */
  public void stopClock() {
    clock.stop();
  }

  /** Lets time pass on all clocks. */
  public void forward(long nanos) {
    clock.forward(nanos);
    nodes.forEach(CellNode::nudge);
  }

  public void endQuarantine() {
    forward(quarantine);
  }

  @Override
  public void close() throws IOException {
    for (CellNode node : nodes) {
      node.close();
    }
  }
}
