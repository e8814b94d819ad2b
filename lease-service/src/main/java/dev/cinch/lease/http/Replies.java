package dev.cinch.lease.http;

import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.http.Endpoints.Sent;
import java.util.Optional;

/** What answers say: values, or errors of the API. */
final class Replies {
  private Replies() {}

  /** Turns an answer's fields into a value. */
  interface Reader<T> {
    T read(Fields fields) throws WireException;
  }

  static <T> T answer(Sent sent, Reader<T> reader) throws LeaseUnavailableException {
    if (sent.answer().status() != 200) {
      throw bad(sent, error(sent).message());
    }
    return read(Wire.JSON, sent, reader);
  }

  static <T> T read(Wire wire, Sent sent, Reader<T> reader) throws LeaseUnavailableException {
    try {
      return reader.read(wire.read(sent.answer().body()));
    } catch (WireException e) {
      throw another(sent, String.valueOf(e.getMessage()));
    }
  }

  static WireReader.Failure error(Sent sent) throws LeaseUnavailableException {
    try {
      return WireReader.failure(Fields.parse(sent.answer().body()));
    } catch (WireException e) {
      throw another(sent, "status " + sent.answer().status() + " without an error of the API");
    }
  }

  /** The refusal that an error stands for; throws if it stands for none. */
  static LeaseRefusedException refusal(Sent sent) throws LeaseUnavailableException {
    WireReader.Failure failure = error(sent);
    Optional<LeaseRefusedException> refusal = failure.refusal();
    if (refusal.isPresent()) {
      return refusal.get();
    }
    if (failure.error().equals(Answer.MALFORMED) || failure.error().equals(Answer.TOO_LARGE)) {
      return new LeaseRefusedException(Reason.INVALID, failure.message(), failure.retryAfterMs());
    }
    throw bad(sent, failure.message());
  }

  /** An answer that no lease service gives. */
  private static LeaseUnavailableException another(Sent sent, String why) {
    return new LeaseUnavailableException(
        "another service answers at " + sent.by() + ": " + why, null);
  }

  static LeaseUnavailableException bad(Sent sent, String message) {
    return new LeaseUnavailableException(
        "the lease service at " + sent.by() + " answered: " + message, null);
  }
}
