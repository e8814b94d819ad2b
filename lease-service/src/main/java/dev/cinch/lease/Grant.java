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
  /**
   * The most logs that its witnesses name, counted once for each witness; as many again in their
   * fences. It bounds what one request makes: an answer has some 57 bytes for each.
   */
  public static final int MAX_LOGS = 10_000;

  public Grant {
    witnesses = List.copyOf(witnesses);
  }

  /** The earliest expiry of all its leases. */
  public long expiry() {
    return witnesses.stream().mapToLong(w -> w.witness().expiry()).min().orElseThrow();
  }
}
