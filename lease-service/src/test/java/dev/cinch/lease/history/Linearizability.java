package dev.cinch.lease.history;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import org.jspecify.annotations.Nullable;

/**
 * Whether calls that overlapped can be put in an order, each at one moment between its invocation
 * and its answer, in which a model gives all their answers: the algorithm of Wing and Gong, with
 * Lowe's memory of what was tried, which is a set of calls and the state after them.
 */
final class Linearizability {
  /** In the place of the answer's moment where none came: the call may count later, or never. */
  static final long NEVER = Long.MAX_VALUE;

  /**
   * A call.
   *
   * @param invoked its place among all invocations and answers
   * @param answered the place of its answer, or {@link #NEVER}
   */
  record Timed<C>(C call, long invoked, long answered) {}

  /** What calls do. */
  interface Model<S, C> {
    /** The state after a call with the answer that it had; null if it can't have had that one. */
    @Nullable S after(S state, C call);
  }

  /** What has been tried: the answered calls that have counted, and the state after them. */
  private record Tried<S>(BitSet answered, S state) {}

  /**
   * @param unanswered those without an answer that have counted, too
   */
  private record At<S>(Tried<S> tried, BitSet unanswered) {
    /** Those that use up fewest of the unanswered first, so that the others need not be tried. */
    static final Comparator<At<?>> ORDER =
        Comparator.<At<?>>comparingInt(at -> at.unanswered.cardinality())
            .thenComparingInt(at -> -at.tried.answered.cardinality());
  }

  private Linearizability() {}

  /** Whether there is such an order. */
  static <S, C> boolean holds(S start, List<Timed<C>> history, Model<S, C> model) {
    List<Timed<C>> calls =
        history.stream().sorted(Comparator.comparingLong(Timed::answered)).toList();
    int answered = (int) calls.stream().filter(c -> c.answered() != NEVER).count();
    var tried = new HashMap<Tried<S>, List<BitSet>>();
    var waiting = new PriorityQueue<At<S>>(At.ORDER);
    waiting.add(new At<>(new Tried<>(new BitSet(), start), new BitSet()));
    while (!waiting.isEmpty()) {
      At<S> at = waiting.remove();
      int first = at.tried.answered.nextClearBit(0);
      if (first == answered) {
        return true;
      }
      if (!isNew(tried, at)) {
        continue;
      }
      long earliest = calls.get(first).answered();
      for (int i = first; i < calls.size(); i++) {
        BitSet its = i < answered ? at.tried.answered : at.unanswered;
        // A call that began after another one's answer comes after that one.
        if (its.get(i) || calls.get(i).invoked() >= earliest) {
          continue;
        }
        S after = model.after(at.tried.state, calls.get(i).call());
        if (after != null) {
          BitSet more = (BitSet) its.clone();
          more.set(i);
          waiting.add(
              i < answered
                  ? new At<>(new Tried<>(more, after), at.unanswered)
                  : new At<>(new Tried<>(at.tried.answered, after), more));
        }
      }
    }
    return false;
  }

  /**
   * Whether nothing tried so far can do all that may follow from here: to be in the same state with
   * fewer of the unanswered calls used up is as good, or better.
   */
  private static <S> boolean isNew(Map<Tried<S>, List<BitSet>> tried, At<S> at) {
    List<BitSet> used = tried.computeIfAbsent(at.tried, t -> new ArrayList<>());
    for (BitSet before : used) {
      BitSet beyond = (BitSet) before.clone();
      beyond.andNot(at.unanswered);
      if (beyond.isEmpty()) {
        return false;
      }
    }
    used.add(at.unanswered);
    return true;
  }
}
