package dev.cinch.lease.wire;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.OneLine;
import java.util.Map;

/**
 * What the server answers.
 *
 * @param status of HTTP
 * @param body a JSON object
 * @param headers beside those that every answer has
 */
public record Answer(int status, ObjectNode body, Map<String, String> headers) {
  /** What says which answer this is; a reader that has it sends it as {@code If-None-Match}. */
  public static final String TAG = "ETag";

  public static final String MALFORMED = "MALFORMED";
  public static final String NO_SUCH_PATH = "NO_SUCH_PATH";
  public static final String UNKNOWN_NAME = "UNKNOWN_NAME";
  public static final String METHOD = "METHOD";
  public static final String FORBIDDEN = "FORBIDDEN";
  public static final String TIMEOUT = "TIMEOUT";
  public static final String TOO_LARGE = "TOO_LARGE";
  public static final String URI_TOO_LONG = "URI_TOO_LONG";
  public static final String UNSUPPORTED = "UNSUPPORTED";
  public static final String HEADERS_TOO_LARGE = "HEADERS_TOO_LARGE";
  public static final String NOT_IMPLEMENTED = "NOT_IMPLEMENTED";
  public static final String VERSION = "VERSION";
  public static final String OVERLOADED = "OVERLOADED";
  public static final String UNAVAILABLE = "UNAVAILABLE";
  public static final String INTERNAL = "INTERNAL";

  /** The longest message of an error, less the sign that it was cut. */
  public static final int MAX_MESSAGE = 280;

  public static Answer ok(ObjectNode body) {
    return new Answer(200, body, Map.of());
  }

  /** The one that its reader has. */
  public static Answer unchanged(String tag) {
    return new Answer(304, LeaseDocuments.object(), Map.of(TAG, tag));
  }

  public Answer tagged(String tag) {
    return new Answer(status, body, Map.of(TAG, tag));
  }

  public static Answer error(int status, String error, String message) {
    return error(status, error, message, 0);
  }

  public static Answer error(int status, String error, String message, long retryAfterMs) {
    // A client's text is repeated here; of half a surrogate pair the writer of JSON would throw.
    String line = OneLine.of(message, MAX_MESSAGE);
    return new Answer(status, failure(error, line, retryAfterMs), Map.of());
  }

  private static ObjectNode failure(String error, String line, long retryAfterMs) {
    return Fields.write(
        LeaseDocuments::failure, new LeaseDocuments.Failure(error, line, retryAfterMs));
  }

  /** Of a path that has other methods, which {@code Allow} names. */
  public static Answer otherMethod(String path, String method, String allow) {
    Answer error = error(405, METHOD, path + " wants " + allow + ", not " + method);
    return new Answer(error.status, error.body, Map.of("Allow", allow));
  }

  public static Answer refusal(LeaseRefusedException e) {
    int status =
        switch (e.reason()) {
          case INVALID -> 400;
          case HELD, OTHER_INSTANCE, NOT_MET -> 409;
          case FORBIDDEN -> 403;
          case NOT_HELD -> 410;
          case SUPERSEDED, OTHER_SHARD -> 421;
          case WATERMARK -> 422;
          case NOT_YET -> 503;
        };
    return error(status, e.reason().name(), String.valueOf(e.getMessage()), e.retryAfterMs());
  }
}
