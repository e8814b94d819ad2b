package dev.cinch.lease.memory;

import dev.cinch.lease.AcquireRequest;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LogSet;
import java.util.Arrays;
import java.util.List;

/**
 * One acquire request that was granted, made from the rows of its leases when it is asked for:
 * {@link Grants} keeps nothing else. Immutable.
 */
final class GrantEntry {
  final Id id;

  /** Whether its leases are full: asked for so, or upgraded. */
  final boolean full;

  private final String holder;
  private final LogSet logs;
  private final long durationMs;
  private final boolean tentative;
  private final List<String> names;

  /**
   * @param rows its leases as it last left them, in ascending order of names, at least one. The
   *     request and what became of it are the same in each.
   */
  GrantEntry(byte[][] rows, LogSets logSets) {
    LeaseEntry first = LeaseRow.unpack(rows[0], logSets);
    this.id = first.id;
    this.full = first.state == LeaseEntry.State.FULL;
    this.holder = first.holder;
    this.logs = first.askedLogs;
    this.durationMs = first.durationMs;
    this.tentative = first.askedTentative;
    this.names = Arrays.stream(rows).map(LeaseRow::name).toList();
  }

  /** In ascending order. */
  List<String> names() {
    return names;
  }

  /** Whether it is the same request, whose names are given in ascending order. */
  boolean isFor(AcquireRequest request, List<LeaseName> ascending) {
    return holder.equals(request.holder())
        && durationMs == request.durationMs()
        && tentative == request.tentative()
        && logs.equals(request.logs())
        && names.equals(ascending.stream().map(LeaseName::value).toList());
  }
}
