package dev.cinch.lease;

import java.util.List;

/**
 * The leases of one request, as they stand after it: one signed witness a name, in ascending order
 * of names.
 *
 * @param id the request's secret
 * @param witnesses not empty
 * @param handTo the holder that the leases are to be handed over to: whoever holds them is asked to
 *     come to an end and release them. Empty if that was not asked for
 */
public record Grant(Id id, List<SignedWitness> witnesses, String handTo) {
  /**
   * The most logs that its witnesses name, counted once for each witness; as many again in their
   * fences. It bounds what one request makes: an answer has some 57 bytes for each.
   */
  public static final int MAX_LOGS = 10_000;

  public Grant {
    witnesses = List.copyOf(witnesses);
  }

  /** One that nobody asks to hand over. */
  public Grant(Id id, List<SignedWitness> witnesses) {
    this(id, witnesses, "");
  }

  /** The earliest expiry of all its leases. */
  public long expiry() {
    return witnesses.stream().mapToLong(w -> w.witness().expiry()).min().orElseThrow();
  }
}
