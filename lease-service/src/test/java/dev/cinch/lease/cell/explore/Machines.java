package dev.cinch.lease.cell.explore;

import dev.cinch.lease.cell.Message;
import dev.cinch.lease.cell.Message.Outbox;
import dev.cinch.lease.cell.Step;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * The states of a machine, numbered, and where each input leads from each. An input is given to the
 * real machine once for each state; to put a machine into a state, what led there first is done
 * again.
 *
 * @param <M> acceptor or proposer
 */
abstract class Machines<M> {
  /** Where an input leads, and what is sent, as numbers of messages. */
  record Move(int to, List<Integer> sent, Step step) {}

  /** An input: what, and the clock's reading in ticks. */
  private record Input(int code, int reading) {}

  /** How a state was reached first; -1 if the machine was made for it. */
  private record Origin(int from, Input input) {}

  /** Until when a row is kept makes no difference, where nothing is swept. */
  private static final Pattern KEEP = Pattern.compile("keep \\d+");

  /** In which acceptors may stand. */
  static final int[][] ORDERS = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

  /** Codes from here on deliver a message. */
  static final int DELIVER = 1_000;

  final Subject subject;
  final Network network;
  private final Map<String, Integer> numbers = new HashMap<>();
  private final List<Origin> origins = new ArrayList<>();
  private final List<List<Integer>> reordered = new ArrayList<>();
  private final Map<Long, Move> moves = new HashMap<>();

  Machines(Subject subject, Network network) {
    this.subject = subject;
    this.network = network;
    for (int i = 0; i < ORDERS.length; i++) {
      reordered.add(new ArrayList<>());
    }
  }

  /** A new machine. */
  abstract M make(int boot, int reading);

  /** The number of a message that a machine sends. */
  abstract int sent(int to, Message message);

  abstract Step apply(M machine, int code, long now, Outbox out);

  abstract String show(M machine);

  /** A state of this number is there now. */
  abstract void met(int state, int boot, int start, M machine);

  abstract int boot(int state);

  abstract int start(int state);

  /** What must be true of a move, beside what a whole cell shows. */
  abstract void check(int from, int code, int reading, Move move);

  final int size() {
    return origins.size();
  }

  /** The state of a machine that has just been made. */
  final int fresh(int boot, int reading) {
    return number(make(boot, reading), boot, reading, new Origin(-1, new Input(boot, reading)));
  }

  private int number(M machine, int boot, int start, Origin origin) {
    String text = boot + " " + KEEP.matcher(show(machine)).replaceAll("");
    Integer known = numbers.get(text);
    if (known != null) {
      return known;
    }
    int number = origins.size();
    numbers.put(text, number);
    origins.add(origin);
    met(number, boot, start, machine);
    return number;
  }

  /** The state that comes of the same with the acceptors in another order. */
  final int reordered(int state, int number) {
    List<Integer> known = reordered.get(number);
    while (known.size() <= state) {
      known.add(reorder(known.size(), number));
    }
    return known.get(state);
  }

  private int reorder(int state, int number) {
    int[] order = ORDERS[number];
    Origin origin = origins.get(state);
    Input input = origin.input();
    if (origin.from() < 0) {
      return state;
    }
    int code = input.code();
    if (code >= DELIVER) {
      int message = code - DELIVER;
      code += order[Network.acceptor(message)] - Network.acceptor(message);
    }
    return move(reordered(origin.from(), number), code, input.reading()).to();
  }

  final M at(int state) {
    Origin origin = origins.get(state);
    Input input = origin.input();
    if (origin.from() < 0) {
      return make(input.code(), input.reading());
    }
    M machine = at(origin.from());
    apply(machine, input.code(), input.reading() * Subject.TICK, (to, message) -> {});
    return machine;
  }

  final Move move(int from, int code, int reading) {
    long key = ((long) from << 40) | ((long) code << 12) | reading;
    Move known = moves.get(key);
    if (known != null) {
      return known;
    }
    M machine = at(from);
    var sent = new ArrayList<Integer>();
    Step step =
        apply(machine, code, reading * Subject.TICK, (to, message) -> sent.add(sent(to, message)));
    var origin = new Origin(from, new Input(code, reading));
    var move = new Move(number(machine, boot(from), start(from), origin), sent, step);
    check(from, code, reading, move);
    moves.put(key, move);
    return move;
  }
}
