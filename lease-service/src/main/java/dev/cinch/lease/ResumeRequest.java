package dev.cinch.lease;

import java.util.List;

/**
 * Asks an instance to go on with the leases of a grant that an earlier instance signed (rule L10),
 * all or nothing.
 *
 * @param id the secret of the grant
 * @param witnesses the newest ones of the grant, one a name, all of one instance
 * @param durationMs how long the leases last from when the service resumes them, 1 to the longest
 *     lease time
 */
public record ResumeRequest(Id id, List<SignedWitness> witnesses, long durationMs) {
  public ResumeRequest {
    witnesses = List.copyOf(witnesses);
  }
}
