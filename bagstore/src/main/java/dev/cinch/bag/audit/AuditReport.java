package dev.cinch.bag.audit;

import java.util.List;

/**
 * What an audit covered and found.
 *
 * @param logs read
 * @param messages settled, of all logs
 * @param unleased those under no lease
 * @param witnesses different signed ones that messages name; one in several buckets counts as often
 * @param leases different ones that messages were written under
 * @param names of them
 * @param handovers from one lease of a name to the next
 * @param fences leases whose predecessor had to be fenced
 * @param violations the first so many, in the order of the logs' names; those of single messages
 *     before those between leases
 * @param violationCount how many there are in all
 */
public record AuditReport(
    long logs,
    long messages,
    long unleased,
    long witnesses,
    long leases,
    long names,
    long handovers,
    long fences,
    List<Violation> violations,
    long violationCount) {
  /** How many violations are kept. */
  public static final int MOST_VIOLATIONS = 1_000;

  public AuditReport {
    violations = List.copyOf(violations);
  }

  /** Whether mutual exclusion held, as far as the files tell. */
  public boolean passed() {
    return violationCount == 0;
  }
}
