package dev.cinch.lease.cell;

import java.util.ArrayList;
import java.util.List;

/**
 * Machines on a table: messages lie there until a test takes them up. Node 0 to 2 are acceptors;
 * what is sent to other nodes lies there too.
 */
public final class Table {
  /** A message on its way. */
  public record Sent(int from, int to, Message message) {}

  public final List<Sent> sent = new ArrayList<>();

  public Message.Outbox from(int node) {
    return (to, message) -> sent.add(new Sent(node, to, message));
  }

  /** Takes up the messages of a kind. */
  public <M extends Message> List<Sent> take(Class<M> kind) {
    List<Sent> taken = sent.stream().filter(s -> kind.isInstance(s.message())).toList();
    sent.removeAll(taken);
    return taken;
  }

  /** The same from or to one node. */
  public <M extends Message> List<Sent> take(Class<M> kind, int node) {
    List<Sent> taken =
        sent.stream()
            .filter(s -> kind.isInstance(s.message()) && (s.from() == node || s.to() == node))
            .toList();
    sent.removeAll(taken);
    return taken;
  }

  /** Delivers messages to an acceptor. */
  public void give(Acceptor acceptor, int node, long now, List<Sent> messages) {
    for (Sent s : messages) {
      if (s.to() == node) {
        acceptor.receive(s.from(), s.message(), now, from(node));
      }
    }
  }

  /** Delivers messages to a proposer; returns the last step that is not pending. */
  public Step give(Proposer proposer, int node, long now, List<Sent> messages) {
    Step last = Step.Pending.PENDING;
    for (Sent s : messages) {
      if (s.to() == node) {
        Step step = proposer.receive(s.from(), s.message(), now, from(node));
        last = step == Step.Pending.PENDING ? last : step;
      }
    }
    return last;
  }
}
