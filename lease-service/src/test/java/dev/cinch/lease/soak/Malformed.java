package dev.cinch.lease.soak;

import java.io.IOException;
import java.util.List;
import java.util.random.RandomGenerator;

/** Requests that are none, and what has to come back. */
final class Malformed {
  private static final String HOST = " HTTP/1.1\r\nHost: 127.0.0.1\r\n";
  private static final int BAD_REQUEST = 400;

  private record Request(String text, int status) {}

  private static final List<Request> REQUESTS =
      List.of(
          new Request("\u0001\u0002 rubbish\r\n\r\n", BAD_REQUEST),
          new Request("GET /v1/time HTTP/1.1\r\n\r\n", BAD_REQUEST), // no Host
          new Request("GET /v1/nothing" + HOST + "\r\n", 404),
          new Request("DELETE /v1/leases/a" + HOST + "\r\n", 405),
          new Request("GET /v1/time HTTP/9.9\r\nHost: 127.0.0.1\r\n\r\n", 505),
          new Request("GET /" + "y".repeat(5_000) + HOST + "\r\n", 414),
          new Request("GET /v1/time" + HOST + "X: " + "y".repeat(9_000) + "\r\n\r\n", 431),
          body("/v1/leases/acquire", "{\"id\":\"zz\""),
          body("/v1/leases/acquire", "{\"names\":[]}"),
          body("/v1/leases/batch", "{\"operations\":[{\"dance\":{}}]}"),
          new Request("POST /v1/leases/renew" + HOST + "Content-Length: 99999999\r\n\r\n", 413));

  private Malformed() {}

  private static Request body(String path, String body) {
    return new Request(
        "POST "
            + path
            + HOST
            + "Content-Type: application/json\r\nContent-Length: "
            + body.length()
            + "\r\n\r\n"
            + body,
        BAD_REQUEST);
  }

  /** Sends one of them; the line tells of another answer than there has to be, empty if none. */
  static String send(Plain to, RandomGenerator random) throws IOException {
    Request request = REQUESTS.get(random.nextInt(REQUESTS.size()));
    to.send(request.text);
    int status = to.status();
    String start = request.text.substring(0, Math.min(request.text.length(), 60));
    return status == request.status ? "" : "status " + status + " for " + start;
  }
}
