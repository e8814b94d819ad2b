package dev.cinch.lease.http;

import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** How requests of a {@link HttpLeaseClient} travel. Thread-safe. */
interface Transport {
  /**
   * What came back, whole.
   *
   * @param status of HTTP
   */
  @SuppressWarnings("ArrayRecordComponent") // read once by who asked
  record Answered(int status, byte[] body) {}

  /** How long to wait for a connection, and for a whole answer, connecting included. */
  record Patience(Duration connect, Duration answer) {}

  /**
   * Sends one request and waits for its whole answer, of at most {@link
   * HttpLeaseClient#MAX_ANSWER_BYTES}.
   *
   * @param wire what the body is
   * @param body none for a request without one
   * @param more how much longer the answer may take than others; negative: how much less
   * @throws java.net.ConnectException if the request was not sent, since nobody was reached in time
   * @throws java.net.SocketTimeoutException if there is no whole answer in time
   * @throws IOException if the answer is none of HTTP, too long, or broke off
   */
  Answered exchange(String method, URI uri, Wire wire, byte @Nullable [] body, Duration more)
      throws IOException, InterruptedException;
}
