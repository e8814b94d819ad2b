package dev.cinch.cli.cell;

import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.cli.base.JsonLines;
import dev.cinch.lease.IsoTime;
import dev.cinch.lease.JsonTree;
import dev.cinch.lease.JsonTree.Escapes;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.OneLine;
import dev.cinch.lease.cell.Algorithm;
import dev.cinch.lease.cell.Flease;
import dev.cinch.lease.cell.net.CellFile;
import dev.cinch.lease.client.CellLook;
import dev.cinch.lease.client.Credentials;
import dev.cinch.lease.client.HttpLeaseClient;
import dev.cinch.lease.time.Waits;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;

/**
 * What a node of a cell answered when it was asked how it is. Immutable.
 *
 * @param node as the cell's file names it
 * @param why it is cut off, silent or foreign, or grants nothing though it votes, in words; empty
 *     if none is so
 * @param document what it said of itself; empty if it is silent or foreign
 */
record CellNodeLook(CellFile.Node node, State state, String why, ObjectNode document) {
  private static final JsonTree JSON =
      JsonTree.of(new JsonFactoryBuilder().characterEscapes(Escapes.INSTANCE), false);
  private static final ObjectNode NONE = JsonNodeFactory.instance.objectNode();
  private static final int LONGEST = 200;
  private static final long SECOND = 1_000_000_000;

  /** How it is. */
  enum State {
    /** Leases are granted with its vote, unless it says why not. */
    VOTING,
    /** Too few others answer it: nothing is granted by it. */
    CUT_OFF,
    /** It started, and waits until what it may have forgotten is over. */
    QUARANTINED,
    SILENT,
    /** Another server, or a node of another cell, has its address. */
    FOREIGN
  }

  /** Asks all nodes at the same time; in the order of the file. */
  static List<CellNodeLook> askAll(CellFile cell, Credentials credentials, Duration patience)
      throws InterruptedException {
    var asked = new ArrayList<FutureTask<CellNodeLook>>();
    for (CellFile.Node node : cell.nodes()) {
      var task = new FutureTask<>(() -> ask(cell, node, credentials, patience));
      asked.add(task);
      var thread = new Thread(task, "cinch-cell-status-" + node.id());
      thread.setDaemon(true);
      thread.start();
    }
    var found = new ArrayList<CellNodeLook>();
    for (FutureTask<CellNodeLook> task : asked) {
      try {
        found.add(task.get());
      } catch (ExecutionException e) {
        throw new IllegalStateException("asking a node throws nothing", e.getCause());
      }
    }
    return found;
  }

  private static CellNodeLook ask(
      CellFile cell, CellFile.Node node, Credentials credentials, Duration patience) {
    try {
      Optional<ObjectNode> document = CellLook.ask(URI.create(node.http()), credentials, patience);
      if (document.isEmpty()) {
        return new CellNodeLook(node, State.FOREIGN, "a server that is no node of a cell", NONE);
      }
      CellNodeLook look = of(cell, node, document.get());
      return look.votes() ? look.withObstacle(credentials, patience) : look;
    } catch (LeaseUnavailableException e) {
      return new CellNodeLook(node, State.SILENT, OneLine.of("" + e.getMessage(), LONGEST), NONE);
    }
  }

  private static CellNodeLook of(CellFile cell, CellFile.Node node, ObjectNode document) {
    long id = document.path("node").asLong();
    long instance = document.path("instance").asLong();
    String store = document.path("store").asText("");
    if (id != node.id()
        || instance != cell.instance()
        || !store.equals(cell.store().map(Object::toString).orElse(""))) {
      String is = "node " + id + " of instance " + instance;
      return new CellNodeLook(
          node,
          State.FOREIGN,
          store.isEmpty() ? is : is + " of store " + OneLine.of(store, LONGEST),
          NONE);
    }
    if (document.path("quarantined").asBoolean(true)) {
      return new CellNodeLook(node, State.QUARANTINED, "", document);
    }
    int answering = document.path("answering").asInt(cell.nodes().size()); // it may not know yet
    String why = "%d of %d nodes answer it".formatted(answering, cell.nodes().size());
    return answering < cell.majority()
        ? new CellNodeLook(node, State.CUT_OFF, why, document)
        : new CellNodeLook(node, State.VOTING, "", document);
  }

  /** Earlier instances' leases may have to pass, its clock be off, or the store be away. */
  private CellNodeLook withObstacle(Credentials credentials, Duration patience)
      throws LeaseUnavailableException {
    String why =
        HttpLeaseClient.builder(URI.create(node.http()))
            .credentials(credentials)
            .connectTimeout(patience)
            .requestTimeout(patience)
            .build()
            .obstacle()
            .map(e -> OneLine.of("" + e.getMessage(), LONGEST))
            .orElse("");
    return new CellNodeLook(node, state, why, document);
  }

  boolean votes() {
    return state == State.VOTING;
  }

  /** Whether leases are granted with its vote. */
  boolean grants() {
    return votes() && why.isEmpty();
  }

  /** A line of a table. */
  List<String> row() {
    JsonNode traffic = document.path("traffic");
    return List.of(
        Integer.toString(node.id()),
        node.http(),
        inWords(),
        number(document, "boot"),
        number(document, "names"),
        number(document, "attempts"),
        number(document, "rows"),
        number(document, "counter"),
        number(traffic, "datagramsSent"),
        number(traffic, "datagramsReceived"),
        number(traffic, "dropped"));
  }

  private String inWords() {
    return switch (state) {
      case VOTING -> why.isEmpty() ? "votes" : "votes, grants nothing: " + why;
      case QUARANTINED -> {
        long now = nanos("now");
        long until = nanos("quarantinedUntil");
        long second = Math.floorDiv(until, SECOND) + (Math.floorMod(until, SECOND) > 0 ? 1 : 0);
        yield "quarantined until %sZ, in %s"
            .formatted(IsoTime.second(second), Waits.inWords(Math.max(0, until - now)));
      }
      case CUT_OFF -> "cut off: " + why;
      case SILENT -> "no answer: " + why;
      case FOREIGN -> "not this node: " + why;
    };
  }

  private long nanos(String name) {
    return IsoTime.nanos(document.path(name).asText());
  }

  private static String number(JsonNode of, String name) {
    JsonNode value = of.path(name);
    return value.isMissingNode() ? "-" : Long.toString(value.asLong());
  }

  /** What it sees of the others' clocks, where these have a common time. */
  List<String> clocks() {
    var seen = new ArrayList<String>();
    for (JsonNode peer : document.path("peers")) {
      if (peer.has("clockAheadMs")) {
        seen.add("of node %d %+d ms".formatted(peer.path("node").asLong(), ahead(peer)));
      }
    }
    return seen.isEmpty()
        ? List.of()
        : List.of("node " + node.id() + " sees the clock " + String.join(", ", seen));
  }

  /** Which clocks are so far ahead that leases may get two owners. */
  List<String> wrongClocks(Algorithm algorithm) {
    var wrong = new ArrayList<String>();
    if (algorithm instanceof Flease flease) {
      long most = flease.epsilon() / 1_000_000;
      for (JsonNode peer : document.path("peers")) {
        // One that seems behind may be so because a datagram was late.
        if (ahead(peer) > most) {
          wrong.add(
              "node %d sees the clock of node %d ahead by %d ms, and the cell allows %d ms: leases may get two owners"
                  .formatted(node.id(), peer.path("node").asLong(), ahead(peer), most));
        }
      }
    }
    return wrong;
  }

  /** What else happened since it started, and is worth a look. */
  List<String> notes() {
    var notes = new ArrayList<String>();
    long faults = document.path("faults").asLong();
    if (faults > 0) {
      notes.add("node %d failed %d times; its log says how".formatted(node.id(), faults));
    }
    long keys = document.path("traffic").path("wrongKey").asLong();
    if (keys > 0) {
      notes.add(
          "node %d dropped %d datagrams that were altered, or signed with another key"
              .formatted(node.id(), keys));
    }
    return notes;
  }

  private static long ahead(JsonNode peer) {
    return peer.path("clockAheadMs").asLong();
  }

  void write(JsonLines line) throws IOException {
    line.object()
        .number("node", node.id())
        .text("address", node.http())
        .text("state", state.name());
    if (!why.isEmpty()) {
      line.text("why", why);
    }
    if (!document.isEmpty()) {
      line.written("cell", new String(JSON.write(document), StandardCharsets.UTF_8));
    }
    line.end();
  }
}
