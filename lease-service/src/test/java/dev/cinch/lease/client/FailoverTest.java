package dev.cinch.lease.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.ShardMap;
import dev.cinch.lease.ShardServers;
import dev.cinch.lease.hold.HeldLease;
import dev.cinch.lease.hold.HoldSettings;
import dev.cinch.lease.instance.Rig;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.FutureTask;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** One service at several addresses, whose servers die, hang and start. */
@Timeout(600)
final class FailoverTest {
  private static final long MS = 1_000_000;
  private static final HoldSettings SETTINGS = HoldSettings.of(Rig.LEASE_MS);

  private final Rig rig = new Rig();
  private final List<String> losses = new ArrayList<>();
  private LeaseReport report = LeaseReport.NOTHING;
  private CellNode a;
  private CellNode b;
  private CellNode c;
  private HttpLeaseClient client;

  @BeforeEach
  void start() throws IOException {
    a = new CellNode(rig.service);
    b = new CellNode(rig.service);
    c = new CellNode(rig.service);
    client = client(Duration.ofSeconds(60), a, b, c);
  }

  @AfterEach
  void stop() throws IOException {
    a.close();
    b.close();
    c.close();
  }

  private static HttpLeaseClient client(Duration patience, CellNode... nodes) {
    return HttpLeaseClient.builder(addresses(nodes)).requestTimeout(patience).build();
  }

  private static ServerAddresses addresses(CellNode... nodes) {
    return ServerAddresses.parse(
        List.of(nodes).stream().map(CellNode::address).collect(Collectors.joining(",")));
  }

  /** One that waits for no answer for long. */
  private HttpLeaseClient impatient() {
    return client(Duration.ofMillis(750), a, b, c);
  }

  /** One that gives up only what never ends. */
  private HttpLeaseClient client(Ill ill) {
    return ill == Ill.HANGS ? impatient() : client;
  }

  private HeldLease hold(LeaseService by, String name) throws Exception {
    return HeldLease.acquire(
        by,
        rig.time,
        SETTINGS,
        rig.request(name),
        () -> report,
        (lease, why) -> losses.add(why),
        new Random(3));
  }

  private void live(HeldLease lease, long ms) {
    long end = rig.time.monotonicNanos() + ms * MS;
    while (rig.time.monotonicNanos() < end && lease.state() == HeldLease.State.HELD) {
      long next = lease.doWork(rig.time.monotonicNanos());
      rig.time.advanceNanos(Math.max(1, Math.min(next, end) - rig.time.monotonicNanos()));
    }
  }

  private LeaseInfo.State state(String name) throws LeaseUnavailableException {
    return rig.service.show(new LeaseName(name)).orElseThrow().state();
  }

  /** What is wrong with the first server. */
  enum Ill {
    DEAD,
    HANGS,
    STARTS,
    CUT_OFF;

    void befalls(CellNode node) throws IOException {
      switch (this) {
        case DEAD -> node.close();
        case HANGS -> node.before = node::hang;
        case STARTS -> node.before = CellNode::starting;
        case CUT_OFF -> node.before = CellNode::cutOff;
        default -> throw new AssertionError(this);
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void allThatIsAskedOfAnIllServerTheNextOneAnswers(Ill ill) throws Exception {
    ill.befalls(a);
    Grant grant = client(ill).acquire(rig.request("x"));
    assertEquals(1, grant.witnesses().size());
    assertEquals(1, another(ill).list("", Optional.empty(), 10).size());
    assertEquals(rig.service.show(new LeaseName("x")), another(ill).show(new LeaseName("x")));
    assertEquals(rig.service.now(), another(ill).now());
    List<Outcome> outcomes = another(ill).carryOut(List.of(rig.request("y"), rig.request("z")));
    assertTrue(outcomes.stream().allMatch(o -> o instanceof Outcome.Granted), "" + outcomes);
    assertTrue(ill == Ill.HANGS || c.asked.isEmpty(), "" + c.asked);
  }

  /** One that has asked nobody yet. */
  private HttpLeaseClient another(Ill ill) {
    return client(Duration.ofMillis(ill == Ill.HANGS ? 750 : 60_000), a, b, c);
  }

  /** Rule L10: with leases that are as good as after a restart. */
  @ParameterizedTest
  @EnumSource
  void l10_aLeaseWhoseServerFallsIllGoesOnAtTheNext(Ill ill) throws Exception {
    HeldLease lease = hold(client(ill), "x");
    live(lease, 12_000);
    ill.befalls(a);
    live(lease, 3 * Rig.LEASE_MS);
    assertEquals(List.of(), losses);
    if (ill != Ill.HANGS) {
      assertEquals(List.of("renew", "resume", "renew"), b.asked.subList(0, 3));
    }
    b.close();
    live(lease, 3 * Rig.LEASE_MS);
    assertEquals(List.of(), losses);
    lease.release(LeaseReport.NOTHING);
    assertEquals(LeaseInfo.State.RELEASED, state("x"));
    assertTrue(ill == Ill.HANGS || c.asked.contains("release"), "" + c.asked);
  }

  /** However long the client waits: else the lease would run out meanwhile. */
  @Test
  void aRenewalWaitsForOneNoLongerThanForAPartOfItsLease() throws Exception {
    HttpLeaseClient patient = client(Duration.ofDays(1), a, b);
    Grant grant = patient.acquire(rig.request("x"));
    a.before = a::hang;
    refused(Reason.NOT_MET, () -> patient.renew(grant.id(), 400, LogSet.NONE, report));
    assertEquals(List.of("renew"), b.asked);
  }

  @Test
  void itStaysWithTheOneThatWorks() throws Exception {
    a.before = CellNode::cutOff;
    HeldLease lease = hold(client, "x");
    a.before = () -> {};
    a.asked.clear();
    b.asked.clear();
    live(lease, 5 * Rig.LEASE_MS);
    assertEquals(List.of(), a.asked);
    assertEquals(List.of(), c.asked);
    assertTrue(b.asked.size() > 10, "" + b.asked);
    assertTrue(b.asked.stream().allMatch("renew"::equals), "nothing to resume: " + b.asked);
  }

  @Test
  void oneThatRefusesForAReasonIsNotLeft() throws Exception {
    Grant grant = client.acquire(rig.request("x"));
    refused(Reason.HELD, () -> client.acquire(rig.request("x")));
    refused(Reason.INVALID, () -> client.renew(grant.id(), 1 << 30, LogSet.NONE, report));
    assertEquals(List.of(), b.asked);
    assertEquals(3, a.asked.size());
  }

  @Test
  void eachIsAskedOnceAndTheFirstOnesRefusalIsTold() throws Exception {
    a.before = CellNode::cutOff;
    b.before =
        () -> {
          throw new LeaseRefusedException(Reason.NOT_YET, "another reason", 900);
        };
    c.before = b.before;
    LeaseRefusedException e = refused(Reason.NOT_YET, () -> client.acquire(rig.request("x")));
    assertEquals(700, e.retryAfterMs());
    List.of(a, b, c).forEach(node -> assertEquals(List.of("acquire"), node.asked));
  }

  @Test
  void nobodyIsSaidInOneLineThatNamesAll() throws Exception {
    stop();
    String said =
        String.valueOf(assertThrows(LeaseUnavailableException.class, client::now).getMessage());
    assertEquals(
        "no answer from the lease service at %s/v1/time: can't connect, and at %s/v1/time: can't connect, and at %s/v1/time: can't connect"
            .formatted(a.address(), b.address(), c.address()),
        said);
  }

  /** Of a batch in which others are carried out, the server is well. */
  @Test
  void aBatchIsAskedForElsewhereIfAllOfItIsTurnedAway() throws Exception {
    Grant grant = client.acquire(rig.request("x"));
    List<Operation> both =
        List.of(
            new Operation.Renew(grant.id(), Rig.LEASE_MS, LogSet.NONE, report), rig.request("y"));
    a.before =
        () -> {
          if (a.asked.get(a.asked.size() - 1).equals("acquire")) {
            CellNode.cutOff();
          }
        };
    List<Outcome> outcomes = client.carryOut(both);
    assertTrue(outcomes.get(0) instanceof Outcome.Granted, "" + outcomes);
    assertTrue(outcomes.get(1) instanceof Outcome.Refused, "" + outcomes);
    assertEquals(List.of(), b.asked);
    a.before = CellNode::cutOff;
    outcomes = client.carryOut(both);
    assertEquals(List.of("renew", "acquire"), b.asked);
    assertTrue(outcomes.get(1) instanceof Outcome.Granted, "" + outcomes);
  }

  /** The same id is the same request, at whichever server. */
  @Test
  void anAcquireWhoseAnswerIsLostIsTheSameAtTheNext() throws Exception {
    a.after = a::hang;
    Operation.Acquire request = rig.request("x");
    Grant grant = impatient().acquire(request);
    assertEquals(rig.service.acquire(request), grant);
    assertEquals(List.of("acquire"), b.asked);
  }

  /** What is refused may have been granted by the one that did not answer. */
  @Test
  void aRefusalAfterALostAnswerIsNoAnswer() throws Exception {
    var unused = rig.acquire("x");
    a.before = a::hang;
    LeaseUnavailableException e =
        assertThrows(LeaseUnavailableException.class, () -> impatient().acquire(rig.request("x")));
    assertTrue(String.valueOf(e.getMessage()).contains("did not answer at first"), "" + e);
  }

  /** Nor is what was refused before: the silent one may have granted it since. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aRefusalBeforeALostAnswerIsNoAnswer(boolean lastRefuses) throws Exception {
    a.before = CellNode::cutOff;
    b.after = b::hang;
    c.before = lastRefuses ? CellNode::cutOff : c::hang;
    assertThrows(LeaseUnavailableException.class, () -> impatient().acquire(rig.request("x")));
    assertEquals(LeaseInfo.State.HELD, state("x"));
  }

  /** Nor after one that no service stood behind: that may hear of it yet. */
  @Test
  void aRefusalAfterAFailureIsNoAnswer() throws Exception {
    var unused = rig.acquire("x");
    a.before = CellNode::starting;
    assertThrows(LeaseUnavailableException.class, () -> client.acquire(rig.request("x")));
    assertEquals(List.of("acquire"), b.asked);
  }

  /** Rule L13: whether the first one does it yet or not, both are servers of the same leases. */
  @ParameterizedTest
  @EnumSource
  void l13_whoseServerFallsIllAsItReleasesReleasesAtTheNext(Ill ill) throws Exception {
    HeldLease lease = hold(client(ill), "x");
    ill.befalls(a);
    lease.release(LeaseReport.NOTHING);
    assertEquals(List.of("release", "resume", "release"), b.asked);
    assertEquals(LeaseInfo.State.RELEASED, state("x"));
    assertEquals(HeldLease.State.CLOSED, lease.state());
  }

  @Test
  void l13_norIsItResumedAfterAReleaseThatWasCarriedOut() throws Exception {
    HeldLease lease = hold(impatient(), "x");
    a.after = a::hang;
    refused(Reason.NOT_HELD, () -> lease.release(LeaseReport.NOTHING));
    assertEquals(List.of("release", "resume"), b.asked);
    assertEquals(LeaseInfo.State.RELEASED, state("x"));
  }

  /** The one that turned it away has not done it: a refusal is no lost answer. */
  @Test
  void whatWasTurnedAwayWasNotCarriedOut() throws Exception {
    var unused = rig.acquire("x");
    a.before = CellNode::cutOff;
    refused(Reason.HELD, () -> client.acquire(rig.request("x")));
  }

  /** Whoever waits goes on at once, with the same id, and is not told that the lease is held. */
  @Test
  void whoWaitsAtAServerThatEndsWaitsAtTheNext() throws Exception {
    Grant first = rig.acquire("x");
    Operation.Acquire request = rig.request("x");
    var waits = new FutureTask<>(() -> client.acquire(request.waiting(60_000)));
    var waiting = new Thread(waits);
    waiting.start();
    a.awaitWaiting(1);
    int cut = a.drain();
    b.awaitWaiting(1);
    assertEquals(0, cut);
    rig.service.release(first.id(), LeaseReport.NOTHING);
    assertEquals(request.id(), waits.get().id());
    assertEquals(List.of(), c.asked);
  }

  private ShardServers servers(String addresses) {
    var server = new ShardServers.Server(1, rig.service.info().instance(), addresses, "machine");
    return new ShardServers(ShardMap.NONE, List.of(server));
  }

  @Test
  void whatAServerSaysOfItselfMayBeAList() throws Exception {
    Grant grant = rig.acquire("x");
    a.shards = servers(addresses(c, b).toString());
    c.close();
    var router = ShardRouter.of(addresses(a));
    assertEquals(LeaseInfo.State.HELD, router.show(new LeaseName("x")).orElseThrow().state());
    assertEquals(List.of("show", "now"), b.asked);
    assertEquals(1, grant.witnesses().size());
  }

  /** In another order they are the same servers, and there is one that works. */
  @Test
  void whereAServerSaysTheSameListItStaysWithTheOneThatWorks() throws Exception {
    for (CellNode node : List.of(a, b, c)) {
      node.shards = servers(addresses(a, b, c).toString());
    }
    var router = ShardRouter.of(addresses(a, c, b));
    a.before = CellNode::starting;
    var unused = router.acquire(rig.request("x"));
    a.before = () -> {};
    a.asked.clear();
    assertEquals(1, router.instances().size());
    assertTrue(router.show(new LeaseName("x")).isPresent());
    assertEquals(List.of(), a.asked);
    assertEquals(List.of("acquire", "show", "now"), c.asked);
  }

  /** Whoever was given the address of one of them. */
  @Test
  void l10_aHolderLearnsOfTheOtherServersWhileTheirsIsThere() throws Exception {
    a.shards = servers(addresses(c, b, a).toString());
    var router = ShardRouter.of(addresses(a));
    HeldLease lease = hold(router, "x");
    live(lease, Rig.LEASE_MS);
    assertEquals(List.of(), b.asked);
    assertEquals(List.of(), c.asked, "it stays with the one that has granted it");
    a.close();
    live(lease, 3 * Rig.LEASE_MS);
    assertEquals(List.of(), losses);
    lease.release(LeaseReport.NOTHING);
    assertEquals(LeaseInfo.State.RELEASED, state("x"));
  }

  /** Nor where the server calls itself otherwise than its clients do. */
  @Test
  void aListThatDoesNotNameTheServerIsNotGoneBy() throws Exception {
    for (String other : List.of("http://127.0.0.1:1", "http://127.0.0.1:1,http://127.0.0.1:2")) {
      a.shards = servers(other);
      var router = ShardRouter.of(addresses(a));
      HeldLease lease = hold(router, "of-" + other.length());
      live(lease, 3 * Rig.LEASE_MS);
      assertEquals(List.of(), losses);
      lease.release(LeaseReport.NOTHING);
      assertEquals(LeaseInfo.State.RELEASED, state("of-" + other.length()));
    }
  }

  private static LeaseRefusedException refused(Reason reason, Executable call) {
    LeaseRefusedException e = assertThrows(LeaseRefusedException.class, call);
    assertEquals(reason, e.reason(), e.getMessage());
    return e;
  }
}
