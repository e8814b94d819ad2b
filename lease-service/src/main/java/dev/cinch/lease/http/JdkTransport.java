package dev.cinch.lease.http;

import dev.cinch.lease.HostPort;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Over {@link HttpClient}, which knows TLS and proxies. It starts slowly, and its selector makes a
 * process end a third of a second later: Java waits so long for threads in system calls.
 */
final class JdkTransport implements Transport {
  private final HttpClient http;
  private final Patience patience;

  JdkTransport(Patience patience, UnaryOperator<HttpClient.Builder> change) {
    this.patience = patience;
    http = client(patience, change);
  }

  /** A client as it is used here. */
  static HttpClient client(Patience patience, UnaryOperator<HttpClient.Builder> change) {
    return change
        .apply(
            HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .followRedirects(HttpClient.Redirect.NEVER)
                .connectTimeout(patience.connect()))
        .build();
  }

  /**
   * The same address for Java's client, which takes none whose host {@link URI} does not know: then
   * the machine's address stands for its name.
   */
  static URI withHost(URI uri) throws IOException {
    HostPort to = HostPort.of(uri).orElseThrow(() -> new ConnectException("no host in " + uri));
    if (uri.getHost() != null) {
      return uri;
    }
    if (!"http".equalsIgnoreCase(uri.getScheme())) {
      throw new ConnectException("TLS knows no host like " + to.host() + ": name it otherwise");
    }
    String address = InetAddress.getByName(to.host()).getHostAddress();
    String host = address.indexOf(':') < 0 ? address : "[" + address + "]";
    String port = to.port() < 0 ? "" : ":" + to.port();
    String rest = uri.getRawPath() + (uri.getRawQuery() == null ? "" : "?" + uri.getRawQuery());
    return URI.create("http://" + host + port + rest);
  }

  /**
   * {@link HttpRequest.Builder#timeout} would end with the answer's head: a server whose machine
   * dies after that would be waited for for ever, by a renewal too.
   */
  @Override
  public Reply exchange(String method, URI uri, Wire wire, byte @Nullable [] body, Duration more)
      throws IOException, InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(withHost(uri))
            .header("Content-Type", wire.contentType)
            .method(
                method,
                body == null
                    ? HttpRequest.BodyPublishers.noBody()
                    : HttpRequest.BodyPublishers.ofByteArray(body))
            .build();
    CompletableFuture<HttpResponse<byte[]>> answer =
        http.sendAsync(request, head -> new BoundedBody(HttpLeaseClient.MAX_ANSWER_BYTES));
    try {
      HttpResponse<byte[]> got =
          answer.get(patience.answer().plus(more).toNanos(), TimeUnit.NANOSECONDS);
      return new Reply(got.statusCode(), got.body());
    } catch (TimeoutException e) {
      throw new HttpTimeoutException(
          "no whole answer within " + patience.answer().plus(more).toMillis() + " ms");
    } catch (ExecutionException e) {
      Throwable cause = e.getCause();
      if (cause instanceof IOException io) {
        throw io;
      }
      throw new IOException(cause);
    } finally {
      // Nothing to one that has ended; it closes the connection of one that was given up.
      answer.cancel(true);
    }
  }
}
