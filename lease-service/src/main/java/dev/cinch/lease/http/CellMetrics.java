package dev.cinch.lease.http;

import com.fasterxml.jackson.databind.JsonNode;

/** What {@code GET /v1/cell} says of a node, as numbers to be watched. */
final class CellMetrics {
  private static final String[] DROPPED = {
    "malformed", "otherVersion", "notForThisNode", "unknownSender", "wrongKey", "stale"
  };

  private CellMetrics() {}

  private static String nanosAsSeconds(JsonNode nanos) {
    return Double.toString(Long.parseLong(nanos.asText()) / 1e9);
  }

  /**
   * Writes them.
   *
   * @param node as the API has it
   */
  static void write(Exposition out, JsonNode node) {
    boolean votes = !node.path("quarantined").asBoolean();
    out.family("cinch_cell_voting", "gauge", "1 if this node of the cell votes, 0 in quarantine.")
        .sample(votes ? 1 : 0);
    out.family("cinch_cell_quarantined_until_seconds", "gauge", "When that ends, Unix time.")
        .sample("", "", nanosAsSeconds(node.path("quarantinedUntilNanos")));
    count(out, "gauge", "cinch_cell_boot", "How often this node has started.", node.path("boot"));
    count(out, "gauge", "cinch_cell_rows", "Names of which it knows a value.", node.path("rows"));
    count(out, "gauge", "cinch_cell_names", "Names that it changes now.", node.path("names"));
    count(out, "gauge", "cinch_cell_attempts", "Attempts under way.", node.path("attempts"));
    if (node.has("answering")) {
      count(
          out,
          "gauge",
          "cinch_cell_answering",
          "Nodes that answered this one a moment ago as voters, itself too.",
          node.path("answering"));
    }
    count(
        out,
        "counter",
        "cinch_cell_faults_total",
        "Faults of its own code, which the log has.",
        node.path("faults"));
    traffic(out, node.path("traffic"));
    out.family(
        "cinch_cell_peer_heard_seconds", "gauge", "How long ago another node was heard last.");
    for (JsonNode peer : node.path("peers")) {
      if (peer.has("heardAgoMs")) {
        out.sample("", peer(peer), Double.toString(peer.path("heardAgoMs").asLong() / 1e3));
      }
    }
    out.family(
        "cinch_cell_peer_clock_ahead_seconds",
        "gauge",
        "By how much its clock is ahead of this one's; of Flease alone.");
    for (JsonNode peer : node.path("peers")) {
      if (peer.has("clockAheadMs")) {
        out.sample("", peer(peer), Double.toString(peer.path("clockAheadMs").asLong() / 1e3));
      }
    }
  }

  private static String peer(JsonNode peer) {
    return "node=\"" + peer.path("node").asInt() + "\"";
  }

  private static void traffic(Exposition out, JsonNode traffic) {
    count(
        out,
        "counter",
        "cinch_cell_datagrams_sent_total",
        "Datagrams to other nodes.",
        traffic.path("datagramsSent"));
    count(
        out,
        "counter",
        "cinch_cell_datagrams_received_total",
        "Datagrams that came, with those that were dropped.",
        traffic.path("datagramsReceived"));
    count(
        out,
        "counter",
        "cinch_cell_datagrams_not_sent_total",
        "What the network did not take, or was too large.",
        traffic.path("notSent"));
    out.family("cinch_cell_datagrams_dropped_total", "counter", "Datagrams dropped, by why.");
    for (String reason : DROPPED) {
      out.sample("reason=\"" + reason + "\"", traffic.path(reason).asLong());
    }
  }

  private static void count(Exposition out, String type, String name, String help, JsonNode value) {
    out.family(name, type, help).sample(value.asLong());
  }
}
