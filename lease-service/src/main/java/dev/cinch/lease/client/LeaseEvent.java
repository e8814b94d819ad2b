package dev.cinch.lease.client;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.wire.LeaseDocuments;
import java.util.Locale;
import java.util.Optional;

/**
 * What a {@link LeaseWatch} tells.
 *
 * @param lease as it is since; empty for {@link Kind#SYNCED}
 */
@CheckReturnValue
public record LeaseEvent(Kind kind, Optional<LeaseInfo> lease) {
  /** What happened. */
  public enum Kind {
    /** Held as the watch began. */
    HELD,
    /** All that was held then has been told. */
    SYNCED,
    /** Granted, resumed, or upgraded. */
    GRANTED,
    RELEASED,
    EXPIRED,
    REVOKED;

    private String word() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** As one object: {@code event}, and {@code lease} as a listing has it. */
  public ObjectNode json() {
    ObjectNode out = LeaseDocuments.object().put("event", kind.word());
    lease.ifPresent(l -> out.set("lease", LeaseDocuments.json(l)));
    return out;
  }
}
