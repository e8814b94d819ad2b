package dev.cinch.lease.cell.net;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.lease.Id;
import dev.cinch.lease.JsonTree;
import dev.cinch.lease.cell.Algorithm;
import dev.cinch.lease.cell.Flease;
import dev.cinch.lease.cell.PaxosLease;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * A cell as its file names it, the same for all nodes. Immutable.
 *
 * <pre>
 * {"format": 1, "instance": 7, "sinceMs": 1795598400000, "store": "5f0c…", "algorithm": "paxoslease",
 *  "longestLeaseMs": 60000, "rateErrorPpm": 500, "keepMs": 3600000, "datagramBytes": 8192,
 *  "keyFile": "cell.key", "nodes": [
 *   {"id": 1, "host": "10.0.0.1", "port": 7420, "http": "http://10.0.0.1:8470"}, ...]}
 * </pre>
 *
 * <p>With {@code "algorithm": "flease"} there is {@code "clockErrorMs"}, &epsilon;, in place of
 * {@code "rateErrorPpm"}. The key's file stands beside this one unless its path is absolute. An id
 * is never given to another node, nor kept by one that has lost its directory (rule P4).
 *
 * @param instance the number that all nodes have as one instance of the lease service, 1 to 10
 *     digits
 * @param sinceMs when the cell was made, milliseconds since the Unix epoch; no lease is older
 * @param store that they serve; empty if they serve none
 * @param algorithm with its durations, which are whole milliseconds
 * @param datagramBytes what a datagram has at most, {@link CellSettings#datagramBytes}
 * @param keyFile of the cell's key
 * @param nodes 1 to 31, with different ids
 */
public record CellFile(
    long instance,
    long sinceMs,
    Optional<Id> store,
    Algorithm algorithm,
    int datagramBytes,
    Path keyFile,
    List<Node> nodes) {
  /**
   * A node, and where it listens.
   *
   * @param id from 1
   * @param host of its address for the other nodes
   * @param port of that
   * @param http where clients find it, like {@code http://10.0.0.1:8470}
   */
  public record Node(int id, String host, int port, String http) {}

  static final int FORMAT = 1;
  static final int MOST_NODES = 31;
  static final int MOST_PPM = 500_000;
  static final long NANOS_PER_MILLI = 1_000_000;
  static final long MOST_MILLIS = (1L << 50) / NANOS_PER_MILLI;
  static final long MOST_KEEP_MILLIS = (1L << 60) / NANOS_PER_MILLI;
  static final long MOST_INSTANCE = 9_999_999_999L;

  public CellFile {
    nodes = List.copyOf(nodes);
  }

  /**
   * Reads a cell's file.
   *
   * @throws IOException if it can't be read, or is not such a file; one line that names it, and
   *     what is wrong
   */
  public static CellFile read(Path file) throws IOException {
    return CellFileReader.read(file);
  }

  /**
   * Reads the file of a cell that serves a store.
   *
   * @throws IOException likewise, and if it serves another store, or none
   */
  public static CellFile read(Path file, Id store) throws IOException {
    CellFile cell = read(file);
    if (!cell.store.equals(Optional.of(store))) {
      throw new IOException(
          file
              + ": this cell serves "
              + cell.store.map(other -> "the store " + other).orElse("no store")
              + ", not the store "
              + store);
    }
    return cell;
  }

  /**
   * Where a node's signing key stands: beside this file, named like the cell's key, {@code
   * cell-node-1.key}.
   *
   * @param file where this one stands
   */
  public Path signingKey(Path file, int node) {
    String name = String.valueOf(keyFile.getFileName()).replaceFirst("\\.key$", "");
    return file.resolveSibling(name + "-node-" + node + ".key");
  }

  /** The file in UTF-8, for people to read. */
  public byte[] encode() {
    ObjectNode out = JsonNodeFactory.instance.objectNode();
    out.put("format", FORMAT).put("instance", instance).put("sinceMs", sinceMs);
    store.ifPresent(id -> out.put("store", id.toString()));
    out.put("algorithm", algorithm.name());
    out.put("longestLeaseMs", millis(algorithm.longest()));
    if (algorithm instanceof PaxosLease paxos) {
      out.put("rateErrorPpm", paxos.rateErrorPpm());
    } else if (algorithm instanceof Flease flease) {
      out.put("clockErrorMs", millis(flease.epsilon()));
    }
    out.put("keepMs", millis(algorithm.keep()));
    out.put("datagramBytes", datagramBytes).put("keyFile", keyFile.toString());
    ArrayNode all = out.putArray("nodes");
    for (Node node : nodes) {
      all.addObject()
          .put("id", node.id())
          .put("host", node.host())
          .put("port", node.port())
          .put("http", node.http());
    }
    byte[] json = JsonTree.of(new JsonFactoryBuilder(), true).write(out);
    byte[] line = Arrays.copyOf(json, json.length + 1);
    line[json.length] = '\n';
    return line;
  }

  private static long millis(long nanos) {
    return nanos / NANOS_PER_MILLI;
  }

  /**
   * That it can be read once it is written.
   *
   * @param file that it will be, which the message names
   * @throws IOException if it could not; one line that says what is wrong
   */
  public void check(Path file) throws IOException {
    CellFile unused = CellFileReader.decode(file, new String(encode(), UTF_8));
  }

  /**
   * A node of the cell.
   *
   * @throws IllegalArgumentException if it has none of that id
   */
  public Node node(int id) {
    return nodes.stream()
        .filter(node -> node.id() == id)
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("the cell has no node " + id));
  }

  /** How many nodes have to be there for leases to be granted. */
  public int majority() {
    return nodes.size() / 2 + 1;
  }

  /** Where clients find the nodes, separated by commas. */
  public String httpAddresses() {
    return nodes.stream().map(Node::http).collect(Collectors.joining(","));
  }

  /**
   * Where each node listens, by its id.
   *
   * @throws IOException if a host's name is not known
   */
  Map<Integer, InetSocketAddress> addresses() throws IOException {
    Map<Integer, InetSocketAddress> addresses = new LinkedHashMap<>();
    for (Node node : nodes) {
      var address = new InetSocketAddress(node.host(), node.port());
      if (address.isUnresolved()) {
        throw new IOException(
            "node " + node.id() + ": no address is known of the host " + node.host());
      }
      addresses.put(node.id(), address);
    }
    return addresses;
  }
}
