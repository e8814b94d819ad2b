package dev.cinch.sim.fs;

import dev.cinch.lease.sim.Rng;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One point of the protocol at which the same thing happens to whoever passes, now and then: what
 * needs a particular order of a few operations is met much sooner than by chance.
 *
 * @param at where
 * @param who how the names of those begin that it is for; "" means everybody; an error meets
 *     everybody
 * @param what a {@link FaultKind#PAUSE}, a {@link FaultKind#META_ERROR}, or a {@link
 *     FaultKind#CRASH} of the process or {@link FaultKind#MACHINE_CRASH}
 * @param longestNanos of a pause
 * @param until what somebody else does that ends a pause; null if only time does
 */
public record Ambush(
    Point at, String who, FaultKind what, long longestNanos, @Nullable Point until) {
  private static final String DATA = ".log";
  private static final int MOST = 3;
  private static final long LONGEST_NANOS = 40_000_000_000L;

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
        new Point(Op.STATUS, "/prelock"),
        new Point(Op.CREATE, DATA),
        new Point(Op.WRITE, DATA),
        new Point(Op.FORCE, DATA),
        new Point(Op.CLOSE, DATA),
        new Point(Op.LIST, "/buckets"),
        new Point(Op.LINK, "/lock")),
    /** Somebody sleeps while what it is about is retired. */
    RETIRING(
        new Point(Op.MKDIR, "/buckets"),
        new Point(Op.CREATE, "/prelock"),
        new Point(Op.WRITE, DATA),
        new Point(Op.LINK, "/lock"),
        new Point(Op.LIST, "/records"),
        new Point(Op.MKDIR, "/records"),
        new Point(Op.LINK, "/records"),
        new Point(Op.LINK, "/segments"),
        new Point(Op.LIST, "/checkpoints"),
        new Point(Op.LINK, "/checkpoints"),
        new Point(Op.UNLINK, DATA),
        new Point(Op.UNLINK, "/prelock"),
        new Point(Op.UNLINK, "/lock"),
        new Point(Op.UNLINK, "/records"),
        new Point(Op.RMDIR, "/records")),
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
        new Point(Op.CREATE, "/instances"),
        new Point(Op.LINK, "/ends"),
        new Point(Op.FORCE_DIRECTORY, "/ends")),
    /** Somebody reads what is written, closed, settled and retired meanwhile. */
    READING(
        new Point(Op.RPC, ""),
        new Point(Op.WRITE, DATA),
        new Point(Op.CREATE, DATA),
        new Point(Op.LIST, "/checkpoints"),
        new Point(Op.LIST, "/records"),
        new Point(Op.LIST, "/buckets"),
        new Point(Op.OPEN_READ, "/lock"),
        new Point(Op.OPEN_UNCACHED, DATA),
        new Point(Op.OPEN_READ, DATA),
        new Point(Op.LINK, "/lock"),
        new Point(Op.LINK, "/records"),
        new Point(Op.LINK, "/checkpoints"),
        new Point(Op.UNLINK, DATA),
        new Point(Op.UNLINK, "/lock"),
        new Point(Op.RMDIR, "/buckets")),
    /** Names are made, and the power fails before they are forced. */
    POWER(
        new Point(Op.MKDIR, "/buckets"),
        new Point(Op.CREATE, DATA),
        new Point(Op.LINK, "/lock"),
        new Point(Op.LINK, "/records"),
        new Point(Op.LINK, "/segments"),
        new Point(Op.LINK, "/checkpoints"),
        new Point(Op.UNLINK, DATA),
        new Point(Op.UNLINK, "/records"),
        new Point(Op.LINK, "/identity"),
        new Point(Op.FORCE_DIRECTORY, "/log-"),
        new Point(Op.FORCE_DIRECTORY, "/buckets"),
        new Point(Op.FORCE_DIRECTORY, "/records"),
        new Point(Op.FORCE_DIRECTORY, "/segments"),
        new Point(Op.FORCE_DIRECTORY, "/checkpoints")),
    /** Logs are made while leases change hands. */
    MAKING(
        new Point(Op.MKDIR, "/clock"),
        new Point(Op.WRITE, DATA),
        new Point(Op.LINK, "/identity"),
        new Point(Op.LINK, "/records"),
        new Point(Op.CREATE, DATA),
        new Point(Op.RPC, "")),
    /** Messages expire while others read, check, retire and expire them. */
    EXPIRING(
        new Point(Op.LINK, "/checkpoints/floor-"),
        new Point(Op.LINK, "/checkpoints/floor-"),
        new Point(Op.LINK, "/checkpoints"),
        new Point(Op.FORCE_DIRECTORY, "/checkpoints"),
        new Point(Op.LIST, "/checkpoints"),
        new Point(Op.OPEN_READ, "/checkpoints"),
        new Point(Op.LINK, "/segments"),
        new Point(Op.LIST, "/segments"),
        new Point(Op.OPEN_READ, "/segments"),
        new Point(Op.OPEN_READ, "/segments"),
        new Point(Op.UNLINK, "/segments"),
        new Point(Op.UNLINK, "/segments"),
        new Point(Op.OPEN_READ, "/lock"),
        new Point(Op.UNLINK, "/lock")),
    /** Leases go on at later instances of their service, or end at earlier ones. */
    RESUMING(
        new Point(Op.RPC, ""),
        new Point(Op.CREATE, "/ends"),
        new Point(Op.LINK, "/ends"),
        new Point(Op.FORCE_DIRECTORY, "/ends"),
        new Point(Op.LIST, "/instances"),
        new Point(Op.CREATE, "/instances"),
        new Point(Op.CREATE, "/ceilings"),
        new Point(Op.LIST, "/ceilings"),
        new Point(Op.WRITE, DATA));

    private final List<Point> points;

    Theme(Point... points) {
      this.points = List.of(points);
    }

    /** Most races are over one thing. */
    private Point until(Point point, Rng rng) {
      List<Point> near = points.stream().filter(p -> p.place().equals(point.place())).toList();
      List<Point> from = rng.oneIn(2) ? near : points;
      return from.get(rng.below(from.size()));
    }
  }

  /**
   * @param op the operation
   * @param place what its path contains
   */
  public record Point(Op op, String place) {
    public boolean is(Op passed, Path path) {
      return passed == op && path.toString().contains(place);
    }
  }

  boolean is(Op op, Path path, String name) {
    return at.is(op, path) && name.startsWith(who);
  }

  /**
   * Some of a theme's points.
   *
   * @param roles how names of processes begin
   */
  public static List<Ambush> draw(Theme theme, List<String> roles, Rng rng) {
    var drawn = new ArrayList<Ambush>();
    int certain = theme == Theme.MAKING ? 2 : 0; // who takes a lease, and who still writes
    int count = rng.between(1 + certain, MOST);
    for (int i = 0; i < count; i++) {
      Point point = theme.points.get(i < certain ? i : rng.below(theme.points.size()));
      FaultKind what = i < certain ? FaultKind.PAUSE : what(theme, point, rng);
      boolean anybody = what == FaultKind.META_ERROR || rng.oneIn(2);
      String who = anybody ? "" : roles.get(rng.below(roles.size()));
      Point until = what == FaultKind.PAUSE && rng.below(3) > 0 ? theme.until(point, rng) : null;
      long longest =
          until == null
              ? new long[] {200, 2_000, 8_000, 40_000}[rng.below(4)] * 1_000_000L
              : LONGEST_NANOS;
      drawn.add(new Ambush(point, who, what, longest, until));
    }
    return List.copyOf(drawn);
  }

  private static FaultKind what(Theme theme, Point point, Rng rng) {
    if ((theme == Theme.POWER || theme == Theme.EXPIRING) && rng.oneIn(3)) {
      return FaultKind.MACHINE_CRASH;
    }
    return switch (rng.below(8)) {
      case 0 -> FaultKind.CRASH;
      case 1 -> point.op().isMeta() ? FaultKind.META_ERROR : FaultKind.PAUSE;
      default -> FaultKind.PAUSE;
    };
  }
}
