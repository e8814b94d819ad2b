package dev.cinch.lease.cell.net;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.lease.IsoTime;
import dev.cinch.lease.cell.Flease;
import dev.cinch.lease.time.TimeSource;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;

/**
 * What a node knows of itself. Times are of its own clock, nanoseconds. Immutable.
 *
 * @param boot how often it has started
 * @param now what its clock shows
 * @param quarantinedUntil until when its acceptor is silent
 * @param rows names of which its acceptor knows something
 * @param names for which it holds a lease, or attempts to
 * @param attempts under way
 * @param answering how many acceptors answered it a moment ago, its own too; -1 if nobody has asked
 *     them
 * @param counter of the highest ballot that it gave; 0 if it gave none since it started
 * @param ballots that it gave since it started
 * @param faults of its own code: handlers that ended with an exception, which the log has
 */
public record CellStatus(
    int node,
    int boot,
    long now,
    long quarantinedUntil,
    int rows,
    int names,
    int attempts,
    int answering,
    long counter,
    long ballots,
    long faults,
    Traffic traffic,
    List<Peer> peers) {
  private static final long PATIENCE_MS = 1_000;
  private static final long NANOS_PER_MILLI = 1_000_000;

  public CellStatus {
    peers = List.copyOf(peers);
  }

  /** Whether its acceptor is still silent (rule P5). */
  public boolean isQuarantined() {
    return now < quarantinedUntil;
  }

  /**
   * Another node.
   *
   * @param heardAt when it was heard last; -1 if never
   * @param boot as it said then
   * @param aheadNanos by how much its clock is ahead of this one's, less the time that the last
   *     datagram was on its way; says nothing of PaxosLease, whose clocks have no common origin
   */
  public record Peer(int node, long heardAt, int boot, long aheadNanos) {}

  /**
   * What a node has sent and received since it started. What it dropped is counted by the reason
   * that was found first. Immutable.
   *
   * @param datagramsSent to other nodes
   * @param messagesSent in them
   * @param datagramsReceived all that came, those that were dropped too
   * @param messagesReceived in those that were not dropped
   * @param messagesWithin from the node to itself, which take no datagram
   * @param malformed shorter than a datagram is, or authentic with a message that is none
   * @param otherVersion of a version that this node doesn't know
   * @param notForThisNode that another node should have got
   * @param unknownSender of a node that is not of the cell
   * @param wrongKey altered, or authenticated with another key
   * @param notSent that the network didn't take; nor messages too large for a datagram
   */
  public record Traffic(
      long datagramsSent,
      long messagesSent,
      long datagramsReceived,
      long messagesReceived,
      long messagesWithin,
      long malformed,
      long otherVersion,
      long notForThisNode,
      long unknownSender,
      long wrongKey,
      long notSent) {

    /** Datagrams received that were dropped. */
    public long dropped() {
      return malformed + otherVersion + notForThisNode + unknownSender + wrongKey;
    }
  }

  /**
   * Asks a node, and waits a second for it at most.
   *
   * @param node empty while it has not started
   * @param time by which the document tells times
   * @return gives nothing if the node has not started, has ended, or doesn't answer
   */
  public static Supplier<Optional<ObjectNode>> supplier(
      CellFile cell, Supplier<Optional<CellNode>> node, TimeSource time) {
    return () -> node.get().flatMap(CellStatus::ask).map(s -> s.document(cell, time.wallNanos()));
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
  public ObjectNode document(CellFile cell, long wall) {
    ObjectNode out = JsonNodeFactory.instance.objectNode();
    out.put("node", node()).put("instance", cell.instance());
    cell.store().ifPresent(store -> out.put("store", store.toString()));
    out.put("algorithm", cell.algorithm().name());
    out.put("longestLeaseMs", cell.algorithm().longest() / NANOS_PER_MILLI);
    out.put("boot", boot());
    time(out, "now", wall);
    out.put("quarantined", isQuarantined());
    time(out, "quarantinedUntil", wall + (quarantinedUntil() - now()));
    out.put("rows", rows()).put("names", names()).put("attempts", attempts());
    if (answering() >= 0) {
      out.put("answering", answering());
    }
    // As text: those of Flease are times, of which a number loses digits.
    out.put("counter", Long.toString(counter()));
    out.put("ballots", ballots()).put("faults", faults());
    peers(out.putArray("peers"), cell);
    traffic(out.putObject("traffic"), traffic);
    return out;
  }

  private void peers(ArrayNode out, CellFile cell) {
    boolean commonClock = cell.algorithm() instanceof Flease;
    for (CellStatus.Peer peer : peers()) {
      ObjectNode one = out.addObject().put("node", peer.node());
      if (peer.heardAt() >= 0) {
        one.put("heardAgoMs", Math.max(0, now() - peer.heardAt()) / NANOS_PER_MILLI);
        one.put("boot", peer.boot());
        if (commonClock) {
          one.put("clockAheadMs", peer.aheadNanos() / NANOS_PER_MILLI);
        }
      }
    }
  }

  private static void traffic(ObjectNode out, CellStatus.Traffic traffic) {
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
  }

  private static void time(ObjectNode out, String name, long nanos) {
    out.put(name, IsoTime.text(nanos));
  }
}
