package dev.cinch.lease.cell.explore;

import dev.cinch.lease.cell.Ballot;
import dev.cinch.lease.cell.Message;
import dev.cinch.lease.cell.Step;
import dev.cinch.lease.sim.Broken;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.StringJoiner;
import org.jspecify.annotations.Nullable;

/**
 * Goes through all states of two proposers and three acceptors within bounds, depth first.
 *
 * <p>A state is an array: the tick, the states of acceptors and proposers, what may still happen,
 * which acceptors accepted each proposer's attempt, and with which number, the highest number of a
 * lease that was granted, and the messages under way in ascending order. They may come in any
 * order, later, or never.
 */
final class Explorer {
  private static final int NODES = 5;
  private static final int MAJORITY = 2;
  private static final int TIME = 0;
  private static final int MACHINE = 1;
  private static final int ATTEMPTS = MACHINE + NODES;
  private static final int RELEASES = ATTEMPTS + 2;
  private static final int DOUBLES = RELEASES + 2;
  private static final int CRASHES = DOUBLES + 1;
  private static final int RESTARTS = CRASHES + 1;
  private static final int VOTES = RESTARTS + 1;
  private static final int NUMBER = VOTES + 2;
  private static final int GRANTED = NUMBER + 2;
  private static final int MESSAGES = GRANTED + 1;

  /** An event on the way to a state: told, or what a node was given. */
  private record Event(@Nullable String what, int node, int code, int reading) {}

  private final Subject subject;
  private final Bounds bounds;
  private final long most;
  private final Network network = new Network();
  private final Acceptors acceptors;
  private final Proposers[] proposers = new Proposers[NODES - Subject.PROPOSER];
  private final HashedStates seen = new HashedStates();
  private final Deque<Event> path = new ArrayDeque<>();
  private long events;
  private long grants;

  /**
   * @param most so many states are looked at, at most
   */
  Explorer(Subject subject, Bounds bounds, long most) {
    this.subject = subject;
    this.bounds = bounds;
    this.most = most;
    acceptors = new Acceptors(subject, network);
    for (int i = 0; i < proposers.length; i++) {
      proposers[i] = new Proposers(subject, network, Subject.PROPOSER + i);
    }
  }

  long states() {
    return seen.size();
  }

  long grants() {
    return grants;
  }

  /** Whether all states were looked at. */
  boolean complete() {
    return seen.size() < most;
  }

  /** Explores; returns the way to a state that must not be, if there is one. */
  @Nullable String run() {
    var state = new int[MESSAGES];
    for (int i = 0; i < Subject.PROPOSER; i++) {
      state[MACHINE + i] = acceptors.fresh(1, subject.least(i, 0) - subject.quarantine());
    }
    for (int i = 0; i < proposers.length; i++) {
      state[MACHINE + Subject.PROPOSER + i] = proposers[i].fresh(1, 0);
      state[RELEASES + i] = bounds.releases();
    }
    state[ATTEMPTS] = bounds.attempts0();
    state[ATTEMPTS + 1] = bounds.attempts1();
    state[DOUBLES] = bounds.doubles();
    state[CRASHES] = bounds.crashes();
    state[RESTARTS] = bounds.restarts();
    try {
      seen.add(hash(state));
      visit(state);
      return null;
    } catch (Broken e) {
      var way = new StringJoiner("\n");
      path.descendingIterator().forEachRemaining(event -> way.add(text(event)));
      return way + "\n" + e.getMessage();
    }
  }

  private void visit(int[] state) {
    if (state[TIME] < bounds.ticks()) {
      int[] next = Arrays.copyOf(state, MESSAGES);
      next[TIME]++;
      tick(state, MESSAGES, bounds.late(), next);
    }
    for (int i = MESSAGES; i < state.length; i++) {
      int to = network.to(state[i]);
      int code = Machines.DELIVER + state[i];
      if (to < Subject.PROPOSER) {
        code -= to; // all acceptors are the same
      }
      int[] rest = without(state, i);
      for (int late = 0; late <= subject.slack; late++) {
        int reading = subject.least(to, state[TIME]) + late;
        Machines.Move move = machines(to).move(state[MACHINE + to], code, reading);
        if (move.to() != state[MACHINE + to] || !move.sent().isEmpty()) { // else it is as lost
          input(rest, to, code, reading);
          if (state[DOUBLES] > 0) {
            int[] again = state.clone();
            again[DOUBLES]--;
            input(again, to, code, reading);
          }
        }
      }
    }
    for (int i = 0; i < proposers.length; i++) {
      for (int late = 0; late <= subject.slack; late++) {
        wish(state, i, subject.least(Subject.PROPOSER + i, state[TIME]) + late);
      }
      if (state[RESTARTS] > 0) {
        int[] next = state.clone();
        next[RESTARTS]--;
        int boot = proposers[i].boot(state[MACHINE + Subject.PROPOSER + i]) + 1;
        next[MACHINE + Subject.PROPOSER + i] = proposers[i].fresh(boot, 0);
        go(next, "proposer " + (Subject.PROPOSER + i) + " starts again");
      }
    }
    if (state[CRASHES] > 0) {
      for (int i = 0; i < Subject.PROPOSER; i++) {
        for (int late = 0; late <= subject.slack; late++) {
          int[] next = state.clone();
          next[CRASHES]--;
          int boot = acceptors.boot(state[MACHINE + i]) + 1;
          int reading = subject.least(i, state[TIME]) + late;
          next[MACHINE + i] = acceptors.fresh(boot, reading);
          go(next, "acceptor " + i + " starts again at " + reading);
        }
      }
    }
  }

  /** Time goes on, with each choice of some of the messages from a place on. */
  private void tick(int[] state, int from, int late, int[] next) {
    go(next, "tick " + next[TIME]);
    if (late > 0) {
      for (int i = from; i < state.length; i++) {
        int[] with = Arrays.copyOf(next, next.length + 1);
        with[next.length] = state[i];
        tick(state, i + 1, late - 1, with);
      }
    }
  }

  /** What a proposer's user may want. */
  private void wish(int[] state, int i, int reading) {
    int node = Subject.PROPOSER + i;
    Proposers.View view = proposers[i].view(state[MACHINE + node]);
    long now = reading * Subject.TICK;
    boolean holds = now < view.heldUntil();
    if (view.isTrying() && view.wakeAt() <= now) {
      input(state, node, Proposers.WAKE, reading);
    }
    if (holds && state[RELEASES + i] > 0) {
      int[] less = state.clone();
      less[RELEASES + i]--;
      input(less, node, Proposers.RELEASE, reading);
    }
    if (!view.isTrying() && state[ATTEMPTS + i] > 0) {
      int[] less = state.clone();
      less[ATTEMPTS + i]--;
      for (int shorter = 0; shorter < bounds.ttls(); shorter++) {
        input(less, node, (holds ? Proposers.RENEW : Proposers.ACQUIRE) + shorter, reading);
      }
    }
  }

  private Machines<?> machines(int node) {
    return node < Subject.PROPOSER ? acceptors : proposers[node - Subject.PROPOSER];
  }

  /** Gives a machine an input, and a proposer that found the name open its value. */
  private void input(int[] state, int node, int code, int reading) {
    int i = node - Subject.PROPOSER;
    int[] next;
    try {
      Machines.Move move = machines(node).move(state[MACHINE + node], code, reading);
      next = after(state, node, move);
      if (code >= Proposers.ACQUIRE && code < Machines.DELIVER) {
        next[VOTES + i] = 0;
        next[NUMBER + i] = 0;
      } else if (move.step() instanceof Step.Found found) {
        int number = Proposers.next(found, state[GRANTED]);
        int value = Proposers.PROPOSE + number;
        next = after(next, node, machines(node).move(next[MACHINE + node], value, reading));
        next[NUMBER + i] = number;
      } else if (move.step() instanceof Step.Granted granted) {
        granted(next, i, granted.ballot());
      }
    } catch (Broken e) {
      path.push(new Event(null, node, code, reading));
      throw e;
    }
    go(node < Subject.PROPOSER ? next : useful(next), null, node, code, reading);
  }

  private int[] useful(int[] state) {
    int[] kept = state.clone();
    int length = MESSAGES;
    for (int i = MESSAGES; i < state.length; i++) {
      if (!isUseless(state, state[i])) {
        kept[length++] = state[i];
      }
    }
    return Arrays.copyOf(kept, length);
  }

  private static int[] without(int[] state, int at) {
    int[] rest = new int[state.length - 1];
    System.arraycopy(state, 0, rest, 0, at);
    System.arraycopy(state, at + 1, rest, at, rest.length - at);
    return rest;
  }

  private int[] after(int[] state, int node, Machines.Move move) {
    int[] next = state.clone();
    next[MACHINE + node] = move.to();
    for (int sent : move.sent()) {
      int message = node < Subject.PROPOSER ? sent + node : sent;
      if (isUseless(next, message)) {
        continue;
      }
      int at = Arrays.binarySearch(next, MESSAGES, next.length, message);
      if (at < 0) {
        int place = -at - 1;
        int[] longer = new int[next.length + 1];
        System.arraycopy(next, 0, longer, 0, place);
        longer[place] = message;
        System.arraycopy(next, place, longer, place + 1, next.length - place);
        next = longer;
      }
      if (network.get(message).message() instanceof Message.Accepted accepted) {
        int to = network.to(message);
        int i = to - Subject.PROPOSER;
        if (accepted.ballot().equals(proposers[i].view(next[MACHINE + to]).trying())) {
          next[VOTES + i] |= 1 << node;
        }
      }
    }
    return next;
  }

  /** Whether a message is to nobody who waits for it, or will. */
  private boolean isUseless(int[] state, int message) {
    int i = network.to(message) - Subject.PROPOSER;
    return i >= 0
        && (state[ATTEMPTS + i] == 0
                && !proposers[i].view(state[MACHINE + Subject.PROPOSER + i]).isTrying()
            || !bounds.rejects() && network.get(message).message() instanceof Message.Reject);
  }

  /** A lease is granted: by a majority, and after all that were granted before. */
  private void granted(int[] state, int i, Ballot ballot) {
    grants++;
    if (Integer.bitCount(state[VOTES + i]) < MAJORITY) {
      throw new Broken("P1: " + ballot + " is granted without a majority");
    }
    if (state[NUMBER + i] <= state[GRANTED]) {
      throw new Broken(
          ballot + " is lease " + state[NUMBER + i] + " after lease " + state[GRANTED]);
    }
    state[GRANTED] = state[NUMBER + i];
    state[VOTES + i] = 0;
    state[NUMBER + i] = 0;
  }

  private void go(int[] next, @Nullable String what) {
    go(next, what, 0, 0, 0);
  }

  private void go(int[] next, @Nullable String what, int node, int code, int reading) {
    events++;
    if (seen.size() >= most || !seen.add(hash(next))) {
      return;
    }
    path.push(new Event(what, node, code, reading));
    judge(next);
    visit(next);
    path.pop();
  }

  /** The same for all orders of the acceptors, which are all the same. */
  private long hash(int[] state) {
    long least = Long.MAX_VALUE;
    for (int number = 0; number < Machines.ORDERS.length; number++) {
      int[] order = Machines.ORDERS[number];
      long hash = state[TIME];
      var votes = new int[proposers.length];
      for (int i = 0; i < Subject.PROPOSER; i++) {
        hash += HashedStates.mix(state[MACHINE + i], MACHINE + order[i]);
        for (int k = 0; k < votes.length; k++) {
          votes[k] |= (state[VOTES + k] >> i & 1) << order[i];
        }
      }
      for (int k = 0; k < proposers.length; k++) {
        int at = MACHINE + Subject.PROPOSER + k;
        hash += HashedStates.mix(proposers[k].reordered(state[at], number), at);
        hash += HashedStates.mix(votes[k], VOTES + k);
      }
      for (int i = ATTEMPTS; i < VOTES; i++) {
        hash += HashedStates.mix(state[i], i);
      }
      for (int i = NUMBER; i < MESSAGES; i++) {
        hash += HashedStates.mix(state[i], i);
      }
      for (int i = MESSAGES; i < state.length; i++) {
        int acceptor = Network.acceptor(state[i]);
        hash += HashedStates.mix(state[i] - acceptor + order[acceptor], MESSAGES);
      }
      least = Math.min(least, HashedStates.mix(hash, 0));
    }
    return least;
  }

  private void judge(int[] state) {
    int owners = 0;
    for (int i = 0; i < proposers.length; i++) {
      int node = Subject.PROPOSER + i;
      Proposers.View view = proposers[i].view(state[MACHINE + node]);
      if (subject.least(node, state[TIME]) * Subject.TICK < view.heldUntil()) {
        owners++;
        excluded(state, view.held());
      }
    }
    if (owners > 1) {
      throw new Broken("two owners");
    }
  }

  /** As fast as clocks of acceptors may be, a majority of them excludes others. */
  private void excluded(int[] state, Ballot owner) {
    int excluding = 0;
    for (int i = 0; i < Subject.PROPOSER; i++) {
      int fastest = subject.least(i, state[TIME]) + subject.slack;
      if (acceptors.excludes(state[MACHINE + i], owner, fastest)) {
        excluding++;
      }
    }
    if (excluding < MAJORITY) {
      throw new Broken(owner + " is held, and too few acceptors exclude others");
    }
  }

  private String text(Event event) {
    if (event.what() != null) {
      return event.what();
    }
    int code = event.code();
    String what =
        code >= Machines.DELIVER
            ? "takes " + network.get(code - Machines.DELIVER)
            : code >= Proposers.RENEW
                ? "renews, for " + (subject.longest - code + Proposers.RENEW)
                : code >= Proposers.ACQUIRE
                    ? "acquires, for " + (subject.longest - code + Proposers.ACQUIRE)
                    : code == Proposers.WAKE ? "gives up" : "releases";
    return "node " + event.node() + " at " + event.reading() + " " + what;
  }

  @Override
  public String toString() {
    return "%s %s: %,d states%s, %,d events, %,d grants"
        .formatted(subject, bounds, seen.size(), complete() ? "" : " (not all)", events, grants);
  }
}
