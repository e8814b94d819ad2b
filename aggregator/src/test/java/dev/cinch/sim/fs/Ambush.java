package dev.cinch.sim.fs;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * One point of the protocol at which the same thing happens to whoever passes, now and then: what
 * needs a particular order of a few operations is met much sooner than by chance.
 *
 * @param op the operation
 * @param place what its path contains
 * @param what a {@link FaultKind#PAUSE} or a {@link FaultKind#META_ERROR}
 * @param longestNanos of a pause
 */
public record Ambush(Op op, String place, FaultKind what, long longestNanos) {
  private static final String DATA = ".log";
  private static final int MOST = 3;

  /** Points that matter to each other. */
  public enum Theme {
    /** A writer enters a bucket while the horizon advances past it. */
    ENTERING(
        new Point(Op.MKDIR, "/buckets"),
        new Point(Op.CREATE, "/prelock"),
        new Point(Op.CREATE, DATA),
        new Point(Op.WRITE, DATA),
        new Point(Op.LIST, "/buckets"),
        new Point(Op.LIST, "/intents"),
        new Point(Op.UNLINK, "/intents"),
        new Point(Op.LIST, "/records"),
        new Point(Op.LINK, "/records")),
    /** A writer appends to a bucket while it is closed. */
    CLOSING(
        new Point(Op.OPEN_OVERWRITE, "/prelock"),
        new Point(Op.OPEN_APPEND, "/prelock"),
        new Point(Op.STATUS, "/prelock"),
        new Point(Op.CREATE, DATA),
        new Point(Op.OPEN_APPEND, DATA),
        new Point(Op.WRITE, DATA),
        new Point(Op.FORCE, DATA),
        new Point(Op.CLOSE, DATA),
        new Point(Op.LIST, "/buckets"),
        new Point(Op.LINK, "/lock")),
    /** Somebody sleeps while what it is about is retired. */
    RETIRING(
        new Point(Op.MKDIR, "/buckets"),
        new Point(Op.CREATE, "/prelock"),
        new Point(Op.OPEN_APPEND, DATA),
        new Point(Op.WRITE, DATA),
        new Point(Op.LINK, "/lock"),
        new Point(Op.LINK, "/records"),
        new Point(Op.LINK, "/segments"),
        new Point(Op.LIST, "/checkpoints"),
        new Point(Op.LINK, "/checkpoints"),
        new Point(Op.UNLINK, DATA),
        new Point(Op.UNLINK, "/prelock"),
        new Point(Op.UNLINK, "/lock"),
        new Point(Op.UNLINK, "/records")),
    /** Leases change hands, and instances of their service too. */
    LEASING(
        new Point(Op.RPC, ""),
        new Point(Op.CREATE, "/intents"),
        new Point(Op.LINK, "/records"),
        new Point(Op.CREATE, DATA),
        new Point(Op.WRITE, DATA),
        new Point(Op.LIST, "/ceilings"),
        new Point(Op.CREATE, "/ceilings"),
        new Point(Op.LIST, "/instances"),
        new Point(Op.CREATE, "/instances"));

    private final List<Point> points;

    Theme(Point... points) {
      this.points = List.of(points);
    }
  }

  record Point(Op op, String place) {}

  /** Some of a theme's points. */
  public static List<Ambush> draw(Theme theme, Rng rng) {
    var drawn = new ArrayList<Ambush>();
    int count = rng.between(1, MOST);
    for (int i = 0; i < count; i++) {
      Point point = theme.points.get(rng.below(theme.points.size()));
      boolean fails = point.op().isMeta() && rng.oneIn(5);
      drawn.add(
          new Ambush(
              point.op(),
              point.place(),
              fails ? FaultKind.META_ERROR : FaultKind.PAUSE,
              new long[] {200, 2_000, 8_000, 40_000}[rng.below(4)] * 1_000_000L));
    }
    return List.copyOf(drawn);
  }

  boolean at(Op passed, Path path) {
    return passed == op && path.toString().contains(place);
  }
}
