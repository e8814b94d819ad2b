package dev.cinch.lease.http;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseUnavailableException;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;

/**
 * What becomes of leases, from {@link HttpLeaseClient#watch}. First come those that are held, each
 * as {@link LeaseEvent.Kind#HELD}, then {@link LeaseEvent.Kind#SYNCED}, and then each change. A
 * change that was made meanwhile may come twice. A watch that goes on where another one ended first
 * tells what that one missed, or {@link LeaseEvent.Kind#LAGGED} if that is not known. One thread
 * reads, and any may close.
 */
@CheckReturnValue
public final class LeaseWatch implements AutoCloseable {
  /** The service says something every 15 s. */
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private static final String DATA = "data: ";

  private static final String ID = "id: ";

  private final URI uri;
  private final EventBody body;

  /** Of the last event that had one. */
  private volatile String lastId = "";

  private LeaseWatch(URI uri, EventBody body) {
    this.uri = uri;
    this.body = body;
  }

  /**
   * @param patience for the answer's head
   */
  static LeaseWatch open(HttpClient client, URI uri, Duration patience)
      throws LeaseUnavailableException {
    try {
      HttpResponse<EventBody> answer =
          client.send(
              HttpRequest.newBuilder(JdkTransport.withHost(uri)).timeout(patience).build(),
              head -> new EventBody());
      var watch = new LeaseWatch(uri, answer.body());
      if (answer.statusCode() != 200) {
        watch.close();
        throw new LeaseUnavailableException(
            "the lease service at " + uri + " answered with status " + answer.statusCode(), null);
      }
      String type = answer.headers().firstValue("Content-Type").orElse("");
      if (!type.startsWith(Watching.CONTENT_TYPE)) {
        watch.close();
        throw new LeaseUnavailableException(
            "another service answers at " + uri + ": not with " + Watching.CONTENT_TYPE, null);
      }
      return watch;
    } catch (IOException e) {
      throw new LeaseUnavailableException(
          "no answer from the lease service at " + uri + ": " + e.getMessage(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new LeaseUnavailableException("interrupted while asking " + uri, e);
    }
  }

  /**
   * Waits for the next event.
   *
   * @throws LeaseUnavailableException if none will come: the watch was closed, or the service or
   *     the connection ended. A new watch begins with what is held then
   */
  public LeaseEvent next() throws LeaseUnavailableException {
    try {
      String data = "";
      while (true) {
        String line = body.line(PATIENCE);
        if (line.startsWith(DATA)) {
          data = line.substring(DATA.length());
        } else if (line.startsWith(ID)) {
          lastId = line.substring(ID.length());
        } else if (line.isEmpty() && !data.isEmpty()) {
          return LeaseEvent.read(Fields.parse(data.getBytes(UTF_8)));
        }
      }
    } catch (IOException | WireException e) {
      close();
      throw new LeaseUnavailableException("the watch of " + uri + " ended: " + e.getMessage(), e);
    } catch (InterruptedException e) {
      close();
      Thread.currentThread().interrupt();
      throw new LeaseUnavailableException("interrupted while watching " + uri, e);
    }
  }

  /**
   * Where a later watch of the same leases can go on: the id of the last event that had one. Empty
   * before all that was held at first is told.
   */
  public String lastId() {
    return lastId;
  }

  /** Ends it; a thread that waits in {@link #next} is told so. */
  @Override
  public void close() {
    body.close();
  }
}
