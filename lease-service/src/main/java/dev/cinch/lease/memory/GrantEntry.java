package dev.cinch.lease.memory;

import dev.cinch.lease.AcquireRequest;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LogSet;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * One acquire request that was granted. {@link Grants} keeps those of several names; one of a
 * single name is made from its lease's row when it is asked for. Guarded by its stripe.
 */
final class GrantEntry {
  private static final String SEPARATOR = "\n";

  final Id id;
  final String holder;
  final LogSet logs;
  final long durationMs;
  final boolean tentative;

  /** Whether its leases are full: asked for so, or upgraded. */
  boolean full;

  /** The highest expiry of its leases, nanoseconds since the Unix epoch. */
  long expiry;

  /** In ascending order, in one array: there may be a thousand. */
  private final byte[] names;

  GrantEntry(AcquireRequest request, List<LeaseName> ascending, long expiry) {
    this.id = request.id();
    this.holder = request.holder();
    this.logs = request.logs();
    this.durationMs = request.durationMs();
    this.tentative = request.tentative();
    this.full = !request.tentative();
    this.expiry = expiry;
    this.names = packed(ascending.stream().map(LeaseName::value).toList());
  }

  /** Of one name, as its lease remembers it. */
  GrantEntry(LeaseEntry lease) {
    this.id = lease.id;
    this.holder = lease.holder;
    this.logs = lease.askedLogs;
    this.durationMs = lease.durationMs;
    this.tentative = lease.askedTentative;
    this.full = lease.state == LeaseEntry.State.FULL;
    this.expiry = lease.expiry;
    this.names = packed(List.of(lease.name));
  }

  private static byte[] packed(List<String> names) {
    return String.join(SEPARATOR, names).getBytes(StandardCharsets.US_ASCII);
  }

  /** In ascending order. */
  List<String> names() {
    return List.of(new String(names, StandardCharsets.US_ASCII).split(SEPARATOR, -1));
  }

  /** Whether it is the same request, whose names are given in ascending order. */
  boolean isFor(AcquireRequest request, List<LeaseName> ascending) {
    return holder.equals(request.holder())
        && durationMs == request.durationMs()
        && tentative == request.tentative()
        && logs.equals(request.logs())
        && names().equals(ascending.stream().map(LeaseName::value).toList());
  }
}
