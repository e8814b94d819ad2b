package dev.cinch.lease.time;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.TimeBound;
import dev.cinch.lease.TimeBound.Kind;
import dev.cinch.lease.time.BoundSource.Measurement;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/**
 * The time by several sources together. Each says it once in a while; in between it goes on by the
 * monotonic clock, and gets wider by what that may be off. Thread-safe.
 *
 * <p>The machine's own clock has a vote too. Where more than half agree, the bound is what the
 * sources among them have in common, and MEASURED. Else it covers what everybody says, and is
 * ASSUMED: nobody knows who is right. The machine's clock alone is ASSUMED too.
 */
@CheckReturnValue
public final class MeasuredTime implements TimeBounds {
  /** How fast a monotonic clock may go wrong: as fast as NTP lets clocks be corrected. */
  private static final long DRIFT_PPM = 500;

  private static final long MILLION = 1_000_000;

  /** How long what was combined is taken for good, nanoseconds. */
  private static final long KEPT = 50_000_000L;

  /**
   * By how much the machine's clock and the monotonic one may have gone apart since a measurement,
   * nanoseconds. If it is more, one of them was set, or the machine slept, and the measurement says
   * nothing any more.
   */
  private static final long APART = 1_000_000_000L;

  private final TimeSource time;
  private final List<BoundSource> sources;
  private final List<Opinion> opinions = new CopyOnWriteArrayList<>();
  private volatile @Nullable View kept;

  /**
   * What a source said last.
   *
   * @param source its name
   * @param last null if it never answered
   * @param failure why it did not answer when it was asked last; empty if it did
   */
  private record Opinion(String source, @Nullable Measurement last, String failure) {}

  /**
   * All that can be said at a moment.
   *
   * @param bound the time
   * @param contradictions in words: which sources are not within it, or that there is no majority;
   *     empty if all agree
   * @param doubt that there is no majority, in words; empty if there is one
   * @param monotonic that moment
   */
  private record View(
      TimeBound bound, List<String> contradictions, Optional<String> doubt, long monotonic) {}

  /**
   * @param sources whom to ask
   */
  public MeasuredTime(TimeSource time, List<BoundSource> sources) {
    this.time = time;
    this.sources = List.copyOf(sources);
    for (BoundSource source : sources) {
      opinions.add(new Opinion(source.name(), null, "not asked yet"));
    }
  }

  /** Asks all sources; by one thread at a time. */
  public void refresh() {
    for (int i = 0; i < sources.size(); i++) {
      Opinion before = opinions.get(i);
      Opinion after;
      try {
        after = new Opinion(before.source, sources.get(i).measure(), "");
      } catch (IOException e) {
        after = new Opinion(before.source, before.last, String.valueOf(e.getMessage()));
      }
      opinions.set(i, after);
    }
    kept = null;
  }

  /** Combined anew after a while only, since every watermark asks. */
  @Override
  public TimeBound at(long wall, long monotonic) {
    View view = kept;
    if (view == null || monotonic - view.monotonic > KEPT || monotonic < view.monotonic) {
      view = view(wall, monotonic);
      kept = view;
    }
    return later(view.bound, monotonic - view.monotonic);
  }

  /** As of the last time that somebody asked for the bound. */
  @Override
  public Optional<String> doubt() {
    View view = kept;
    return view == null ? view().doubt : view.doubt;
  }

  @Override
  public List<String> problems() {
    var problems = new ArrayList<String>(view().contradictions);
    for (Opinion opinion : opinions) {
      if (!opinion.failure.isEmpty()) {
        problems.add(opinion.source + ": " + opinion.failure);
      }
    }
    return problems;
  }

  private View view() {
    return view(time.wallNanos(), time.monotonicNanos());
  }

  /** Combines what the sources said. */
  private View view(long wall, long monotonic) {
    var names = new ArrayList<String>();
    var bounds = new ArrayList<TimeBound>();
    for (Opinion opinion : opinions) {
      TimeBound bound = brought(opinion.last, wall, monotonic);
      if (bound != null) {
        names.add(opinion.source);
        bounds.add(bound);
      }
    }
    int measured = bounds.size();
    names.add("this machine's clock");
    bounds.add(TimeBounds.ASSUMED.at(wall, monotonic));
    Agreement agreement = Agreement.of(bounds);
    if (!agreement.byMajority(bounds.size())) {
      String doubt = "no majority among " + String.join(", ", names);
      return new View(hull(bounds), List.of(doubt), Optional.of(doubt), monotonic);
    }
    var contradictions = new ArrayList<String>();
    var agreeing = new ArrayList<TimeBound>();
    for (int i = 0; i < bounds.size(); i++) {
      if (agreement.outside().contains(i)) {
        contradictions.add(names.get(i) + " contradicts the others");
      } else if (i < measured) {
        agreeing.add(bounds.get(i));
      }
    }
    TimeBound bound = agreeing.isEmpty() ? bounds.get(measured) : Agreement.of(agreeing).bound();
    return new View(bound, contradictions, Optional.empty(), monotonic);
  }

  /** A measurement, as it stands now; null if it says nothing any more. */
  private static @Nullable TimeBound brought(
      @Nullable Measurement then, long wall, long monotonic) {
    if (then == null) {
      return null;
    }
    long age = monotonic - then.monotonic();
    if (age < 0 || Math.abs(wall - then.wall() - age) > APART) {
      return null;
    }
    return later(then.bound(), age);
  }

  /** A bound some time later, by what the monotonic clock may be off. */
  private static TimeBound later(TimeBound bound, long nanos) {
    return bound.later(nanos).wider(nanos / MILLION * DRIFT_PPM);
  }

  private static TimeBound hull(List<TimeBound> bounds) {
    long earliest = Long.MAX_VALUE;
    long latest = Long.MIN_VALUE;
    for (TimeBound bound : bounds) {
      earliest = Math.min(earliest, bound.earliest());
      latest = Math.max(latest, bound.latest());
    }
    return new TimeBound(earliest, latest, Kind.ASSUMED);
  }

  /**
   * What several bounds of the same moment say together: the time that most of them allow.
   * Marzullo's algorithm, with the bounds that disagree named.
   *
   * @param bound what all that agree have in common; MEASURED if one of them is
   * @param outside the places of those in the list that do not overlap it, ascending
   */
  record Agreement(TimeBound bound, List<Integer> outside) {
    /**
     * Combines. Of several times that equally many allow, it is the earliest.
     *
     * @param bounds at least one
     */
    static Agreement of(List<TimeBound> bounds) {
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
    boolean byMajority(int count) {
      return 2 * outside.size() < count;
    }
  }
}
