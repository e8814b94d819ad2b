package dev.cinch.sim.fs;

import dev.cinch.bag.storage.object.FakeObjects;

/**
 * The object store of a world, which all processes reach. Confined to whichever process runs.
 *
 * @param objects what it has
 */
public final class ObjectServer {
  private static final long LONGEST_AWAY_NANOS = 60_000_000_000L;

  private final FakeObjects objects;
  private final Faults faults;
  private long awayUntil = Long.MIN_VALUE;

  public ObjectServer(FakeObjects objects, Faults faults) {
    this.objects = objects;
    this.faults = faults;
  }

  FakeObjects objects() {
    return objects;
  }

  /** Whether it answers nobody now. */
  boolean isAway(long now) {
    if (faults.strike(FaultKind.OBJECT_AWAY)) {
      awayUntil = now + faults.rng().spread(1_000_000, LONGEST_AWAY_NANOS);
    }
    return !faults.stopped() && now < awayUntil;
  }

  @Override
  public String toString() {
    return objects.toString();
  }
}
