package dev.cinch.lease.memory;

import dev.cinch.lease.AcquireRequest;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import java.util.Arrays;
import java.util.List;

/**
 * One acquire request that was granted, made from the rows of its leases when it is asked for:
 * {@link Grants} keeps nothing else. To be used with its stripe's monitor held, as the rows are.
 */
final class GrantEntry {
  final Id id;

  /** Whether its leases are full: asked for so, or upgraded. */
  final boolean full;

  private final byte[][] rows;
  private final LogSets logSets;
  private final List<String> names;

  /**
   * @param rows its leases as it last left them, in ascending order of names, at least one. The
   *     request and what became of it are the same in each.
   */
  GrantEntry(byte[][] rows, LogSets logSets) {
    this.rows = rows;
    this.logSets = logSets;
    this.id = LeaseRow.id(rows[0]);
    this.full = LeaseRow.isFull(rows[0]);
    this.names =
        rows.length == 1
            ? List.of(LeaseRow.name(rows[0]))
            : Arrays.stream(rows).map(LeaseRow::name).toList();
  }

  /** In ascending order. */
  List<String> names() {
    return names;
  }

  /** The row of a name, which may have been replaced since. */
  byte[] row(int name) {
    return rows[name];
  }

  /** Whether it is the same request, whose names are given in ascending order. */
  boolean isFor(AcquireRequest request, List<LeaseName> ascending) {
    return LeaseRow.unpack(rows[0], logSets).isFor(request)
        && names.equals(ascending.stream().map(LeaseName::value).toList());
  }
}
