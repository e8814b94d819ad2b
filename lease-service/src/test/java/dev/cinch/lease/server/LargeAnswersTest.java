package dev.cinch.lease.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.access.Access;
import dev.cinch.lease.access.Caller;
import dev.cinch.lease.instance.Rig;
import dev.cinch.lease.wire.Answer;
import dev.cinch.lease.wire.Health;
import dev.cinch.lease.wire.LeaseDocuments;
import dev.cinch.lease.wire.OperationCodec;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** No request makes an answer that is much larger than the largest body. */
final class LargeAnswersTest {
  /** JSON escapes each of its characters. */
  private static final String HOLDER = "\"\\".repeat(127) + "\"";

  /** Twelve bytes of JSON for two characters. */
  private static final String DATA_FILE = "\ud83d\ude00".repeat(127);

  private static final Caller ANYBODY =
      Access.withoutTokens().caller(List.of(), null, Optional.empty());

  private final Rig rig = new Rig();
  private final Routes routes =
      new Routes(
          rig.service,
          rig.service::info,
          () -> Health.of(rig.service.info()),
          null,
          new ServerMetrics(() -> 0),
          () -> 0);

  private static LogSet logs(int from, int count) {
    return LogSet.of(LongStream.range(from, from + count).mapToObj(i -> new Id(-1, i)).toList());
  }

  private static Operation.Acquire request(int id, int names, LogSet logs) {
    var named = new ArrayList<LeaseName>();
    for (int i = 0; i < names; i++) {
      named.add(new LeaseName("%04d%04d".formatted(id, i) + "x".repeat(247)));
    }
    return new Operation.Acquire(new Id(0, id), named, HOLDER, Rig.LEASE_MS, logs, false);
  }

  private Answer acquire(Operation.Acquire request) {
    byte[] body = LeaseDocuments.bytes(OperationCodec.write(request));
    return routes.answer("POST", "/v1/leases/acquire", null, body, ANYBODY);
  }

  private Answer renew(Operation.Acquire held, LogSet add) {
    var renew = new Operation.Renew(held.id(), held.durationMs(), add, LeaseReport.NOTHING);
    return routes.answer(
        "POST",
        "/v1/leases/renew",
        null,
        LeaseDocuments.bytes(OperationCodec.write(renew)),
        ANYBODY);
  }

  private static void assertRefused(String message, Answer answer) {
    assertEquals(400, answer.status());
    assertEquals("INVALID", answer.body().get("error").textValue());
    assertEquals(message, answer.body().get("message").textValue());
  }

  private static int length(Answer answer) {
    assertEquals(200, answer.status(), () -> answer.body().toString());
    return LeaseDocuments.bytes(answer.body()).length;
  }

  @Test
  void namesTimesLogsAreBounded() {
    assertRefused(
        "1000 names times 1000 logs are more than 10000; ask for all logs, or for fewer names at"
            + " once",
        acquire(request(1, 1_000, logs(0, 1_000))));
    assertEquals(400, acquire(request(2, 1_000, logs(0, 11))).status());
    assertEquals(400, acquire(request(3, 11, logs(0, 1_000))).status());
    assertTrue(length(acquire(request(4, 10, logs(0, 1_000)))) < LeaseServer.MAX_BODY_BYTES);
    assertTrue(length(acquire(request(5, 1_000, LogSet.ALL))) < 4 << 20);
  }

  @Test
  void aRenewalAddsNoMoreThanThat() {
    Operation.Acquire held = request(1, 1_000, logs(0, 10));
    assertEquals(200, acquire(held).status());
    for (LogSet more : List.of(logs(10, 1), logs(10, 990))) {
      assertRefused(
          "1000 leases would name more than 10000 logs together; add all logs instead",
          renew(held, more));
    }
    assertTrue(length(renew(held, logs(0, 10))) < 4 << 20);
    assertTrue(length(renew(held, LogSet.NONE)) < 4 << 20);
    assertTrue(length(renew(held, LogSet.ALL)) < 4 << 20);
  }

  /** Each fence may name as many logs as a witness, and one request may inherit many of them. */
  @Test
  void theFencesOfAGrantNameNoMoreThanThat() throws Exception {
    var names = new ArrayList<LeaseName>();
    for (int i = 0; i < 20; i++) {
      Operation.Acquire lost = request(i, 10, logs(1_000 * i, 1_000));
      names.addAll(
          rig.service.acquire(lost).witnesses().stream().map(w -> w.witness().name()).toList());
    }
    rig.time.advanceMs(Rig.LEASE_MS);
    var next =
        new Operation.Acquire(
            new Id(1, 1), names, HOLDER, Rig.LEASE_MS, logs(0, Grant.MAX_LOGS / 200), false);
    assertTrue(length(acquire(next)) < 3 << 20);
    assertTrue(length(renew(next, LogSet.NONE)) < 3 << 20);
    var fences =
        rig.service.acquire(next).witnesses().stream().map(w -> w.witness().fence()).toList();
    assertEquals(200, fences.size());
    for (int i = 0; i < 200; i++) {
      assertEquals(i < 10 ? logs(0, 1_000) : LogSet.ALL, fences.get(i).logs());
      assertEquals(fences.get(0).upTo(), fences.get(i).upTo());
    }
  }

  @Test
  void pagesEndByTheirBytes() throws Exception {
    var metadata = new ArrayList<LeaseReport.Metadata>();
    for (int i = 0; i < 8; i++) {
      metadata.add(new LeaseReport.Metadata(new Id(-1, i), Long.MIN_VALUE + i, DATA_FILE));
    }
    for (int i = 0; i < 10; i++) {
      // The first few sets are kept once, the others with each lease.
      Grant grant = rig.service.acquire(request(i, 10, logs(10_000 * i, 1_000)));
      var report = new LeaseReport(OptionalLong.empty(), false, metadata);
      assertEquals(
          10, rig.service.renew(grant.id(), Rig.LEASE_MS, LogSet.NONE, report).witnesses().size());
    }
    int found = 0;
    String after = "";
    while (true) {
      Answer page =
          routes.answer("GET", "/v1/leases", "limit=10000&after=" + after, new byte[0], ANYBODY);
      assertTrue(length(page) <= LeaseServer.MAX_BODY_BYTES, "a page of " + length(page));
      JsonNode leases = page.body().get("leases");
      if (leases.isEmpty()) {
        break;
      }
      assertFalse(leases.size() == 1, "pages are not much shorter than they may be");
      found += leases.size();
      after = leases.get(leases.size() - 1).get("witness").get("name").textValue();
    }
    assertEquals(100, found);
  }
}
