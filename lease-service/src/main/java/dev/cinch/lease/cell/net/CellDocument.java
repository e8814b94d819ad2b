package dev.cinch.lease.cell.net;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.lease.IsoTime;
import dev.cinch.lease.time.TimeSource;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;

/** How a node is, as {@code GET /v1/cell} has it (docs/lease-api.md). */
public final class CellDocument {
  private static final long PATIENCE_MS = 1_000;
  private static final long NANOS_PER_MILLI = 1_000_000;

  private CellDocument() {}

  /**
   * Asks a node, and waits a second for it at most.
   *
   * @param node empty while it has not started
   * @param time by which the document tells times
   * @return gives nothing if the node has not started, has ended, or doesn't answer
   */
  public static Supplier<Optional<ObjectNode>> supplier(
      CellFile cell, Supplier<Optional<CellNode>> node, TimeSource time) {
    return () -> node.get().flatMap(CellDocument::ask).map(s -> of(cell, s, time.wallNanos()));
  }

  private static Optional<CellStatus> ask(CellNode node) {
    try {
      return Optional.of(node.status().get(PATIENCE_MS, TimeUnit.MILLISECONDS));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return Optional.empty();
    } catch (ExecutionException | TimeoutException e) {
      return Optional.empty();
    }
  }

  /**
   * Makes the document.
   *
   * @param wall what the wall clock showed when the node told its status; nanoseconds since the
   *     Unix epoch
   */
  public static ObjectNode of(CellFile cell, CellStatus status, long wall) {
    ObjectNode out = JsonNodeFactory.instance.objectNode();
    out.put("node", status.node()).put("instance", cell.instance());
    cell.store().ifPresent(store -> out.put("store", store.toString()));
    out.put("algorithm", cell.algorithm().name());
    out.put("longestLeaseMs", cell.algorithm().longest() / NANOS_PER_MILLI);
    out.put("boot", status.boot());
    time(out, "now", wall);
    out.put("quarantined", status.isQuarantined());
    time(out, "quarantinedUntil", wall + (status.quarantinedUntil() - status.now()));
    out.put("rows", status.rows()).put("names", status.names()).put("attempts", status.attempts());
    if (status.answering() >= 0) {
      out.put("answering", status.answering());
    }
    // As text: those of Flease are times, of which a number loses digits.
    out.put("counter", Long.toString(status.counter()));
    out.put("faults", status.faults());
    peers(out.putArray("peers"), cell, status);
    traffic(out.putObject("traffic"), status.traffic());
    return out;
  }

  private static void peers(ArrayNode out, CellFile cell, CellStatus status) {
    boolean commonClock = cell.algorithm() instanceof Algorithm.Flease;
    for (CellStatus.Peer peer : status.peers()) {
      ObjectNode one = out.addObject().put("node", peer.node());
      if (peer.heardAt() >= 0) {
        one.put("heardAgoMs", Math.max(0, status.now() - peer.heardAt()) / NANOS_PER_MILLI);
        one.put("boot", peer.boot());
        if (commonClock) {
          one.put("clockAheadMs", peer.aheadNanos() / NANOS_PER_MILLI);
        }
      }
    }
  }

  private static void traffic(ObjectNode out, Traffic traffic) {
    out.put("datagramsSent", traffic.datagramsSent());
    out.put("messagesSent", traffic.messagesSent());
    out.put("datagramsReceived", traffic.datagramsReceived());
    out.put("messagesReceived", traffic.messagesReceived());
    out.put("messagesWithin", traffic.messagesWithin());
    out.put("notSent", traffic.notSent());
    out.put("dropped", traffic.dropped());
    out.put("malformed", traffic.malformed());
    out.put("otherVersion", traffic.otherVersion());
    out.put("notForThisNode", traffic.notForThisNode());
    out.put("unknownSender", traffic.unknownSender());
    out.put("wrongKey", traffic.wrongKey());
    out.put("stale", traffic.stale());
  }

  private static void time(ObjectNode out, String name, long nanos) {
    out.put(name, IsoTime.text(nanos)).put(name + "Nanos", Long.toString(nanos));
  }
}
