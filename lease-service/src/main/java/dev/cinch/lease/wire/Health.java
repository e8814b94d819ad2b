package dev.cinch.lease.wire;

import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.ServiceInfo;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * How a lease service is, for {@code GET /healthz} and {@code GET /readyz}. Immutable.
 *
 * @param instance its number; empty while it starts
 * @param store the id of the store that it serves; empty without one
 * @param obstacle why it grants no leases at the moment; empty if it does
 */
public record Health(
    OptionalLong instance, String store, Optional<LeaseRefusedException> obstacle) {

  /** Of a service that listens and has not started yet. */
  public static Health starting(String store) {
    return new Health(
        OptionalLong.empty(),
        store,
        Optional.of(
            new LeaseRefusedException(Reason.NOT_YET, "the lease service is starting", 1_000)));
  }

  /** What can be told from what a service says about itself. */
  public static Health of(ServiceInfo info) {
    long wait = Math.max(info.quarantineLeftMs(), info.clockBehindMs());
    Optional<LeaseRefusedException> obstacle =
        info.superseded()
            ? Optional.of(
                new LeaseRefusedException(
                    Reason.SUPERSEDED, "a later instance of the lease service has taken over", 0))
            : wait > 0
                ? Optional.of(
                    new LeaseRefusedException(
                        Reason.NOT_YET, "the service grants in " + wait + " ms", wait))
                : Optional.empty();
    return new Health(OptionalLong.of(info.instance()), "", obstacle);
  }
}
