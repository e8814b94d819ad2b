package dev.cinch.lease.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.code_intelligence.jazzer.junit.FuzzTest;
import com.fasterxml.jackson.databind.JsonNode;
import dev.cinch.lease.OneLine;
import dev.cinch.lease.ServiceInfo;
import dev.cinch.lease.access.Access;
import dev.cinch.lease.instance.Rig;
import dev.cinch.lease.wire.Answer;
import dev.cinch.lease.wire.Health;
import dev.cinch.lease.wire.JsonFields;
import dev.cinch.lease.wire.LeaseDocuments;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;

/**
 * Whole requests to a service in memory, one after the other: each has a defined answer. They are
 * separated by NUL; each is a line with the method, a blank and the path, and then the body.
 */
final class RoutesFuzzTest {
  /** docs/lease-api.md, less those that only the server or a remote service gives, and 500. */
  private static final Set<Integer> STATUSES = Set.of(200, 400, 404, 405, 409, 410, 422, 503);

  private static final int MOST_REQUESTS = 8;
  private static final int LONGEST_MESSAGE = 281;

  private static final ServiceInfo INFO =
      new ServiceInfo(
          1,
          "00",
          60_000,
          5,
          0,
          0,
          false,
          OptionalLong.empty(),
          false,
          Optional.empty(),
          List.of());

  @FuzzTest
  void answer(byte[] data) throws IOException {
    var service = new Rig().service;
    var routes =
        new Routes(
            service, () -> INFO, () -> Health.of(INFO), null, new ServerMetrics(() -> 0), () -> 0);
    String text = new String(data, StandardCharsets.ISO_8859_1);
    for (String request : text.split("\0", MOST_REQUESTS)) {
      int line = request.indexOf('\n');
      String first = line < 0 ? request : request.substring(0, line);
      String body = line < 0 ? "" : request.substring(line + 1);
      int blank = Math.max(0, first.indexOf(' '));
      String target = first.substring(blank).strip();
      int query = target.indexOf('?');
      check(
          routes.answer(
              first.substring(0, blank),
              query < 0 ? target : target.substring(0, query),
              query < 0 ? null : target.substring(query + 1),
              body.getBytes(StandardCharsets.ISO_8859_1),
              Access.withoutTokens().caller(List.of(), null, Optional.empty())));
    }
  }

  private static void check(Answer answer) throws IOException {
    assertTrue(STATUSES.contains(answer.status()), answer.toString());
    JsonNode sent = JsonFields.JSON.read(LeaseDocuments.bytes(answer.body()));
    assertEquals(answer.status() != 200, sent.has("error"), answer.toString());
    String message = sent.path("message").asText();
    assertTrue(message.length() <= LONGEST_MESSAGE && OneLine.fits(message), message);
  }
}
