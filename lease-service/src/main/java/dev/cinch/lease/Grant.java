package dev.cinch.lease;

import java.util.List;

/**
 * The leases of one request, as they stand after it: one signed witness a name, in ascending order
 * of names.
 *
 * @param id the request's secret
 * @param witnesses not empty
 */
public record Grant(Id id, List<SignedWitness> witnesses) {
  public Grant {
    witnesses = List.copyOf(witnesses);
  }

  /** The earliest expiry of all its leases. */
  public long expiry() {
    return witnesses.stream().mapToLong(w -> w.witness().expiry()).min().orElseThrow();
  }
}
