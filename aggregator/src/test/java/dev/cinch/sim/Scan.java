package dev.cinch.sim;

import dev.cinch.bag.model.Message;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.model.StoreSettings.Leases;
import dev.cinch.bag.read.LogReader;
import dev.cinch.bag.read.MessageSink;
import dev.cinch.sim.History.Attempt;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Takes what one read gives, and checks its order and payloads on the way. */
final class Scan implements MessageSink, LogReader.Objection {
  private final History history;
  private final int log;
  private final Plan plan;
  private final List<Found> found = new ArrayList<>();
  private int[] ids = new int[16];
  private int count;

  /** What had been told REJECTED when the read began: not in live reads either (rule H4). */
  private final Set<Integer> rejected = new HashSet<>();

  /** A message where it stands. */
  record Found(Attempt attempt, long timestamp, String file, long position, boolean settled) {}

  Scan(History history, int log, Plan plan) {
    this.history = history;
    this.log = log;
    this.plan = plan;
    for (Attempt a : history.attempts) {
      if (a.log == log && a.receipt instanceof Receipt.Rejected) {
        rejected.add(a.id);
      }
    }
  }

  @Override
  public boolean accept(Message m) {
    Attempt a = history.find(m.payload());
    if (a == null || a.log != log) {
      history.violation("log " + log + " has a message that nobody appended: " + place(m));
      return true;
    }
    if (rejected.contains(a.id)) {
      history.violation("was told REJECTED before the read began: " + a + ", at " + place(m));
    }
    var next = new Found(a, m.timestamp(), m.file().toString(), m.position(), m.settled());
    if (!found.isEmpty() && compare(found.get(found.size() - 1), next) >= 0) {
      history.violation("out of order in log " + log + ": " + place(m));
    }
    found.add(next);
    if (count == ids.length) {
      ids = Arrays.copyOf(ids, 2 * count);
    }
    ids[count++] = a.id;
    return true;
  }

  @Override
  public void ignored(Message m, Name file, String why) {
    Attempt a = history.find(m.payload());
    boolean unleased = a != null && a.leases.isEmpty() && plan.leases() == Leases.REQUIRED;
    if (!unleased) {
      history.violation("ignored by a reader: " + place(m) + ": " + why);
    }
  }

  private static String place(Message m) {
    return m.timestamp() + " " + m.file() + " " + m.position();
  }

  private static int compare(Found a, Found b) {
    if (a.timestamp != b.timestamp) {
      return Long.compare(a.timestamp, b.timestamp);
    }
    int byFile = a.file.compareTo(b.file);
    return byFile != 0 ? byFile : Long.compare(a.position, b.position);
  }

  List<Found> found() {
    return found;
  }

  long[] times() {
    return found.stream().mapToLong(Found::timestamp).toArray();
  }

  int[] ids() {
    return Arrays.copyOf(ids, count);
  }
}
