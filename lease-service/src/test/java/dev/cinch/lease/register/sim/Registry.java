package dev.cinch.lease.register.sim;

import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.Revocation;
import dev.cinch.lease.instance.InstanceRegistry;
import dev.cinch.lease.witness.TrustedKeys;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;

/** What the servers of a cell share in a store, where nothing goes wrong. */
final class Registry implements InstanceRegistry {
  static final Id STORE = new Id(7, 7);

  /** How far ahead the clocks of holders may be, and more. */
  private static final long OFF = 1_000 * Plan.MS;

  private final Map<Id, Revocation> revocations = new HashMap<>();

  /** The highest ceiling that any server has published. */
  long ceiling = Long.MIN_VALUE;

  @Override
  public Id store() {
    return STORE;
  }

  @Override
  public void checkClock(long wall) {}

  @Override
  public long clocksApartNanos() {
    return 0;
  }

  @Override
  public long timestampsOffNanos() {
    return OFF;
  }

  @Override
  public long takeNumber() {
    return World.INSTANCE;
  }

  @Override
  public OptionalLong highestEarlierCeiling() {
    return OptionalLong.empty();
  }

  @Override
  public boolean publishCeiling(long published) {
    ceiling = Math.max(ceiling, published);
    return true;
  }

  @Override
  public OptionalLong lastEarlierInstance(LeaseName name) {
    return OptionalLong.empty();
  }

  @Override
  public Set<InstanceRegistry.End> end(List<InstanceRegistry.End> ends) {
    return Set.copyOf(ends);
  }

  @Override
  public Revocation revoked(Revocation revocation) {
    Revocation before = revocations.putIfAbsent(revocation.correlation(), revocation);
    return before == null ? revocation : before;
  }

  @Override
  public TrustedKeys trustedKeys() {
    return TrustedKeys.of(World.KEY);
  }

  @Override
  public boolean isLatest() {
    return true;
  }

  @Override
  public String latest() {
    return "instance " + World.INSTANCE;
  }
}
