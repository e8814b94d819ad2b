package dev.cinch.sim;

import dev.cinch.sim.fs.Op;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The last events of a run, kept as they are and formatted only when somebody asks. */
final class Trace {
  private static final int KEPT = 1 << 13;

  private final long[] times = new long[KEPT];
  private final Object[] who = new Object[KEPT];
  private final Op[] ops = new Op[KEPT];
  private final @Nullable Object[] what = new Object[KEPT];
  private long count;
  private long hash = 0xCBF29CE484222325L;

  /**
   * @param what printed with the event; its hash code must depend on its content alone
   */
  void add(long time, Object process, int number, Op op, @Nullable Object subject) {
    int i = (int) (count++ & (KEPT - 1));
    times[i] = time;
    who[i] = process;
    ops[i] = op;
    what[i] = subject;
    int detail = subject == null ? 0 : subject.hashCode();
    hash = (hash ^ (time * 31 + number * 0x9E3779B1L + op.ordinal())) * 0x100000001B3L;
    hash = (hash ^ detail) * 0x100000001B3L;
  }

  long hash() {
    return hash;
  }

  long count() {
    return count;
  }

  List<String> lines() {
    var lines = new ArrayList<String>();
    long from = Math.max(0, count - KEPT);
    if (from > 0) {
      lines.add("… " + from + " events before");
    }
    for (long n = from; n < count; n++) {
      int i = (int) (n & (KEPT - 1));
      Object subject = what[i];
      lines.add(
          "%12.6f %-14s %-15s %s"
              .formatted(times[i] / 1e9, who[i], ops[i], subject == null ? "" : subject));
    }
    return lines;
  }
}
