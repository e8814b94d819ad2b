package dev.cinch.lease.client;

import dev.cinch.lease.http.HttpConnections;
import dev.cinch.lease.http.HttpConnections.Patience;
import dev.cinch.lease.http.Reply;
import dev.cinch.lease.http.Request;
import dev.cinch.lease.wire.JsonFields;
import java.io.IOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** JSON to one lease server and back, over connections that are kept. */
final class HttpTransport implements Endpoints.Transport {
  private static final int NOT_MODIFIED = 304;

  /** How many connections are kept that nobody uses. */
  private static final int IDLE = 8;

  private final Patience patience;
  private final Optional<String> token;
  private final HttpConnections connections;
  private final Known known = new Known();

  HttpTransport(Patience patience, Credentials credentials) {
    this.patience = patience;
    token = credentials.token();
    connections = new HttpConnections(IDLE, credentials.tls());
  }

  @Override
  public Answered exchange(String method, URI uri, byte @Nullable [] body, Duration more)
      throws IOException, InterruptedException {
    Known.Tagged before = method.equals("GET") ? known.get(uri) : null;
    var headers = new LinkedHashMap<String, String>();
    headers.put("Content-Type", JsonFields.CONTENT_TYPE);
    token.ifPresent(t -> headers.put("Authorization", "Bearer " + t));
    if (before != null) {
      headers.put("If-None-Match", before.tag());
    }
    var parts = Optional.ofNullable(body).map(ByteBuffer::wrap).map(List::of);
    var request = new Request(method, uri, headers, parts, Set.of("etag"));
    var wait = new Patience(patience.connect(), patience.answer().plus(more));
    try (Reply reply = connections.ask(request, wait)) {
      byte[] all = reply.whole(HttpLeaseClient.MAX_ANSWER_BYTES);
      if (before != null && reply.status() == NOT_MODIFIED) {
        return before.answer();
      }
      var answer = new Answered(reply.status(), all);
      reply.header("etag").ifPresent(tag -> known.put(uri, tag, answer));
      return answer;
    }
  }

  /** The last answers that have a tag: a server need not send them again. Thread-safe. */
  private static final class Known {
    private static final int MOST = 64;
    private static final int MOST_BYTES = 256 << 10;

    private record Tagged(String tag, Answered answer) {}

    private final Map<URI, Tagged> answers =
        new LinkedHashMap<>(16, 0.75f, true) {
          @Override
          protected boolean removeEldestEntry(Map.Entry<URI, Tagged> eldest) {
            return size() > MOST;
          }
        };

    synchronized @Nullable Tagged get(URI uri) {
      return answers.get(uri);
    }

    synchronized void put(URI uri, String tag, Answered answer) {
      if (!tag.isEmpty() && answer.body().length <= MOST_BYTES) {
        answers.put(uri, new Tagged(tag, answer));
      }
    }
  }
}
