package dev.cinch.lease.cell.explore;

import dev.cinch.lease.cell.Message;
import dev.cinch.lease.cell.Message.Memory;
import dev.cinch.lease.cell.Message.Promise;
import dev.cinch.lease.cell.Message.Reject;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * All messages that were ever sent in any order of events, numbered. Each is between a proposer and
 * an acceptor; the number of the same message for another acceptor differs by that of the acceptor.
 */
final class Network {
  /** A message, but for its acceptor. */
  record Sent(int proposer, Message message) {
    boolean toAcceptor() {
      return message instanceof Message.Prepare
          || message instanceof Message.Accept
          || message instanceof Message.Release;
    }
  }

  private final Map<Sent, Integer> numbers = new HashMap<>();
  private final List<Sent> all = new ArrayList<>();

  int number(int proposer, int acceptor, Message message) {
    var sent = new Sent(proposer, plain(message));
    int group =
        numbers.computeIfAbsent(
            sent,
            s -> {
              all.add(s);
              return all.size() - 1;
            });
    return group * Subject.PROPOSER + acceptor;
  }

  Sent get(int number) {
    return all.get(number / Subject.PROPOSER);
  }

  static int acceptor(int number) {
    return number % Subject.PROPOSER;
  }

  /** The node that it is for. */
  int to(int number) {
    Sent sent = get(number);
    return sent.toAcceptor() ? acceptor(number) : sent.proposer();
  }

  /** How long a lease still lasts is a hint, without which there are fewer messages. */
  private static Message plain(Message message) {
    if (message instanceof Promise m) {
      return new Promise(m.name(), m.ballot(), m.pledge(), plain(m.memory()));
    }
    return message instanceof Reject m
        ? new Reject(m.name(), m.ballot(), m.promised(), plain(m.memory()))
        : message;
  }

  private static Memory plain(Memory memory) {
    return new Memory(memory.state(), memory.ballot(), memory.value(), 0);
  }
}
