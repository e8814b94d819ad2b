package dev.cinch.lease.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.access.Caller;
import dev.cinch.lease.access.Permission;
import dev.cinch.lease.client.HttpLeaseClient;
import dev.cinch.lease.hold.ForwardingLeases;
import dev.cinch.lease.instance.Rig;
import dev.cinch.lease.wire.Answer;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A listing is told again once anything in it may have changed. */
final class RevisionTest {
  private static final Caller ALL = new Caller("x", null, List.of(Permission.parse("admin")));

  private final Rig rig = new Rig();
  private boolean hears = true;
  private final Revision revision = new Revision(rig.time::monotonicNanos);
  private final LeaseQueries queries =
      new LeaseQueries(
          new ForwardingLeases(rig.service) {
            @Override
            public boolean hears() {
              return hears;
            }
          },
          new ServerMetrics(rig.time::monotonicNanos),
          revision);

  @BeforeEach
  void listen() {
    assertTrue(rig.service.listen(revision));
  }

  private Answer list(@Nullable String tag) throws Exception {
    return queries.list("prefix=a", ALL, new LeaseQueries.View(Map.of(), 0, revision.now(), tag));
  }

  private int again(@Nullable String tag) throws Exception {
    return list(tag).status();
  }

  private @Nullable String tag() throws Exception {
    return list(null).headers().get(Answer.TAG);
  }

  @Test
  void eachChangeEndsATag() throws Exception {
    String empty = tag();
    assertEquals(304, again(empty));
    Grant grant = rig.acquire("b"); // also of another name
    assertEquals(200, again(empty));
    String held = tag();
    assertEquals(304, again(held));
    Grant unused = rig.service.renew(grant.id(), Rig.LEASE_MS, LogSet.NONE, LeaseReport.NOTHING);
    assertEquals(200, again(held));
    String renewed = tag();
    rig.service.release(grant.id(), LeaseReport.NOTHING);
    assertEquals(200, again(renewed));
  }

  /** Nothing tells that a time is over. */
  @Test
  void aTagEndsWithTheFirstLeaseOfItsAnswer() throws Exception {
    Grant unused = rig.acquire("a");
    String tag = tag();
    rig.time.advanceMs(Rig.LEASE_MS - 1);
    assertEquals(304, again(tag));
    rig.time.advanceMs(1);
    assertEquals(200, again(tag));
    tag = tag(); // what is over stays so
    rig.time.advanceMs(Rig.LEASE_MS);
    assertEquals(304, again(tag));
    rig.time.advanceMs(Revision.LONGEST / 1_000_000);
    assertEquals(200, again(tag));
  }

  @Test
  void whoHearsOfNothingGivesNone() throws Exception {
    String tag = tag();
    hears = false;
    assertEquals(200, again(tag));
    assertFalse(list(null).headers().containsKey(Answer.TAG));
  }

  @Test
  void othersTagsAreNone() throws Exception {
    String other = new Revision(rig.time::monotonicNanos).tag(revision.now(), Long.MAX_VALUE);
    String own = tag();
    for (String tag :
        List.of(
            other, "", "*", "\"", "\"x\"", own + "x", own.replace("-", "-x"), own.substring(1))) {
      assertEquals(200, again(tag), tag);
    }
  }

  /** A change while the page is read is not in it, and is seen the next time. */
  @Test
  void aTagIsOfBeforeTheListing() throws Exception {
    long before = revision.now();
    Grant unused = rig.acquire("a");
    Answer answer = queries.list("", ALL, new LeaseQueries.View(Map.of(), 0, before, null));
    assertEquals(200, again(answer.headers().get(Answer.TAG)));
  }

  /** Through a server and a client, which keeps what it was told. */
  @Test
  void aClientIsAnsweredWithWhatItHas() throws Exception {
    Grant grant = rig.acquire("a");
    try (LeaseServer server = LeaseServer.builder(rig.service, rig.service::info).port(0).start();
        var raw = new RawClient(server.port())) {
      RawClient.Response first = raw.get("/v1/leases");
      String tag = first.headers().get("etag");
      RawClient.Response second =
          raw.send(
                  "GET /v1/leases HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: "
                      + tag
                      + "\r\n\r\n")
              .headers();
      assertEquals(304, second.status());
      assertEquals(200, raw.get("/v1/time").status());
      HttpLeaseClient client = HttpLeaseClient.builder(server.uri()).build();
      var listed = client.list("", java.util.Optional.empty(), 10);
      assertEquals(listed, client.list("", java.util.Optional.empty(), 10));
      rig.service.release(grant.id(), LeaseReport.NOTHING);
      assertFalse(client.list("", java.util.Optional.empty(), 10).get(0).state().isHeld());
    }
  }
}
