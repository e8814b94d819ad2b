package dev.cinch.lease.cell.net;

import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import dev.cinch.lease.JsonTree;
import dev.cinch.lease.OneLine;
import dev.cinch.lease.cell.paxos.Durations;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * A cell as its file names it, the same for all nodes. Immutable.
 *
 * <pre>
 * {"format": 1, "algorithm": "paxoslease", "longestLeaseMs": 30000, "rateErrorPpm": 500,
 *  "keepMs": 3600000, "datagramBytes": 1400, "keyFile": "cell.key",
 *  "nodes": [{"id": 1, "host": "10.0.0.1", "port": 7420}, ...]}
 * </pre>
 *
 * <p>The key's file stands beside this one unless its path is absolute. An id is never given to
 * another node, nor kept by one that has lost its directory (rule R4).
 *
 * @param durations of the algorithm
 * @param datagramBytes what a datagram has at most, {@link CellSettings#datagramBytes}
 * @param keyFile of the cell's key
 * @param nodes 1 to 31, with different ids
 */
public record CellFile(Durations durations, int datagramBytes, Path keyFile, List<Node> nodes) {
  /** A node, and where it listens. */
  public record Node(int id, String host, int port) {}

  private static final JsonTree JSON = JsonTree.of(new JsonFactoryBuilder(), false);
  private static final long LARGEST = 1 << 20;
  private static final int LONGEST_TEXT = 255;
  private static final int MOST_NODES = 31;
  private static final int MOST_PORTS = 65_535;
  private static final long NANOS_PER_MILLI = 1_000_000;
  private static final long MOST_MILLIS = (1L << 50) / NANOS_PER_MILLI;
  private static final long MOST_KEEP_MILLIS = (1L << 60) / NANOS_PER_MILLI;
  private static final int MOST_PPM = 500_000;

  private static final Set<String> FIELDS =
      Set.of(
          "format",
          "algorithm",
          "longestLeaseMs",
          "rateErrorPpm",
          "keepMs",
          "datagramBytes",
          "keyFile",
          "nodes");
  private static final Set<String> NODE_FIELDS = Set.of("id", "host", "port");

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
    if (Files.size(file) > LARGEST) {
      throw new IOException(file + ": a cell's file has at most " + LARGEST + " bytes");
    }
    JsonNode tree;
    try {
      tree = JSON.read(Files.readString(file));
    } catch (CharacterCodingException e) {
      throw new IOException(file + ": not UTF-8", e);
    } catch (JsonProcessingException e) {
      String what = OneLine.of(String.valueOf(e.getOriginalMessage()), LONGEST_TEXT);
      throw new IOException(file + ": not JSON: " + what, e);
    }
    return new Reader(file).cell(tree);
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

  /** The cell's key, as its file has it now. */
  byte[] key() throws IOException {
    return CellKey.load(keyFile);
  }

  /** Reads strictly; all errors name the file. */
  private record Reader(Path file) {
    CellFile cell(JsonNode tree) throws IOException {
      only(tree, FIELDS, "the cell");
      number(tree, "format", 1, 1);
      if (!text(tree, "algorithm").equals("paxoslease")) {
        throw wrong("\"algorithm\" is \"paxoslease\"");
      }
      var durations =
          new Durations(
              number(tree, "longestLeaseMs", 1, MOST_MILLIS) * NANOS_PER_MILLI,
              (int) number(tree, "rateErrorPpm", 0, MOST_PPM),
              number(tree, "keepMs", 0, MOST_KEEP_MILLIS) * NANOS_PER_MILLI);
      int datagram = CellSettings.DEFAULT.datagramBytes();
      if (tree.has("datagramBytes")) {
        datagram = (int) number(tree, "datagramBytes", CellSettings.SMALLEST, Datagrams.LARGEST);
      }
      Path key = file.resolveSibling(text(tree, "keyFile"));
      return new CellFile(durations, datagram, key, nodes(tree.get("nodes")));
    }

    private List<Node> nodes(@Nullable JsonNode list) throws IOException {
      if (list == null || !list.isArray() || list.isEmpty() || list.size() > MOST_NODES) {
        throw wrong("\"nodes\" is a list of 1 to " + MOST_NODES);
      }
      List<Node> nodes = new ArrayList<>();
      Set<Long> ids = new TreeSet<>();
      Set<String> addresses = new TreeSet<>();
      for (JsonNode node : list) {
        only(node, NODE_FIELDS, "a node");
        long id = number(node, "id", 1, Integer.MAX_VALUE);
        String host = text(node, "host");
        long port = number(node, "port", 1, MOST_PORTS);
        if (!ids.add(id)) {
          throw wrong("two nodes have the id " + id);
        }
        if (!addresses.add(host + " " + port)) {
          throw wrong("two nodes have host " + host + " and port " + port);
        }
        nodes.add(new Node((int) id, host, (int) port));
      }
      return nodes;
    }

    private void only(JsonNode object, Set<String> fields, String what) throws IOException {
      if (!object.isObject()) {
        throw wrong(what + " is a JSON object");
      }
      for (var names = object.fieldNames(); names.hasNext(); ) {
        String name = names.next();
        if (!fields.contains(name)) {
          throw wrong(what + " has no field \"" + OneLine.of(name, LONGEST_TEXT) + "\"");
        }
      }
    }

    private long number(JsonNode object, String name, long least, long most) throws IOException {
      JsonNode value = object.path(name);
      if (!value.isIntegralNumber()
          || !value.canConvertToLong()
          || value.longValue() < least
          || value.longValue() > most) {
        throw wrong("\"" + name + "\" is a number from " + least + " to " + most);
      }
      return value.longValue();
    }

    private String text(JsonNode object, String name) throws IOException {
      String value = object.path(name).asText("");
      if (!object.path(name).isTextual()
          || value.isBlank()
          || value.length() > LONGEST_TEXT
          || !OneLine.fits(value)) {
        throw wrong("\"" + name + "\" is a text of 1 to " + LONGEST_TEXT + " characters");
      }
      return value;
    }

    private IOException wrong(String what) {
      return new IOException(file + ": " + what);
    }
  }
}
