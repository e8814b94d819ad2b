package dev.cinch.lease.table;

import java.util.List;

/**
 * Leases have to be ended before what was asked for can be done, so that no later instance resumes
 * them (rule L11). Never leaves a service.
 */
public final class UnendedException extends Exception {
  private static final long serialVersionUID = 1;

  private final transient List<Tenure> tenures;

  /**
   * @param tenures at least one; each has expired
   */
  public UnendedException(List<Tenure> tenures) {
    super("leases to be ended first", null, false, false);
    this.tenures = List.copyOf(tenures);
  }

  public List<Tenure> tenures() {
    return tenures;
  }
}
