package dev.cinch.lease.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import com.fasterxml.jackson.databind.JsonNode;
import dev.cinch.lease.Grant;
import dev.cinch.lease.IsoTime;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.access.Caller;
import dev.cinch.lease.access.Permission;
import dev.cinch.lease.hold.ForwardingLeases;
import dev.cinch.lease.instance.Rig;
import dev.cinch.lease.wire.Answer;
import dev.cinch.lease.wire.Health;
import dev.cinch.lease.wire.JsonFields;
import dev.cinch.lease.wire.LeaseDocuments;
import dev.cinch.lease.wire.OperationCodec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** Who was granted what, and what became of it, as lines and in memory. */
final class TrailTest {
  private static final Logger LINES = (Logger) LoggerFactory.getLogger(Trail.LOGGER);
  private static final Caller CI = caller("token 1f2e3d4c (ci)", "10.0.0.3:4711", true, "admin");
  private static final Caller ANYBODY = caller("one without", "10.0.0.9:1", false, "acquire");

  private final Rig rig = new Rig();
  private final ListAppender<ILoggingEvent> appender = new ListAppender<>();
  private final Routes routes =
      new Routes(
          rig.service,
          rig.service::info,
          () -> Health.of(rig.service.info()),
          null,
          new ServerMetrics(rig.time::monotonicNanos),
          rig.time::wallNanos);
  private final Trail trail = routes.trail();

  private static Caller caller(String who, String from, boolean named, String... rights) {
    return new Caller(who, from, Stream.of(rights).map(Permission::parse).toList(), named);
  }

  private void withLines() {
    appender.setContext(LINES.getLoggerContext());
    appender.start();
    LINES.addAppender(appender);
    LINES.setLevel(Level.INFO);
    LINES.setAdditive(false);
  }

  @AfterEach
  void withoutLines() {
    LINES.setLevel(null);
    LINES.detachAppender(appender);
  }

  private void send(Caller caller, Operation operation) {
    byte[] body = LeaseDocuments.bytes(OperationCodec.write(operation));
    String path = "/v1/leases/" + OperationCodec.verb(operation);
    Answer unused = routes.answer("POST", path, null, body, caller);
  }

  private Answer ask(Caller caller, @Nullable String query) {
    return routes.answer("GET", Lately.PATH, query, new byte[0], caller);
  }

  /** Each event in a few words, newest first. */
  private List<String> events(Caller caller, @Nullable String query) {
    Answer answer = ask(caller, query);
    assertEquals(200, answer.status(), answer::toString);
    var events = new ArrayList<String>();
    for (JsonNode e : answer.body().get("events")) {
      events.add(
          Stream.of("event", "name", "holder", "by", "from", "reason")
              .filter(e::has)
              .map(field -> e.get(field).asText())
              .collect(Collectors.joining(" ")));
    }
    return events;
  }

  private long lost() {
    return ask(CI, null).body().get("lost").longValue();
  }

  private static Operation.Renew renew(Operation.Secret of) {
    return new Operation.Renew(of.id(), Rig.LEASE_MS, LogSet.NONE, LeaseReport.NOTHING);
  }

  private static Operation.Release release(Operation.Secret of) {
    return new Operation.Release(of.id(), LeaseReport.NOTHING);
  }

  private static Operation.Revoke revoke(String name) {
    return new Operation.Revoke(new LeaseName(name), "it hangs", Optional.empty());
  }

  @Test
  void whatBecomesOfALeaseIsToldWithWhoAskedForIt() {
    Operation.Acquire request = rig.request("a", "b");
    send(CI, request);
    send(CI, request); // a copy
    send(CI, renew(request));
    send(CI, revoke("b"));
    send(ANYBODY, release(request));
    send(ANYBODY, release(request));
    assertEquals(
        List.of(
            "released b tester 10.0.0.9:1",
            "released a tester 10.0.0.9:1",
            "revoked b tester token 1f2e3d4c (ci) 10.0.0.3:4711 it hangs",
            "granted b tester token 1f2e3d4c (ci) 10.0.0.3:4711",
            "granted a tester token 1f2e3d4c (ci) 10.0.0.3:4711"),
        events(CI, null));
    assertEquals(1, events(CI, "limit=1").size());
    assertFalse(ask(CI, null).body().toString().contains(request.id().toString()));
  }

  @Test
  void anEventHasTheLeaseThatItIsOf() throws Exception {
    Operation.Acquire request = rig.request("a");
    send(CI, request);
    var w = rig.service.show(new LeaseName("a")).orElseThrow().witness();
    JsonNode event = ask(CI, null).body().get("events").get(0);
    assertEquals(w.correlation().toString(), event.get("correlation").asText());
    assertEquals(IsoTime.text(w.expiry()), event.get("expiry").asText());
    assertEquals(IsoTime.text(rig.time.wallNanos()), event.get("at").asText());
    assertEquals(1, event.get("generation").asLong());
    assertFalse(event.has("tentative"));
  }

  @Test
  void aTentativeOneIsUpgraded() {
    Operation.Acquire full = rig.request("a");
    var request =
        new Operation.Acquire(full.id(), full.names(), "tester", Rig.LEASE_MS, full.logs(), true);
    send(CI, request);
    send(CI, new Operation.Upgrade(request.id(), Rig.LEASE_MS));
    JsonNode events = ask(CI, null).body().get("events");
    assertEquals(2, events.size(), events::toString);
    assertEquals("upgraded", events.get(0).get("event").asText());
    assertTrue(events.get(1).get("tentative").asBoolean());
  }

  @Test
  void whatNobodyGaveBackIsToldToHaveExpiredOnce() {
    send(ANYBODY, rig.request("a", "b"));
    Operation.Acquire kept = rig.request("c");
    send(ANYBODY, kept);
    rig.time.advanceMs(Rig.LEASE_MS - 1);
    trail.sweep();
    send(ANYBODY, renew(kept));
    assertEquals(3, events(ANYBODY, null).size());
    rig.time.advanceMs(2);
    send(ANYBODY, rig.request("b")); // before anybody looks
    trail.sweep();
    trail.sweep();
    List<String> found = events(ANYBODY, null);
    assertEquals(Set.of("expired b tester", "expired a tester"), Set.copyOf(found.subList(0, 2)));
    assertEquals(6, found.size());
    assertEquals(2, trail.expired());
    rig.time.advanceMs(2 * Rig.LEASE_MS);
    trail.sweep();
    assertEquals(4, trail.expired());
  }

  @Test
  void whatWasLostCountsForAnHour() {
    send(CI, rig.request("a", "b"));
    rig.time.advanceMs(Rig.LEASE_MS);
    trail.sweep();
    assertEquals(2, lost());
    rig.time.advanceMs(Duration.ofMinutes(30).toMillis());
    send(CI, rig.request("c"));
    rig.time.advanceMs(Rig.LEASE_MS);
    trail.sweep();
    assertEquals(3, lost());
    rig.time.advanceMs(Duration.ofMinutes(30).toMillis());
    trail.sweep();
    assertEquals(1, lost());
    assertEquals(3, trail.expired());
  }

  /** Renewed and given back at another server of the same leases, say. */
  @Test
  void whatWentOnElsewhereIsNotToldToHaveExpired() throws Exception {
    Operation.Acquire request = rig.request("a");
    send(CI, request);
    rig.time.advanceMs(Rig.LEASE_MS - 1);
    Grant unused = rig.service.renew(request.id(), Rig.LEASE_MS, LogSet.NONE, LeaseReport.NOTHING);
    rig.time.advanceMs(2);
    trail.sweep();
    rig.service.release(request.id(), LeaseReport.NOTHING);
    send(CI, rig.request("a"));
    rig.time.advanceMs(Rig.LEASE_MS - 2);
    trail.sweep();
    assertEquals(2, events(CI, null).size());
    assertEquals(0, trail.expired());
  }

  @Test
  void refusalsSayWhyAndOfWhat() {
    send(CI, rig.request("a"));
    send(ANYBODY, rig.request("b", "a"));
    send(ANYBODY, revoke("a"));
    send(ANYBODY, renew(rig.request("gone")));
    var observer = caller("token 2 (screen)", "10.0.0.4:1", true, "observe");
    send(observer, rig.request("c"));
    List<String> events = events(CI, null);
    assertTrue(
        events.get(0).startsWith("refused c tester token 2 (screen) 10.0.0.4:1 FORBIDDEN: "));
    assertTrue(events.get(1).startsWith("refused 10.0.0.9:1 NOT_HELD: "), events::toString);
    assertTrue(events.get(2).startsWith("refused a 10.0.0.9:1 FORBIDDEN: "), events::toString);
    assertTrue(events.get(3).startsWith("refused a tester 10.0.0.9:1 HELD: a is held by "));
    rig.time.stepWallMs(-1_000);
    send(CI, rig.request("d")); // NOT_YET says nothing of whom
    assertEquals(5, events(CI, null).size());
  }

  @Test
  void oneSeesWhatOneMaySee() {
    send(CI, rig.request("ci/1"));
    send(CI, rig.request("jobs/1"));
    Caller jobs = caller("token 2", "10.0.0.4:1", true, "acquire:jobs/");
    assertEquals(1, events(jobs, null).size());
    assertFalse(ask(jobs, null).body().has("held"));
    assertEquals(2, ask(CI, null).body().get("held").longValue());
    assertEquals(403, ask(new Caller("nobody", null, List.of()), null).status());
    for (String query : List.of("limit=0", "limit=1001", "name=a")) {
      assertEquals(400, ask(CI, query).status(), query);
    }
  }

  @Test
  void theSameIsNotToldAgain() {
    send(CI, rig.request("a"));
    String tag = ask(CI, null).headers().get(Answer.TAG);
    assertEquals(304, again(CI, tag));
    assertEquals(200, again(caller("token 2", "10.0.0.4:1", true, "acquire:jobs/"), tag));
    rig.time.advanceMs(Rig.LEASE_MS);
    trail.sweep();
    assertEquals(200, again(CI, tag));
  }

  private int again(Caller caller, @Nullable String tag) {
    var view = new LeaseQueries.View(Map.of(), 0, 0, tag);
    return routes.answer("GET", Lately.PATH, null, new byte[0], caller, view).status();
  }

  @Test
  void eachEventIsALineOfJsonWhateverTheHolderIsCalled() throws Exception {
    withLines();
    String holder = "\"},{\\{} é\ud83d\ude00";
    Operation.Acquire r = rig.request("a");
    send(CI, new Operation.Acquire(r.id(), r.names(), holder, Rig.LEASE_MS, LogSet.ALL, false));
    send(CI, renew(r));
    assertEquals(1, appender.list.size());
    String line = appender.list.get(0).getFormattedMessage();
    assertEquals(1, line.lines().count());
    assertEquals(holder, JsonFields.JSON.read(line).get("holder").asText());
    JsonNode event = ask(CI, null).body().get("events").get(0);
    assertEquals(event.toString(), JsonFields.JSON.read(line).toString());
  }

  /** Who is refused over and over displaces no grant. */
  @Test
  void theNewestStay() {
    for (int i = 0; i < 4; i++) {
      send(CI, rig.request("a" + i));
    }
    for (int i = 0; i < Lately.MOST; i++) {
      send(ANYBODY, revoke("a0"));
    }
    List<String> found = events(CI, "limit=1000");
    assertEquals(Lately.MOST / 4 + 4, found.size());
    assertTrue(found.get(found.size() - 1).startsWith("granted a0"));
    for (int i = 4; i < Lately.MOST; i++) {
      send(CI, rig.request("a" + i));
    }
    found = events(CI, "limit=1000");
    assertEquals(Lately.MOST, found.size());
    assertTrue(found.get(0).startsWith("granted a999"), found.get(0));
  }

  /** A register may have a value that nobody can read. */
  @Test
  void oneThatCanNotBeShownIsInNobodysWay() throws Exception {
    var few =
        new Expiries(
            new ForwardingLeases(rig.service) {
              @Override
              public Optional<LeaseInfo> show(LeaseName name) throws LeaseUnavailableException {
                if (name.value().equals("a")) {
                  throw new LeaseUnavailableException("malformed", null);
                }
                return super.show(name);
              }
            },
            10);
    for (String name : List.of("a", "b")) {
      assertTrue(few.granted(rig.acquire(name).witnesses().get(0).witness()));
      rig.time.advanceMs(1);
    }
    rig.time.advanceMs(Rig.LEASE_MS);
    assertEquals(0, few.take().size());
    assertEquals(1, few.take().size());
  }

  /** A service may have more leases than this can look after. */
  @Test
  void ofMoreLeasesSomeEndUntold() throws Exception {
    var few = new Expiries(rig.service, 2);
    for (int i = 0; i < 3; i++) {
      assertTrue(few.granted(rig.acquire("a" + i).witnesses().get(0).witness()));
    }
    rig.time.advanceMs(Rig.LEASE_MS);
    assertEquals(2, few.take().size());
    assertEquals(0, few.take().size());
    Grant given = rig.acquire("b");
    assertTrue(few.granted(given.witnesses().get(0).witness()));
    few.released(given.witnesses().get(0).witness());
    rig.time.advanceMs(Rig.LEASE_MS);
    assertEquals(0, few.take().size());
  }
}
