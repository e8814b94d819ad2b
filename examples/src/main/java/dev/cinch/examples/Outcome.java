package dev.cinch.examples;

import dev.cinch.bag.Log;
import dev.cinch.examples.Share.Line;
import dev.cinch.lease.Witness;
import java.io.IOException;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Compares the settled view with the input of the quickstart. Not thread-safe. */
final class Outcome {
  private final List<Line> lines;
  private final BitSet seen = new BitSet();
  private final Map<String, Place> last = new HashMap<>();
  private int out;
  private int doubled;
  private int disordered;
  private int altered;
  private int ignored;

  /** Where a unit's order has come to: the grant, its sender, and the sender's count. */
  private record Place(long instance, long generation, int sender, long sent) {
    boolean before(Place next) {
      if (instance != next.instance || generation != next.generation) {
        return instance < next.instance
            || instance == next.instance && generation < next.generation;
      }
      return sender == next.sender && sent < next.sent;
    }
  }

  private Outcome(List<Line> lines) {
    this.lines = lines;
  }

  static Outcome of(Log log, List<Line> lines) throws IOException {
    var outcome = new Outcome(lines);
    log.reader()
        .settled(
            Long.MIN_VALUE,
            Long.MAX_VALUE,
            true,
            m -> {
              outcome.add(Sent.parse(m.payload()), m.leases().get(0).witness());
              return true;
            },
            (m, file, why) -> outcome.ignored++);
    return outcome;
  }

  private void add(Sent message, Witness witness) {
    out++;
    if (seen.get(message.number())) {
      doubled++;
    }
    seen.set(message.number());
    Line line = lines.get(message.number());
    if (!line.text().equals(message.text()) || !line.unit().equals(witness.name().value())) {
      altered++;
    }
    var place =
        new Place(witness.instance(), witness.generation(), message.sender(), message.sent());
    Place before = last.put(witness.name().value(), place);
    if (before != null && !before.before(place)) {
      disordered++;
    }
  }

  int lost() {
    return lines.size() - seen.cardinality();
  }

  boolean good() {
    return lost() == 0 && doubled == 0 && disordered == 0 && altered == 0 && ignored == 0;
  }

  @Override
  public String toString() {
    String rest =
        altered + ignored == 0 ? "" : ", %d altered, %d ignored".formatted(altered, ignored);
    return "%d lines in, %d out: %d lost, %d doubled, %d out of order under their lease%s"
        .formatted(lines.size(), out, lost(), doubled, disordered, rest);
  }
}
