package dev.cinch.lease.history;

import java.util.ArrayDeque;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
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

  private record Tried<S>(BitSet done, S state) {}

  private Linearizability() {}

  /** Whether there is such an order. */
  static <S, C> boolean holds(S start, List<Timed<C>> history, Model<S, C> model) {
    var first = new Tried<>(new BitSet(), start);
    var tried = new HashSet<Tried<S>>();
    var waiting = new ArrayDeque<Tried<S>>();
    waiting.push(first);
    tried.add(first);
    while (!waiting.isEmpty()) {
      Tried<S> at = waiting.pop();
      long earliest = NEVER;
      for (int i = at.done.nextClearBit(0); i < history.size(); i = at.done.nextClearBit(i + 1)) {
        earliest = Math.min(earliest, history.get(i).answered());
      }
      if (earliest == NEVER) {
        return true;
      }
      for (int i = at.done.nextClearBit(0); i < history.size(); i = at.done.nextClearBit(i + 1)) {
        // A call that began after another one's answer comes after that one.
        S after =
            history.get(i).invoked() < earliest
                ? model.after(at.state, history.get(i).call())
                : null;
        if (after != null) {
          BitSet done = (BitSet) at.done.clone();
          done.set(i);
          var next = new Tried<>(done, after);
          if (tried.add(next)) {
            waiting.push(next);
          }
        }
      }
    }
    return false;
  }
}
