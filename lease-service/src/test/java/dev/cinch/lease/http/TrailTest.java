package dev.cinch.lease.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import com.fasterxml.jackson.databind.JsonNode;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.access.Caller;
import dev.cinch.lease.access.Permission;
import dev.cinch.lease.memory.Rig;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** Who was granted what, and what became of it, in memory and as lines. */
final class TrailTest {
  private static final Logger LINES = (Logger) LoggerFactory.getLogger(Trail.LOGGER);
  private static final Caller CI = caller("token 1f2e3d4c (ci)", "10.0.0.3:4711", true, "admin");
  private static final Caller ANYBODY = caller("one without", "10.0.0.9:1", false, "acquire");

  private final Rig rig = new Rig();
  private final ListAppender<ILoggingEvent> appender = new ListAppender<>();
  private Optional<LeaseRefusedException> obstacle = Optional.empty();
  private Trail trail = trail();
  private Routes routes = routes();

  private static Caller caller(String who, String from, boolean named, String... rights) {
    return new Caller(who, from, Stream.of(rights).map(Permission::parse).toList(), named);
  }

  private Trail trail() {
    var made =
        new Trail(
            rig.service,
            () -> new Health(OptionalLong.of(1), "the store", obstacle),
            rig.service::info,
            rig.time::monotonicNanos);
    made.sweep(); // as its thread does first
    return made;
  }

  private Routes routes() {
    return new Routes(
        rig.service,
        rig.service::info,
        () -> Health.of(rig.service.info()),
        null,
        new ServerMetrics(() -> 0),
        trail);
  }

  /** As with the logger enabled, which is looked at once. */
  private void withLines() {
    appender.setContext(LINES.getLoggerContext());
    appender.start();
    LINES.addAppender(appender);
    LINES.setLevel(Level.INFO);
    LINES.setAdditive(false);
    trail = trail();
    routes = routes();
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

  private Answer ask(Caller caller, String query) {
    return routes.answer("GET", "/v1/history", query, new byte[0], caller);
  }

  /** Each event in a few words, newest first. */
  private List<String> history(Caller caller, String query) {
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
        history(CI, null));
    assertEquals(2, history(CI, "name=a").size());
    assertEquals(1, history(CI, "limit=1").size());
    assertFalse(ask(CI, null).body().toString().contains(request.id().toString()));
  }

  @Test
  void anEventHasTheLeaseThatItIsOf() throws Exception {
    Operation.Acquire request = rig.request("a");
    send(CI, request);
    var w = rig.service.show(new LeaseName("a")).orElseThrow().witness();
    JsonNode event = ask(CI, null).body().get("events").get(0);
    assertEquals(w.correlation().toString(), event.get("correlation").asText());
    assertEquals(dev.cinch.lease.IsoTime.text(w.expiry()), event.get("expiry").asText());
    assertEquals(dev.cinch.lease.IsoTime.text(w.issuedAt()), event.get("at").asText());
    assertEquals(1, event.get("generation").asLong());
    assertFalse(event.has("tentative"));
  }

  @Test
  void tentativeOnesAreUpgradedOnce() {
    Operation.Acquire full = rig.request("a");
    var request =
        new Operation.Acquire(full.id(), full.names(), "tester", Rig.LEASE_MS, full.logs(), true);
    send(CI, request);
    send(CI, new Operation.Upgrade(request.id(), Rig.LEASE_MS));
    send(CI, new Operation.Upgrade(request.id(), Rig.LEASE_MS));
    JsonNode events = ask(CI, null).body().get("events");
    assertEquals(2, events.size(), events::toString);
    assertEquals("upgraded", events.get(0).get("event").asText());
    assertTrue(events.get(1).get("tentative").asBoolean());
  }

  @Test
  void whatNobodyGaveBackIsToldToHaveExpiredOnce() {
    Operation.Acquire lost = rig.request("a", "b");
    Operation.Acquire kept = rig.request("c");
    send(ANYBODY, lost);
    send(ANYBODY, kept);
    rig.time.advanceMs(Rig.LEASE_MS - 1);
    trail.sweep();
    send(ANYBODY, renew(kept));
    assertEquals(3, history(ANYBODY, null).size());
    rig.time.advanceMs(2);
    send(ANYBODY, rig.request("b")); // before anybody looks
    trail.sweep();
    trail.sweep();
    assertEquals(
        List.of("expired b tester", "expired a tester", "granted b tester 10.0.0.9:1"),
        history(ANYBODY, null).subList(0, 3));
    assertEquals(6, history(ANYBODY, null).size());
    assertEquals(2, trail.expired());
    rig.time.advanceMs(2 * Rig.LEASE_MS);
    trail.sweep();
    assertEquals(4, trail.expired());
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
    assertEquals(2, history(CI, null).size());
    assertEquals(0, trail.expired());
  }

  /** It was given back at the last moment, and is told only now. */
  @Test
  void aReleaseThatIsNotToldYetIsNoExpiry() throws Exception {
    Operation.Acquire request = rig.request("a");
    send(CI, request);
    rig.service.release(request.id(), LeaseReport.NOTHING);
    rig.time.advanceMs(Rig.LEASE_MS);
    trail.sweep();
    send(CI, release(request)); // as what was carried out before
    assertEquals(List.of("released a tester", "granted a tester"), words(CI));
    Operation.Acquire elsewhere = rig.request("b");
    send(CI, elsewhere);
    rig.service.release(elsewhere.id(), LeaseReport.NOTHING);
    rig.time.advanceMs(Rig.LEASE_MS);
    trail.sweep();
    trail.sweep(); // another server has told it
    send(CI, release(elsewhere));
    assertEquals("granted b tester", words(CI).get(0));
    assertEquals(0, trail.expired());
  }

  private List<String> words(Caller caller) {
    return history(caller, null).stream()
        .map(e -> String.join(" ", List.of(e.split(" ")).subList(0, 3)))
        .toList();
  }

  /** Its leases go on at another server. */
  @Test
  void aServerThatWasReplacedTellsOfNoExpiry() {
    send(CI, rig.request("a"));
    rig.time.advanceMs(2 * Rig.LEASE_MS);
    obstacle = Optional.of(new LeaseRefusedException(Reason.SUPERSEDED, "replaced", 0));
    trail.sweep();
    assertEquals(0, trail.expired());
    obstacle = Optional.empty();
    trail.sweep();
    assertEquals(1, trail.expired());
  }

  @Test
  void refusalsSayWhyAndOfWhat() {
    send(CI, rig.request("a"));
    send(ANYBODY, rig.request("b", "a"));
    send(ANYBODY, revoke("a"));
    send(ANYBODY, renew(rig.request("gone")));
    var observer = caller("token 2 (screen)", "10.0.0.4:1", true, "observe");
    send(observer, rig.request("c"));
    List<String> events = history(CI, null);
    assertTrue(
        events.get(0).startsWith("refused c tester token 2 (screen) 10.0.0.4:1 FORBIDDEN: "));
    assertTrue(events.get(1).startsWith("refused 10.0.0.9:1 NOT_HELD: "), events::toString);
    assertTrue(events.get(2).startsWith("refused a 10.0.0.9:1 FORBIDDEN: "), events::toString);
    assertTrue(events.get(3).startsWith("refused a tester 10.0.0.9:1 HELD: a is held by "));
    rig.time.stepWallMs(-1_000);
    send(CI, rig.request("d")); // NOT_YET says nothing of whom
    assertEquals(5, history(CI, null).size());
  }

  @Test
  void oneSeesWhatOneMaySee() {
    send(CI, rig.request("ci/1"));
    send(CI, rig.request("jobs/1"));
    Caller jobs = caller("token 2", "10.0.0.4:1", true, "acquire:jobs/");
    assertEquals(1, history(jobs, null).size());
    assertEquals(1, history(jobs, "name=jobs/1").size());
    assertEquals(403, ask(jobs, "name=ci/1").status());
    assertEquals(403, ask(new Caller("nobody", null, List.of()), null).status());
    for (String query : List.of("limit=0", "limit=1001", "name=%20", "prefix=a")) {
      assertEquals(400, ask(CI, query).status(), query);
    }
  }

  @Test
  void eachEventIsALineOfJsonWhateverTheHolderIsCalled() throws Exception {
    withLines();
    String holder = "\"},{\\{} é\ud83d\ude00";
    Operation.Acquire r = rig.request("a");
    send(CI, new Operation.Acquire(r.id(), r.names(), holder, Rig.LEASE_MS, LogSet.ALL, false));
    send(CI, renew(r));
    trail.write();
    trail.close();
    List<JsonNode> lines = lines();
    assertEquals(
        List.of("started", "granted", "stopped"),
        lines.stream().map(l -> l.get("event").asText()).toList());
    assertEquals("the store", lines.get(0).get("store").asText());
    assertEquals(holder, lines.get(1).get("holder").asText());
    assertEquals(ask(CI, null).body().get("events").get(0).toString(), lines.get(1).toString());
  }

  private List<JsonNode> lines() throws Exception {
    var all = new ArrayList<JsonNode>();
    for (ILoggingEvent event : appender.list) {
      String line = event.getFormattedMessage();
      assertEquals(1, line.lines().count());
      all.add(JsonFields.JSON.read(line));
    }
    return all;
  }

  @Test
  void floodsAreCountedAndLeaveWhatIsInMemory() throws Exception {
    withLines();
    send(CI, rig.request("a"));
    int asked = Trail.REFUSALS + 5;
    for (int i = 0; i < asked; i++) {
      send(ANYBODY, revoke("a"));
    }
    trail.write();
    List<JsonNode> lines = lines();
    assertEquals(Trail.REFUSALS + 3, lines.size());
    JsonNode last = lines.get(lines.size() - 1);
    assertEquals("left-out", last.get("event").asText());
    assertEquals(5, last.get("refusals").asLong());
    assertEquals(0, last.get("events").asLong());
    rig.time.advanceMs(1_000);
    send(ANYBODY, revoke("a"));
    assertEquals(Trail.REFUSALS + 2, history(CI, "limit=1000").size());
    String[] names = IntStream.range(0, 512).mapToObj(i -> "b" + i).toArray(String[]::new);
    for (int i = 0; i < Trail.UNWRITTEN / names.length; i++) {
      Operation.Acquire request = rig.request(names);
      send(CI, request);
      send(CI, release(request));
    }
    appender.list.clear();
    trail.write();
    lines = lines();
    assertEquals(Trail.UNWRITTEN + 1, lines.size());
    assertEquals(Trail.UNWRITTEN + 1, lines.get(Trail.UNWRITTEN).get("events").asLong());
  }

  @Test
  void theOldestGoFromMemory() {
    var history = new TrailHistory(8, 1 << 20);
    for (int i = 1; i <= 10; i++) {
      history.add(event(TrailEvent.Kind.GRANTED, i, ""));
      history.add(event(TrailEvent.Kind.REFUSED, i, ""));
    }
    assertEquals(
        List.of(10L, 10L, 9L, 9L, 8L, 7L, 6L, 5L),
        history.newest(any -> true, 100).stream().map(TrailEvent::at).toList());
    var small = new TrailHistory(1_000, 40_000);
    for (int i = 1; i <= 100; i++) {
      small.add(event(TrailEvent.Kind.GRANTED, i, "x".repeat(1_000)));
    }
    assertEquals(12, small.newest(any -> true, 100).size());
  }

  private static TrailEvent event(TrailEvent.Kind kind, long at, String reason) {
    return new TrailEvent(at, kind, null, "", new Id(0, at), 0, 0, false, null, null, reason);
  }
}
