package dev.cinch.lease.cell.net;

import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import dev.cinch.lease.HostPort;
import dev.cinch.lease.Id;
import dev.cinch.lease.JsonTree;
import dev.cinch.lease.OneLine;
import dev.cinch.lease.cell.Algorithm;
import dev.cinch.lease.cell.Flease;
import dev.cinch.lease.cell.PaxosLease;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Reads a {@link CellFile} strictly; all errors name the file. */
record CellFileReader(Path file) {
  private static final JsonTree JSON = JsonTree.of(new JsonFactoryBuilder(), false);
  private static final long LARGEST = 1 << 20;
  private static final int LONGEST_TEXT = 255;
  private static final int MOST_PORTS = 65_535;

  /** Far in the future, and no overflow in nanoseconds. */
  private static final long MOST_SINCE_MS = 4_000_000_000_000L;

  private static final String RATE_ERROR = "rateErrorPpm";
  private static final String CLOCK_ERROR = "clockErrorMs";
  private static final Set<String> FIELDS =
      Set.of(
          "format",
          "instance",
          "sinceMs",
          "store",
          "algorithm",
          "longestLeaseMs",
          "keepMs",
          "datagramBytes",
          "keyFile",
          "nodes");
  private static final Set<String> NODE_FIELDS = Set.of("id", "host", "port", "http");

  static CellFile read(Path file) throws IOException {
    if (Files.isDirectory(file)) { // the error of reading one has no path
      throw new IOException(file + ": a directory; name the file that cinch cell init made");
    }
    if (Files.size(file) > LARGEST) {
      throw new IOException(file + ": a cell's file has at most " + LARGEST + " bytes");
    }
    try {
      return decode(file, Files.readString(file));
    } catch (CharacterCodingException e) {
      throw new IOException(file + ": not UTF-8", e);
    }
  }

  static CellFile decode(Path file, String text) throws IOException {
    JsonNode tree;
    try {
      tree = JSON.read(text);
    } catch (JsonProcessingException e) {
      String what = OneLine.of(String.valueOf(e.getOriginalMessage()), LONGEST_TEXT);
      throw new IOException(file + ": not JSON: " + what, e);
    }
    return new CellFileReader(file).cell(tree);
  }

  private CellFile cell(JsonNode tree) throws IOException {
    boolean flease = tree.path("algorithm").asText("").equals(Flease.NAME);
    Set<String> fields = new HashSet<>(FIELDS);
    fields.add(flease ? CLOCK_ERROR : RATE_ERROR);
    only(tree, fields, "the cell");
    number(tree, "format", CellFile.FORMAT, CellFile.FORMAT);
    long instance = number(tree, "instance", 1, CellFile.MOST_INSTANCE);
    long since = number(tree, "sinceMs", 0, MOST_SINCE_MS);
    Algorithm algorithm = flease ? flease(tree) : paxosLease(tree);
    int datagram = CellSettings.DEFAULT.datagramBytes();
    if (tree.has("datagramBytes")) {
      datagram = (int) number(tree, "datagramBytes", CellSettings.SMALLEST, Datagrams.LARGEST);
    }
    Path key = file.resolveSibling(text(tree, "keyFile"));
    return new CellFile(
        instance, since, store(tree), algorithm, datagram, key, nodes(tree.get("nodes")));
  }

  private Algorithm paxosLease(JsonNode tree) throws IOException {
    if (!text(tree, "algorithm").equals(PaxosLease.NAME)) {
      throw wrong("\"algorithm\" is \"" + PaxosLease.NAME + "\" or \"" + Flease.NAME + "\"");
    }
    return new PaxosLease(
        longest(tree), (int) number(tree, RATE_ERROR, 0, CellFile.MOST_PPM), keep(tree));
  }

  private Algorithm flease(JsonNode tree) throws IOException {
    long longest = longest(tree);
    long error = number(tree, CLOCK_ERROR, 0, CellFile.MOST_MILLIS) * CellFile.NANOS_PER_MILLI;
    if (error >= longest) {
      throw wrong("\"" + CLOCK_ERROR + "\" is below \"longestLeaseMs\"");
    }
    return new Flease(longest, error, keep(tree));
  }

  private long longest(JsonNode tree) throws IOException {
    return number(tree, "longestLeaseMs", 1, CellFile.MOST_MILLIS) * CellFile.NANOS_PER_MILLI;
  }

  private long keep(JsonNode tree) throws IOException {
    long keep = number(tree, "keepMs", 0, CellFile.MOST_KEEP_MILLIS) * CellFile.NANOS_PER_MILLI;
    if (keep < longest(tree)) {
      throw wrong("\"keepMs\" is below \"longestLeaseMs\": leases would be forgotten too early");
    }
    return keep;
  }

  private Optional<Id> store(JsonNode tree) throws IOException {
    if (!tree.has("store")) {
      return Optional.empty();
    }
    try {
      return Optional.of(Id.parse(text(tree, "store")));
    } catch (IllegalArgumentException e) {
      throw new IOException(file + ": \"store\" is a store's id, 32 hexadecimal digits", e);
    }
  }

  private List<CellFile.Node> nodes(@Nullable JsonNode list) throws IOException {
    if (list == null || !list.isArray() || list.isEmpty() || list.size() > CellFile.MOST_NODES) {
      throw wrong("\"nodes\" is a list of 1 to " + CellFile.MOST_NODES);
    }
    List<CellFile.Node> nodes = new ArrayList<>();
    Set<Long> ids = new TreeSet<>();
    Set<String> addresses = new TreeSet<>();
    Set<String> https = new TreeSet<>();
    for (JsonNode node : list) {
      only(node, NODE_FIELDS, "a node");
      long id = number(node, "id", 1, Integer.MAX_VALUE);
      String host = text(node, "host");
      long port = number(node, "port", 1, MOST_PORTS);
      String http = http(node);
      if (!ids.add(id)) {
        throw wrong("two nodes have the id " + id);
      }
      if (!addresses.add(host + " " + port)) {
        throw wrong("two nodes have host " + host + " and port " + port);
      }
      if (!https.add(http)) {
        throw wrong("two nodes have the address " + http);
      }
      nodes.add(new CellFile.Node((int) id, host, (int) port, http));
    }
    return nodes;
  }

  /** Clients list such addresses, separated by commas. */
  private String http(JsonNode node) throws IOException {
    String http = text(node, "http");
    try {
      var address = new URI(http);
      String scheme = String.valueOf(address.getScheme());
      if (HostPort.of(address).isPresent()
          && (scheme.equals("http") || scheme.equals("https"))
          && address.getRawPath().isEmpty()
          && address.getRawQuery() == null
          && address.getRawFragment() == null) {
        return http;
      }
    } catch (URISyntaxException e) {
      // said below
    }
    throw wrong("\"http\" is an address like http://10.0.0.1:8470, not " + http);
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
