package dev.cinch.lease;

import java.util.List;

/**
 * What anyone may know about a name: its last witness, whether it is held now, and where its recent
 * messages stand. The secret id is not in it.
 *
 * @param witness as last issued, without its signature
 * @param state as of the service's signed time
 * @param recent newest first
 */
public record LeaseInfo(Witness witness, State state, List<LeaseReport.Metadata> recent) {
  /** Of a name that the service remembers. */
  public enum State {
    HELD,
    TENTATIVE,
    /** Not to be prolonged any more, but for its holder to write under until it expires (L15). */
    REVOKED,
    RELEASED,
    EXPIRED;

    /** Whether its time is not over, and nobody gave it back. */
    public boolean isHeld() {
      return this == HELD || this == TENTATIVE || this == REVOKED;
    }

    /** Whether a lease so excludes everyone else. */
    public boolean excludes() {
      return this == HELD || this == REVOKED;
    }
  }

  public LeaseInfo {
    recent = List.copyOf(recent);
  }

  /** The same in another state. */
  public LeaseInfo withState(State other) {
    return new LeaseInfo(witness, other, recent);
  }
}
