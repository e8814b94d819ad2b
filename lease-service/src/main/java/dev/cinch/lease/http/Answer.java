package dev.cinch.lease.http;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.lease.LeaseRefusedException;

/**
 * What the server answers.
 *
 * @param status of HTTP
 * @param body a JSON object
 */
record Answer(int status, ObjectNode body) {
  static final String MALFORMED = "MALFORMED";
  static final String NO_SUCH_PATH = "NO_SUCH_PATH";
  static final String UNKNOWN_NAME = "UNKNOWN_NAME";
  static final String METHOD = "METHOD";
  static final String TOO_LARGE = "TOO_LARGE";
  static final String OVERLOADED = "OVERLOADED";
  static final String UNAVAILABLE = "UNAVAILABLE";
  static final String INTERNAL = "INTERNAL";

  private static final int MAX_MESSAGE = 280;

  static Answer ok(ObjectNode body) {
    return new Answer(200, body);
  }

  static Answer error(int status, String error, String message) {
    return error(status, error, message, 0);
  }

  static Answer error(int status, String error, String message, long retryAfterMs) {
    return new Answer(status, WireWriter.error(error, shown(message), retryAfterMs));
  }

  /**
   * One line that JSON can say, whatever a client sent and a message repeats: no control characters
   * and no half of a surrogate pair, for which the writer of JSON would throw.
   */
  private static String shown(String message) {
    String some = message.length() <= MAX_MESSAGE ? message : message.substring(0, MAX_MESSAGE);
    var line = new StringBuilder(MAX_MESSAGE + 1);
    some.codePoints()
        .map(c -> Character.isISOControl(c) || c >= 0xD800 && c <= 0xDFFF ? '?' : c)
        .forEach(line::appendCodePoint);
    return some.length() < message.length() ? line.append('…').toString() : line.toString();
  }

  static Answer refusal(LeaseRefusedException e) {
    int status =
        switch (e.reason()) {
          case INVALID -> 400;
          case HELD -> 409;
          case NOT_HELD -> 410;
          case SUPERSEDED -> 421;
          case WATERMARK -> 422;
          case NOT_YET -> 503;
        };
    return error(status, e.reason().name(), String.valueOf(e.getMessage()), e.retryAfterMs());
  }
}
