package dev.cinch.lease.http;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.HostPort;
import java.net.ConnectException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * One request of HTTP/1.1. Sending it leaves the buffers as they are. Immutable as long as nobody
 * changes these.
 *
 * @param method any but HEAD, whose answers have a length and no body
 * @param uri whose path and query are sent as they are written
 * @param headers all but {@code Host} and {@code Content-Length}
 * @param body parts that follow each other; empty for a request without a body
 * @param wanted names of the answer's headers that are kept, in small letters
 */
@CheckReturnValue
public record Request(
    String method,
    URI uri,
    Map<String, String> headers,
    Optional<List<ByteBuffer>> body,
    Set<String> wanted) {

  /** What a client says as {@code Host}. */
  public static String host(URI uri) throws ConnectException {
    HostPort to = hostPort(uri);
    String host = to.host();
    if (host.indexOf('%') >= 0) {
      host = host.replaceFirst("%[^]]*", ""); // no zone
    }
    return to.port() < 0 ? host : host + ":" + to.port();
  }

  static HostPort hostPort(URI uri) throws ConnectException {
    return HostPort.of(uri).orElseThrow(() -> new ConnectException("no host in " + uri));
  }

  /** As it is sent. */
  ByteBuffer[] parts() throws ConnectException {
    // Not by "+": the first time Java needs 20 ms to put so many parts together.
    var head = new StringBuilder(method).append(' ');
    head.append(uri.getRawPath().isEmpty() ? "/" : uri.getRawPath());
    if (uri.getRawQuery() != null) {
      head.append('?').append(uri.getRawQuery());
    }
    head.append(" HTTP/1.1\r\nHost: ").append(host(uri));
    headers.forEach((name, value) -> head.append("\r\n").append(name).append(": ").append(value));
    List<ByteBuffer> sent = body.orElse(List.of());
    if (body.isPresent()) {
      long length = 0;
      for (ByteBuffer part : sent) {
        length += part.remaining();
      }
      head.append("\r\nContent-Length: ").append(length);
    }
    head.append("\r\n\r\n");
    var parts = new ByteBuffer[1 + sent.size()];
    parts[0] = ByteBuffer.wrap(head.toString().getBytes(UTF_8));
    for (int i = 0; i < sent.size(); i++) {
      parts[1 + i] = sent.get(i).duplicate();
    }
    return parts;
  }
}
