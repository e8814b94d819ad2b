package dev.cinch.lease.memory;

import dev.cinch.lease.table.Tenure;
import java.util.List;

/**
 * Leases have to be ended before what was asked for can be done, so that no later instance resumes
 * them (rule L11). Never leaves the service.
 */
final class UnendedException extends Exception {
  private static final long serialVersionUID = 1;

  private final transient List<Tenure> tenures;

  /**
   * @param tenures at least one; each has expired
   */
  UnendedException(List<Tenure> tenures) {
    super("leases to be ended first", null, false, false);
    this.tenures = List.copyOf(tenures);
  }

  List<Tenure> tenures() {
    return tenures;
  }
}
