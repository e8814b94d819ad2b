package dev.cinch.lease.server;

import dev.cinch.lease.HostPort;
import dev.cinch.lease.wire.Answer;
import dev.cinch.lease.wire.JsonFields;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpVersion;
import org.eclipse.jetty.server.Request;
import org.jspecify.annotations.Nullable;

/**
 * Who may ask, and with what bodies. A browser sends what any page tells it, to every address that
 * its machine reaches; it says which page, and what name the page had for this server. So pages of
 * other origins are refused, and names that are not this server's: their owners can have them lead
 * here. Immutable.
 */
final class Callers {
  private static final String SEC_FETCH_SITE = "Sec-Fetch-Site";

  private final Set<String> names;

  /**
   * @param names that the server has, beside {@code localhost} and addresses; in any case
   */
  Callers(Collection<String> names) {
    this.names =
        names.stream().map(n -> new HostPort(n, -1).name()).collect(Collectors.toUnmodifiableSet());
  }

  /** Why a request is refused, whatever it asks for; null if it is not. */
  @Nullable Answer refusal(Request request) {
    for (String coding : request.getHeaders().getValuesList(HttpHeader.TRANSFER_ENCODING)) {
      if (!is("chunked", coding)) {
        return Answer.error(501, Answer.NOT_IMPLEMENTED, "no Transfer-Encoding but chunked");
      }
      if (request.getConnectionMetaData().getHttpVersion() != HttpVersion.HTTP_1_1) {
        // Another server before this one may have taken it for a request without a body.
        return Answer.error(400, Answer.MALFORMED, "chunks are of HTTP/1.1");
      }
    }
    Answer unsupported = unsupported(request.getHeaders());
    return unsupported == null ? forbidden(request) : unsupported;
  }

  private static @Nullable Answer unsupported(HttpFields headers) {
    for (String coding : headers.getValuesList(HttpHeader.CONTENT_ENCODING)) {
      if (!is("identity", coding)) {
        return unsupported("a body is sent as it is, not with the coding " + coding);
      }
    }
    List<String> types = headers.getValuesList(HttpHeader.CONTENT_TYPE);
    String length = headers.get(HttpHeader.CONTENT_LENGTH);
    boolean hasBody =
        (length != null && !length.strip().equals("0"))
            || headers.contains(HttpHeader.TRANSFER_ENCODING);
    if (hasBody
        && (types.size() != 1 || !is(JsonFields.CONTENT_TYPE, types.get(0).split(";", 2)[0]))) {
      // What forms and pages send without asking is of other types, or of none.
      return unsupported("a body has one Content-Type, application/json, not " + types);
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

  private static Answer unsupported(String message) {
    return Answer.error(415, Answer.UNSUPPORTED, message);
  }

  private static boolean is(String expected, String given) {
    return given.strip().toLowerCase(Locale.ROOT).equals(expected);
  }

  private @Nullable Answer forbidden(Request request) {
    List<String> hosts = request.getHeaders().getValuesList(HttpHeader.HOST);
    for (String host : hosts) {
      if (!isOurs(host)) {
        return foreign(host);
      }
    }
    String asked = request.getHttpURI().getAuthority();
    if (asked != null && !isOurs(asked)) {
      return foreign(asked);
    }
    for (String origin : request.getHeaders().getValuesList(HttpHeader.ORIGIN)) {
      if (hosts.stream().noneMatch(host -> isOf(host, origin))) {
        return forbidden("a page of " + origin + " has sent this: no other origin's page may");
      }
    }
    boolean reads = request.getMethod().equals("GET") || request.getMethod().equals("HEAD");
    for (String site : request.getHeaders().getValuesList(SEC_FETCH_SITE)) {
      // "none" is what somebody typed in, and that can only be looked at.
      if (!site.equals("same-origin") && !(reads && (site.equals("none") || isLink(request)))) {
        return forbidden("a page has sent this with Sec-Fetch-Site: " + site);
      }
    }
    return null;
  }

  /** Whether somebody followed a link to the dashboard, which fills a tab and tells nothing. */
  private static boolean isLink(Request request) {
    return Dashboard.PAGE.equals(request.getHttpURI().getPath())
        && request.getHeaders().getValuesList("Sec-Fetch-Mode").equals(List.of("navigate"))
        && request.getHeaders().getValuesList("Sec-Fetch-Dest").equals(List.of("document"));
  }

  private boolean isOurs(String given) {
    return HostPort.parse(given)
        .filter(h -> h.isAddress() || h.name().equals("localhost") || names.contains(h.name()))
        .isPresent();
  }

  private static boolean isOf(String host, String origin) {
    return origin.equalsIgnoreCase("http://" + host) || origin.equalsIgnoreCase("https://" + host);
  }

  private static Answer foreign(String host) {
    return forbidden(
        "this server is not known as "
            + (host.isEmpty() ? "\"\"" : host)
            + ": ask it by its address, or start it with --advertise http://NAME:PORT");
  }

  private static Answer forbidden(String message) {
    return Answer.error(403, Answer.FORBIDDEN, message);
  }
}
