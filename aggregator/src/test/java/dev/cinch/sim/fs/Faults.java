package dev.cinch.sim.fs;

import dev.cinch.lease.sim.Rng;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Says at each opportunity whether a fault strikes, and counts. The gaps are drawn ahead, so that
 * an opportunity costs one decrement. Confined to whichever process runs.
 */
public final class Faults {
  private static final FaultKind[] KINDS = FaultKind.values();
  private static final long LONGEST_FULL_NANOS = 40_000_000_000L;

  private final Rng rng;
  private final int[] oneIn = new int[KINDS.length];
  private final int[] left = new int[KINDS.length];
  private final int[] struck = new int[KINDS.length];
  private final List<Ambush> ambushes;
  private boolean stopped;

  /** Where there is no room, and until when; null: everywhere is some. */
  private @Nullable Path full;

  private long fullUntil;

  /**
   * @param on the kinds that may strike
   * @param ambushes where they do so again and again
   */
  public Faults(long seed, Set<FaultKind> on, List<Ambush> ambushes) {
    this.rng = Rng.of(seed, 77);
    Rng later = Rng.of(seed, 79); // for kinds that were added, so that a seed's world stays
    for (FaultKind kind : KINDS) {
      boolean added = kind.compareTo(FaultKind.DELEGATIONS) >= 0;
      int rate = (int) (added ? later : rng).spread(kind.lowest, kind.highest + 1);
      oneIn[kind.ordinal()] = on.contains(kind) ? Math.max(1, rate) : 0;
      draw(kind.ordinal());
    }
    this.ambushes = on.contains(FaultKind.AMBUSH) ? ambushes : List.of();
  }

  private void draw(int i) {
    int n = oneIn[i];
    left[i] = n == 0 ? Integer.MAX_VALUE : n == 1 ? 1 : 1 + rng.below(2 * n - 1);
  }

  /** Whether it strikes now. */
  public boolean strike(FaultKind kind) {
    int i = kind.ordinal();
    if (--left[i] > 0) {
      return false;
    }
    if (oneIn[i] == 0 || stopped) {
      left[i] = Integer.MAX_VALUE;
      return false;
    }
    draw(i);
    struck[i]++;
    return true;
  }

  /** The ambush that a process meets; null if it meets none. */
  public @Nullable Ambush ambushed(Op op, Path path, String who) {
    for (Ambush a : ambushes) {
      if (a.what() != FaultKind.META_ERROR && a.is(op, path, who) && strike(FaultKind.AMBUSH)) {
        boolean deadly = a.what() != FaultKind.PAUSE;
        return deadly && rng.below(4) > 0 ? null : a; // or all would be dead soon
      }
    }
    return null;
  }

  /** Whether an operation meets an ambush and fails. */
  boolean failsInAmbush(Op op, Path path) {
    for (Ambush a : ambushes) {
      if (a.what() == FaultKind.META_ERROR && a.is(op, path, "") && strike(FaultKind.AMBUSH)) {
        return true;
      }
    }
    return false;
  }

  /**
   * Whether nothing can be made, or written, below a path: as when inodes run out, or the quota of
   * a directory does.
   */
  boolean isFull(Path path, long now) {
    if (!stopped && has(FaultKind.FULL) && strike(FaultKind.FULL)) {
      Path above = path;
      for (int up = rng.below(6); up > 0 && above.getNameCount() > 1; up--) {
        above = Objects.requireNonNull(above.getParent());
      }
      full = above;
      fullUntil = now + rng.spread(1_000_000, LONGEST_FULL_NANOS);
    }
    return !stopped && full != null && now < fullUntil && path.startsWith(full);
  }

  /** Whether the kind is on, for what is a property rather than an event. */
  public boolean has(FaultKind kind) {
    return oneIn[kind.ordinal()] != 0;
  }

  /** Notes one that came by itself. */
  public void count(FaultKind kind) {
    struck[kind.ordinal()]++;
  }

  /** No fault strikes any more. */
  public void stop() {
    stopped = true;
    Arrays.fill(left, Integer.MAX_VALUE);
  }

  public boolean stopped() {
    return stopped;
  }

  /** How often each kind struck, by ordinal. */
  public int[] counts() {
    return struck.clone();
  }

  /** Draws for whatever a fault has to decide. */
  public Rng rng() {
    return rng;
  }
}
