package dev.cinch.lease.http;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.time.SystemTime;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
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

  /** Of one line, bytes: a lease with the most logs has less. */
  private static final int MOST = 1 << 20;

  private final URI uri;
  private final Connection connection;
  private final InputStream body;

  /** Of the last event that had one. */
  private volatile String lastId = "";

  private LeaseWatch(URI uri, Connection connection, InputStream body) {
    this.uri = uri;
    this.connection = connection;
    this.body = body;
  }

  static LeaseWatch open(HttpTransport by, URI uri) throws LeaseUnavailableException {
    Connection connection = null;
    boolean opened = false;
    try {
      connection = by.open(uri);
      var reply = new Reply(connection.in());
      if (reply.status() != 200) {
        throw new LeaseUnavailableException(
            "the lease service at " + uri + " answered with status " + reply.status(), null);
      }
      if (!reply.type().startsWith(WatchEndpoint.CONTENT_TYPE)) {
        throw new LeaseUnavailableException(
            "another service answers at " + uri + ": not with " + WatchEndpoint.CONTENT_TYPE, null);
      }
      opened = true;
      return new LeaseWatch(uri, connection, reply.body());
    } catch (IOException e) {
      if (Thread.currentThread().isInterrupted()) {
        throw new LeaseUnavailableException("interrupted while asking " + uri, e);
      }
      throw new LeaseUnavailableException(
          "no answer from the lease service at " + uri + ": " + Endpoints.reason(e), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new LeaseUnavailableException("interrupted while asking " + uri, e);
    } finally {
      if (!opened && connection != null) {
        connection.close();
      }
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
        String line = line();
        if (line.startsWith(DATA)) {
          data = line.substring(DATA.length());
        } else if (line.startsWith(ID)) {
          lastId = line.substring(ID.length());
        } else if (line.isEmpty() && !data.isEmpty()) {
          return LeaseEvent.read(JsonFields.parse(data.getBytes(UTF_8)));
        }
      }
    } catch (IOException | WireException e) {
      close();
      if (Thread.currentThread().isInterrupted()) {
        throw new LeaseUnavailableException("interrupted while watching " + uri, e);
      }
      String why = e instanceof IOException io ? Endpoints.reason(io) : e.getMessage();
      throw new LeaseUnavailableException("the watch of " + uri + " ended: " + why, e);
    }
  }

  private String line() throws IOException {
    connection.until(SystemTime.INSTANCE.monotonicNanos() + PATIENCE.toNanos());
    var line = new ByteArrayOutputStream();
    for (int b = body.read(); b != '\n'; b = body.read()) {
      if (b < 0) {
        throw new EOFException("the stream ended");
      }
      if (line.size() >= MOST) {
        throw new IOException("a line has more than " + MOST + " bytes");
      }
      line.write(b);
    }
    return line.toString(UTF_8);
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
    connection.close();
  }
}
