package dev.cinch.lease.time;

import dev.cinch.lease.TimeBound;
import dev.cinch.lease.TimeBound.Kind;
import java.util.ArrayList;
import java.util.List;

/**
 * What several bounds of the same moment say together: the time that most of them allow. Marzullo's
 * algorithm, with the bounds that disagree named.
 *
 * @param bound what all that agree have in common; MEASURED if one of them is
 * @param outside the places of those in the list that do not overlap it, ascending
 */
public record Agreement(TimeBound bound, List<Integer> outside) {
  public Agreement {
    outside = List.copyOf(outside);
  }

  /**
   * Combines. Of several times that equally many allow, it is the earliest.
   *
   * @param bounds at least one
   */
  public static Agreement of(List<TimeBound> bounds) {
    long best = bounds.get(0).earliest();
    int most = 0;
    // Where most overlap, one of them begins.
    for (TimeBound one : bounds) {
      long at = one.earliest();
      int count = (int) bounds.stream().filter(b -> b.contains(at)).count();
      if (count > most || (count == most && at < best)) {
        best = at;
        most = count;
      }
    }
    long earliest = Long.MIN_VALUE;
    long latest = Long.MAX_VALUE;
    Kind kind = Kind.ASSUMED;
    var outside = new ArrayList<Integer>();
    for (int i = 0; i < bounds.size(); i++) {
      TimeBound one = bounds.get(i);
      if (one.contains(best)) {
        earliest = Math.max(earliest, one.earliest());
        latest = Math.min(latest, one.latest());
        kind = one.kind() == Kind.MEASURED ? Kind.MEASURED : kind;
      } else {
        outside.add(i);
      }
    }
    return new Agreement(new TimeBound(earliest, latest, kind), outside);
  }

  /**
   * Whether more than half agree, so that those outside are wrong unless more than half are.
   *
   * @param count how many bounds there were
   */
  public boolean byMajority(int count) {
    return 2 * outside.size() < count;
  }
}
