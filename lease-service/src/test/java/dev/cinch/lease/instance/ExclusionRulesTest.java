package dev.cinch.lease.instance;

import static dev.cinch.lease.instance.Rig.LEASE_MS;
import static dev.cinch.lease.instance.Rig.MS;
import static dev.cinch.lease.instance.Rig.only;
import static dev.cinch.lease.instance.Rig.refused;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Witness;
import dev.cinch.lease.register.Backends;
import dev.cinch.lease.time.ManualTime;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** Rule L1, all or nothing, retries, tentative leases. */
@ParameterizedClass
@MethodSource("dev.cinch.lease.register.Backends#here")
final class ExclusionRulesTest {
  private final Backends backend;
  private final Rig rig;

  ExclusionRulesTest(Backends backend) {
    this.backend = backend;
    rig = backend.rig();
  }

  @Test
  void l1_aHeldNameIsRefusedToOthersUntilItsExpiry() throws Exception {
    Witness first = only(rig.acquire("a"));
    rig.time.advanceMs(LEASE_MS - 1);
    LeaseRefusedException e = refused(Reason.HELD, () -> rig.acquire("a"));
    assertEquals(1, e.retryAfterMs());
    rig.time.advanceMs(e.retryAfterMs());
    Witness second = only(rig.acquire("a"));
    assertTrue(second.issuedAt() >= first.expiry());
    assertEquals(2, second.generation());
    assertEquals(Optional.of(first.correlation()), second.previous());
  }

  /** The first name was granted, and undone, when the lease on the second was to be ended first. */
  @Test
  void l1_whatIsGrantedOnceMoreInTheSameMomentFollowsWhatWasUndone() throws Exception {
    Grant unused = rig.acquire("b");
    rig.time.advanceMs(LEASE_MS);
    Grant both = rig.acquire("a", "b");
    Witness first = both.witnesses().get(0).witness();
    assertEquals("a", first.name().value());
    assertNotEquals(Optional.of(first.correlation()), first.previous());
    rig.service.release(both.id(), LeaseReport.NOTHING);
    assertEquals(Optional.of(first.correlation()), only(rig.acquire("a")).previous());
  }

  /** Whoever has seen the secret has no right by that. */
  @Test
  void nothingOfAGrantIsDoneForSomebodyWithoutARightToAllItsLeases() throws Exception {
    Grant grant = rig.service.acquire(rig.tentative("ci/1", "jobs/1"));
    Grant other = rig.acquire("jobs/2");
    Operation.Scope scope =
        names -> {
          if (!names.stream().allMatch(name -> name.value().startsWith("ci/"))) {
            throw new LeaseRefusedException(Reason.FORBIDDEN, "this needs a right to " + names, 0);
          }
        };
    List<Operation> wanted =
        List.of(
            new Operation.Renew(grant.id(), LEASE_MS, LogSet.NONE, LeaseReport.NOTHING),
            new Operation.Upgrade(grant.id(), LEASE_MS),
            new Operation.Release(grant.id(), LeaseReport.NOTHING),
            new Operation.Release(other.id(), LeaseReport.NOTHING));
    rig.time.advanceMs(1);
    for (Operation each : wanted) {
      refused(Reason.FORBIDDEN, () -> rig.service.carryOut(each.within(scope)).requireDone());
    }
    for (String name : List.of("ci/1", "jobs/1", "jobs/2")) {
      LeaseInfo info = rig.service.show(new LeaseName(name)).orElseThrow();
      assertEquals(name.equals("jobs/2"), info.state().excludes(), name);
      assertEquals(rig.time.wallNanos() + (LEASE_MS - 1) * MS, info.witness().expiry(), name);
    }
    for (Operation each : wanted) {
      rig.service.carryOut(each.within(names -> {})).requireDone();
    }
    Grant mine = rig.acquire("ci/2", "ci/3");
    Operation release = new Operation.Release(mine.id(), LeaseReport.NOTHING).within(scope);
    rig.service.carryOut(release).requireDone();
    rig.service.carryOut(release).requireDone(); // it came before
  }

  @Test
  void l1_aRenewedNameStaysRefused() throws Exception {
    Grant grant = rig.acquire("a");
    rig.time.advanceMs(LEASE_MS - 1);
    Witness renewed = only(rig.renew(grant, LeaseReport.NOTHING));
    assertEquals(rig.time.wallNanos() + LEASE_MS * MS, renewed.expiry());
    rig.time.advanceMs(LEASE_MS - 1);
    refused(Reason.HELD, () -> rig.acquire("a"));
  }

  @Test
  void l1_anExpiredGrantCanNeitherBeRenewedNorReleasedNorUpgradedNorRepeated() throws Exception {
    Operation.Acquire request = rig.request("a");
    Grant grant = rig.service.acquire(request);
    rig.time.advanceMs(LEASE_MS);
    refused(Reason.NOT_HELD, () -> rig.renew(grant, LeaseReport.NOTHING));
    refused(Reason.NOT_HELD, () -> rig.service.release(grant.id(), LeaseReport.NOTHING));
    refused(Reason.NOT_HELD, () -> upgrade(grant));
    refused(Reason.NOT_HELD, () -> rig.service.acquire(request));
    Grant next = rig.acquire("a");
    refused(Reason.NOT_HELD, () -> rig.renew(grant, LeaseReport.NOTHING));
    refused(Reason.NOT_HELD, () -> rig.service.release(grant.id(), LeaseReport.NOTHING));
    assertEquals(only(next), only(rig.renew(next, LeaseReport.NOTHING)));
  }

  @Test
  void l1_aShorterRenewalMovesNoExpiryBack() throws Exception {
    Grant grant = rig.acquire("a");
    Grant renewed = rig.service.renew(grant.id(), 1, LogSet.NONE, LeaseReport.NOTHING);
    assertEquals(grant.expiry(), renewed.expiry());
  }

  @Test
  void severalNamesAreTakenInAscendingOrderAllOrNothing() throws Exception {
    rig.acquire("m");
    LeaseRefusedException e = refused(Reason.HELD, () -> rig.acquire("z", "m", "a"));
    assertTrue(
        String.valueOf(e.getMessage()).startsWith("m is held by \"tester\""), e.getMessage());
    assertTrue(rig.service.show(new LeaseName("a")).filter(i -> i.state().excludes()).isEmpty());
    if (backend == Backends.MEMORY) { // others give back what they took first
      assertEquals(Optional.empty(), rig.service.show(new LeaseName("a")));
    }
    Grant both = rig.acquire("z", "a");
    assertEquals(
        List.of("a", "z"), both.witnesses().stream().map(w -> w.witness().name().value()).toList());
    rig.service.release(both.id(), LeaseReport.NOTHING);
    Witness z = rig.acquire("a", "z").witnesses().get(1).witness();
    assertEquals(both.witnesses().get(1).witness().generation() + 1, z.generation());
  }

  @Test
  void aRepeatedRequestIsTheSameGrant() throws Exception {
    Operation.Acquire request = rig.request("b", "a");
    Grant grant = rig.service.acquire(request);
    rig.time.advanceMs(5);
    Grant again = rig.service.acquire(request);
    assertEquals(grant.expiry(), again.expiry());
    assertEquals(
        grant.witnesses().stream().map(w -> w.witness().correlation()).toList(),
        again.witnesses().stream().map(w -> w.witness().correlation()).toList());
    if (backend == Backends.MEMORY) { // others issue it anew, so that all servers see that
      assertEquals(grant, again);
    }
    var other =
        new Operation.Acquire(
            request.id(), request.names(), "someone", LEASE_MS, request.logs(), false);
    refused(Reason.INVALID, () -> rig.service.acquire(other));
  }

  @Test
  void aRequestRepeatedAfterItsReleaseIsNotGrantedAnew() throws Exception {
    Operation.Acquire request = rig.request("a");
    Grant grant = rig.service.acquire(request);
    rig.service.release(grant.id(), LeaseReport.NOTHING);
    refused(Reason.NOT_HELD, () -> rig.service.acquire(request));
    rig.service.release(grant.id(), LeaseReport.NOTHING);
    refused(Reason.NOT_HELD, () -> rig.renew(grant, LeaseReport.NOTHING));
    assertEquals(
        LeaseInfo.State.RELEASED, rig.service.show(new LeaseName("a")).orElseThrow().state());
    // Also after a while, with maintenance running.
    rig.time.advanceMs(60_000);
    rig.service.maintain();
    refused(Reason.NOT_HELD, () -> rig.service.acquire(request));
  }

  @Test
  void aReleasedNameIsFreeAtOnce() throws Exception {
    Grant grant = rig.acquire("a");
    rig.time.advanceMs(3);
    rig.service.release(grant.id(), LeaseReport.NOTHING);
    Witness next = only(rig.acquire("a"));
    assertEquals(Ending.RELEASED, next.previousEnding());
    assertEquals(ManualTime.START + 3 * MS, next.previousEndedAt());
    assertEquals(Fence.NONE, next.fence());
    assertNotEquals(only(grant).correlation(), next.correlation());
  }

  @Test
  void aTentativeLeaseIsSignedAsSuchAndBrokenByAnyAcquire() throws Exception {
    Grant grant = rig.service.acquire(rig.tentative("a", "b"));
    assertTrue(grant.witnesses().stream().allMatch(w -> w.witness().tentative()));
    assertEquals(
        LeaseInfo.State.TENTATIVE, rig.service.show(new LeaseName("a")).orElseThrow().state());
    Witness next = only(rig.acquire("b"));
    assertEquals(Ending.BROKEN, next.previousEnding());
    assertEquals(Fence.NONE, next.fence(), "nothing was written under it");
    LeaseRefusedException e = refused(Reason.NOT_HELD, () -> upgrade(grant));
    assertTrue(String.valueOf(e.getMessage()).contains("b was broken"), e.getMessage());
    assertTrue(
        rig.service.show(new LeaseName("a")).orElseThrow().witness().tentative(),
        "the upgrade is all or nothing");
    rig.service.release(grant.id(), LeaseReport.NOTHING);
    refused(Reason.HELD, () -> rig.acquire("b"));
    assertEquals(Ending.RELEASED, only(rig.acquire("a")).previousEnding());
  }

  @Test
  void anUpgradedLeaseExcludesOthersAndExpiresLikeAnyFullOne() throws Exception {
    Grant grant = rig.service.acquire(rig.tentative("a"));
    rig.time.advanceMs(1_000);
    Witness full = only(upgrade(grant));
    assertTrue(!full.tentative());
    assertEquals(only(grant).correlation(), full.correlation());
    assertEquals(only(grant).generation(), full.generation());
    assertEquals(full, only(upgrade(grant)), "an upgrade may be repeated");
    refused(Reason.HELD, () -> rig.service.acquire(rig.tentative("a")));
    rig.time.advanceMs(LEASE_MS);
    Witness next = only(rig.acquire("a"));
    assertEquals(full.expiry(), next.fence().upTo());
    refused(Reason.NOT_HELD, () -> rig.service.release(grant.id(), LeaseReport.NOTHING));
  }

  @Test
  void aTentativeLeaseTakesNoWatermark() throws Exception {
    Grant grant = rig.service.acquire(rig.tentative("a"));
    refused(
        Reason.WATERMARK, () -> rig.service.release(grant.id(), Rig.wrote(ManualTime.START + 1)));
  }

  @Test
  void wrongRequestsAreRefusedInOneLine() {
    for (Operation.Acquire wrong : wrong()) {
      refused(Reason.INVALID, () -> rig.service.acquire(wrong));
    }
  }

  private List<Operation.Acquire> wrong() {
    Operation.Acquire r = rig.request("a");
    List<LeaseName> many =
        java.util.stream.IntStream.range(0, 1_001).mapToObj(i -> new LeaseName("n" + i)).toList();
    return List.of(
        with(r, List.of(), "h", 1),
        with(r, many, "h", 1),
        with(r, Rig.names("a", "a"), "h", 1),
        with(r, r.names(), "é".repeat(128), 1),
        with(r, r.names(), "\ud800", 1),
        with(r, r.names(), "h", 0),
        with(r, r.names(), "h", -1),
        with(r, r.names(), "h", Long.MAX_VALUE),
        with(r, r.names(), "h", 60_001));
  }

  private static Operation.Acquire with(
      Operation.Acquire r, List<LeaseName> names, String holder, long durationMs) {
    return new Operation.Acquire(r.id(), names, holder, durationMs, r.logs(), false);
  }

  private Grant upgrade(Grant grant) throws LeaseRefusedException, LeaseUnavailableException {
    return rig.service.upgrade(grant.id(), LEASE_MS);
  }

  /** Whoever gave the request up would wait for it otherwise, and the next one for a fence. */
  @Test
  void f4_aRequestThatComesAfterItWasGivenBackIsNotGranted() throws Exception {
    var request = rig.request("a", "b");
    for (int i = 0; i < 2; i++) {
      refused(Reason.NOT_HELD, () -> rig.service.release(request.id(), LeaseReport.NOTHING));
    }
    refused(Reason.NOT_HELD, () -> rig.service.acquire(request));
    refused(Reason.NOT_HELD, () -> rig.service.release(request.id(), LeaseReport.NOTHING));
    assertEquals(2, rig.acquire("a", "b").witnesses().size());
  }
}
