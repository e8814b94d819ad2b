package dev.cinch.lease.cell;

import dev.cinch.lease.cell.Message.Learn;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a node has heard of leases (PaxosLease, 3.4): hints for whom to ask, on which no node may
 * act as owner, or take a name for free (rule P6). Not thread-safe.
 */
public final class Learner {
  /**
   * A lease as its owner told.
   *
   * @param until by this node's clock; later than the owner's end by as long as the message took
   */
  public record Hint(Ballot ballot, long until, Bytes value) {}

  private final Map<Bytes, Hint> hints = new HashMap<>();

  /** Takes a message; those that are not for learners are ignored. */
  public void receive(Message message, long now) {
    if (message instanceof Learn learn) {
      Hint known = hints.get(learn.name());
      if (known == null || known.until() <= now || !learn.ballot().below(known.ballot())) {
        if (learn.nanos() > 0) {
          hints.put(learn.name(), new Hint(learn.ballot(), now + learn.nanos(), learn.value()));
        } else if (known != null && known.ballot().sameOwner(learn.ballot())) {
          hints.remove(learn.name());
        }
      }
    }
  }

  /** Who is said to hold a name now. */
  public @Nullable Hint query(Bytes name, long now) {
    Hint hint = hints.get(name);
    return hint == null || hint.until() <= now ? null : hint;
  }

  /** Forgets what has ended. */
  public void sweep(long now) {
    hints.values().removeIf(hint -> hint.until() <= now);
  }
}
