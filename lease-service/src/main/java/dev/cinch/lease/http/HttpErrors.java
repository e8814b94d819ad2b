package dev.cinch.lease.http;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.TooLongHttpHeaderException;
import io.netty.handler.codec.http.TooLongHttpLineException;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Which requests are wrong by HTTP alone, whatever they ask for, and what they are answered. */
final class HttpErrors {
  /** Those that HTTP defines; what a path wants of them is the routes' matter. */
  private static final Set<String> METHODS =
      Set.of("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH");

  private HttpErrors() {}

  /**
   * What the decoder could not read.
   *
   * @param inBody whether it had read a head
   */
  static Answer undecoded(Throwable cause, boolean inBody) {
    if (cause instanceof TooLongHttpHeaderException) {
      return Answer.error(431, Answer.HEADERS_TOO_LARGE, "the headers have more than 8192 bytes");
    }
    if (cause instanceof TooLongHttpLineException && !inBody) {
      return Answer.error(414, Answer.URI_TOO_LONG, "the first line has more than 4096 bytes");
    }
    return malformed(inBody ? "the body's chunks are not HTTP/1.1" : "not a request of HTTP/1.1");
  }

  /** What is wrong with a head; null if nothing is. */
  static @Nullable Answer of(HttpRequest request) {
    HttpVersion version = request.protocolVersion();
    HttpHeaders headers = request.headers();
    String method = request.method().name();
    if (!version.equals(HttpVersion.HTTP_1_1) && !version.equals(HttpVersion.HTTP_1_0)) {
      return Answer.error(505, Answer.VERSION, "HTTP/1.1 is spoken here, not " + version);
    }
    if (!METHODS.contains(method)) {
      return Answer.error(501, Answer.NOT_IMPLEMENTED, "there is no method " + method);
    }
    List<String> codings = headers.getAll(HttpHeaderNames.TRANSFER_ENCODING);
    if (!codings.isEmpty() && !(codings.size() == 1 && is("chunked", codings.get(0)))) {
      return Answer.error(
          501, Answer.NOT_IMPLEMENTED, "the one transfer coding is chunked, not " + codings);
    }
    if (headers.getAll(HttpHeaderNames.HOST).size() != 1 && version.equals(HttpVersion.HTTP_1_1)) {
      return malformed("a request has one Host");
    }
    if (tooLong(headers.get(HttpHeaderNames.CONTENT_LENGTH))) {
      return tooLarge();
    }
    for (String coding : headers.getAll(HttpHeaderNames.CONTENT_ENCODING)) {
      if (!is("identity", coding)) {
        return unsupported("a body is sent as it is, not with the coding " + coding);
      }
    }
    List<String> types = headers.getAll(HttpHeaderNames.CONTENT_TYPE);
    if (hasBody(request) && (types.size() != 1 || Wire.named(types.get(0)).isEmpty())) {
      // What forms and pages send without asking is of other types, or of none.
      return unsupported(
          "a body has one Content-Type, application/json or application/cbor, not " + types);
    }
    for (String type : types) {
      for (String parameter : type.split(";", -1)) {
        int equals = parameter.indexOf('=');
        if (equals >= 0
            && is("charset", parameter.substring(0, equals))
            && !is("utf-8", parameter.substring(equals + 1).replace("\"", ""))) {
          return unsupported("a body is UTF-8, not" + parameter.replace("charset=", ""));
        }
      }
    }
    return null;
  }

  private static boolean hasBody(HttpRequest request) {
    String length = request.headers().get(HttpHeaderNames.CONTENT_LENGTH);
    return (length != null && !length.strip().equals("0"))
        || request.headers().contains(HttpHeaderNames.TRANSFER_ENCODING);
  }

  static Answer tooLarge() {
    return Answer.error(
        413, Answer.TOO_LARGE, "a body has at most " + LeaseServer.MAX_BODY_BYTES + " bytes");
  }

  private static boolean tooLong(@Nullable String length) {
    try {
      return length != null && Long.parseLong(length.strip()) > LeaseServer.MAX_BODY_BYTES;
    } catch (NumberFormatException e) {
      return false; // the decoder has refused what is no number
    }
  }

  static Answer malformed(String message) {
    return Answer.error(400, Answer.MALFORMED, message);
  }

  private static Answer unsupported(String message) {
    return Answer.error(415, Answer.UNSUPPORTED, message);
  }

  private static boolean is(String expected, String given) {
    return given.strip().toLowerCase(Locale.ROOT).equals(expected);
  }
}
