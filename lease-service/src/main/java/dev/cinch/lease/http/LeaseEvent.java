package dev.cinch.lease.http;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseInfo;
import java.util.Locale;
import java.util.Optional;

/**
 * What a watch tells (docs/lease-api.md).
 *
 * @param lease as it is since; empty for {@link Kind#SYNCED} and {@link Kind#LAGGED}
 */
@CheckReturnValue
public record LeaseEvent(Kind kind, Optional<LeaseInfo> lease) {
  /** What happened. */
  public enum Kind {
    /** Held as the watch began, or began anew. */
    HELD,
    /** All that was held then has been told. */
    SYNCED,
    /** Granted, resumed, or upgraded. */
    GRANTED,
    RELEASED,
    EXPIRED,
    REVOKED,
    /** Changes were not told, since they were not taken or the server ended: it begins anew. */
    LAGGED;

    private String word() {
      return name().toLowerCase(Locale.ROOT);
    }

    /** What it means that a lease is in a state from now on. */
    static Kind of(LeaseInfo.State state) {
      return switch (state) {
        case HELD, TENTATIVE -> GRANTED;
        case REVOKED -> REVOKED;
        case RELEASED -> RELEASED;
        case EXPIRED -> EXPIRED;
      };
    }
  }

  static LeaseEvent of(Kind kind) {
    return new LeaseEvent(kind, Optional.empty());
  }

  /** As one object: {@code event}, and {@code lease} as a listing has it. */
  public ObjectNode json() {
    ObjectNode out = LeaseDocuments.object().put("event", kind.word());
    lease.ifPresent(l -> out.set("lease", LeaseDocuments.info(l)));
    return out;
  }

  static LeaseEvent read(JsonFields in) throws WireException {
    String word = in.text("event");
    for (Kind kind : Kind.values()) {
      if (kind.word().equals(word)) {
        Optional<LeaseInfo> lease =
            in.has("lease") ? Optional.of(WireReader.info(in.object("lease"))) : Optional.empty();
        in.noOthers();
        return new LeaseEvent(kind, lease);
      }
    }
    throw in.wrong("event", "an event");
  }

  /**
   * The same text of an event, with an id.
   *
   * @param text of an event without one
   */
  static String withId(String text, String id) {
    return text.substring(0, text.length() - 1) + "id: " + id + "\n\n";
  }

  /** As the stream of server-sent events has it, without an id. */
  String text() {
    return "event: " + kind.word() + "\ndata: " + json() + "\n\n";
  }
}
