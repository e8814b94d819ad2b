package dev.cinch.lease.instance;

import static dev.cinch.lease.instance.Rig.LEASE_MS;
import static dev.cinch.lease.instance.Rig.LOG_A;
import static dev.cinch.lease.instance.Rig.MS;
import static dev.cinch.lease.instance.Rig.only;
import static dev.cinch.lease.instance.Rig.refused;
import static dev.cinch.lease.instance.Rig.wrote;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Witness;
import dev.cinch.lease.table.TableLimits;
import dev.cinch.lease.time.ManualTime;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;

/** Rule L19: what an instance leaves that ends cleanly, and how the next one goes by it. */
final class LastWordsTest {
  private static final long APART_MS = 700;

  private final ManualTime time = new ManualTime();
  private final FakeRegistry.Store store = new FakeRegistry.Store();
  private final FakeRegistry files = new FakeRegistry(store);
  private final Rig first = new Rig(time, files);

  private Rig next() {
    var registry = new FakeRegistry(store);
    registry.apartNanos = APART_MS * MS;
    return new Rig(time, registry);
  }

  private static void end(Rig rig) throws IOException {
    assertTrue(rig.service.end());
    assertTrue(rig.service.leaveLastWords().join());
  }

  private Rig restarted(Rig rig) throws IOException {
    end(rig);
    return next();
  }

  /** By a request of the one source of ids. */
  private Grant acquired(Rig at, String... names)
      throws LeaseRefusedException, LeaseUnavailableException {
    return at.service.acquire(first.request(names));
  }

  private Grant acquired(Rig at, long leaseMs, String name)
      throws LeaseRefusedException, LeaseUnavailableException {
    Operation.Acquire r = first.request(name);
    return at.service.acquire(
        new Operation.Acquire(r.id(), r.names(), r.holder(), leaseMs, r.logs(), false));
  }

  private static Grant resumed(Rig at, Grant grant, long leaseMs)
      throws LeaseRefusedException, LeaseUnavailableException {
    return at.service.resume(new Operation.Resume(grant.id(), grant.witnesses(), leaseMs));
  }

  private void released(Rig at, Grant grant)
      throws LeaseRefusedException, LeaseUnavailableException {
    time.advanceMs(1);
    at.service.release(grant.id(), wrote(time.wallNanos()));
  }

  @Test
  void l19_theNextInstanceGrantsAtOnceWhatWasNeverGranted() throws Exception {
    Grant unused = acquired(first, "held");
    Witness w = only(acquired(restarted(first), "never-seen"));
    assertEquals(2, w.instance());
    assertEquals(Ending.UNKNOWN, w.previousEnding());
    assertEquals(Fence.NONE, w.fence());
  }

  @Test
  void l19_whatIsHeldIsHeldUntilItsExpiryByAnyClock() throws Exception {
    Witness before = only(acquired(first, "held"));
    Rig second = restarted(first);
    LeaseRefusedException e = refused(Reason.HELD, () -> acquired(second, "held"));
    assertEquals(LEASE_MS + APART_MS, e.retryAfterMs());
    LeaseInfo shown = second.service.show(new LeaseName("held")).orElseThrow();
    assertEquals(LeaseInfo.State.HELD, shown.state());
    assertEquals(before, shown.witness());
    assertEquals(
        1, second.service.list("", Optional.empty(), 10).size(), "as the instance before has it");
    time.advanceMs(LEASE_MS + APART_MS - 1);
    refused(Reason.HELD, () -> acquired(second, "held"));
    time.advanceMs(1);
    Witness after = only(acquired(second, "held"));
    assertEquals(Optional.of(before.correlation()), after.previous());
    assertEquals(Ending.BROKEN, after.previousEnding());
    assertEquals(new Fence(before.expiry(), LogSet.of(List.of(LOG_A))), after.fence());
    assertEquals(1, after.generation());
  }

  @Test
  void l19_itsHolderGoesOnAtTheNextInstance() throws Exception {
    Grant grant = acquired(first, "a", "b");
    Rig second = restarted(first);
    Grant resumed = resumed(second, grant, LEASE_MS);
    assertEquals(2, resumed.witnesses().get(0).witness().instance());
    assertTrue(resumed.witnesses().get(0).witness().resumed());
    assertEquals(
        second.service.number(),
        store.ends.get(
            new InstanceRegistry.End(grant.witnesses().get(0).witness().correlation(), 1)));
    second.service.release(grant.id(), wrote(time.wallNanos()).to(2));
    assertEquals(Ending.RELEASED, only(acquired(second, "a")).previousEnding());
  }

  @Test
  void l19_whatWasReleasedIsFreeWithItsWatermark() throws Exception {
    Grant grant = acquired(first, "a");
    long wrote = time.wallNanos() + MS;
    time.advanceMs(10);
    first.service.release(grant.id(), wrote(wrote));
    Rig second = restarted(first);
    Witness w = only(acquired(second, "a"));
    assertEquals(Ending.RELEASED, w.previousEnding());
    assertEquals(Optional.of(only(grant).correlation()), w.previous());
    assertEquals(wrote, w.watermark().timestamp());
    assertEquals(Fence.NONE, w.fence());
    refused(Reason.NOT_HELD, () -> resumed(second, grant, LEASE_MS));
  }

  @Test
  void l19_aReleasedLeaseIsNotResumedAlsoIfNobodyHasTheName() throws Exception {
    Grant grant = acquired(first, "a");
    released(first, grant);
    Rig second = restarted(first);
    refused(Reason.NOT_HELD, () -> resumed(second, grant, LEASE_MS));
    assertEquals(Fence.NONE, only(acquired(second, "a")).fence());
  }

  @Test
  void l19_anEarlierLeaseOfAListedNameIsNotResumed() throws Exception {
    Grant before = acquired(first, 60_000, "a");
    released(first, before);
    Grant last = acquired(first, "a");
    Rig second = restarted(first);
    refused(Reason.NOT_HELD, () -> resumed(second, before, LEASE_MS));
    assertTrue(only(resumed(second, last, LEASE_MS)).resumed());
  }

  /** All that was ever signed for a name that is not listed is over, and is fenced. */
  @Test
  void l19_whatExpiredLongAgoIsFencedForAllOtherNames() throws Exception {
    Witness old = only(acquired(first, "a"));
    time.advanceMs(100_000);
    Witness lately = only(acquired(first, "b"));
    Rig second = restarted(first);
    Fence through = new Fence(old.issuedAt() + 60_000 * MS, LogSet.ALL);
    assertEquals(through, only(acquired(second, "a")).fence());
    assertEquals(through, only(acquired(second, "never-seen")).fence());
    refused(Reason.HELD, () -> acquired(second, lately.name().value()));
  }

  /** Else audit would find a lower bound below the expiry of a lease before. */
  @Test
  void l19_aNameIsListedUntilALongLeaseBeforeItsLastOneIsOver() throws Exception {
    Grant longer = acquired(first, 60_000, "a");
    released(first, longer);
    Grant shorter = acquired(first, 1_000, "a");
    released(first, shorter);
    time.advanceMs(40_000);
    Rig second = restarted(first);
    Witness w = only(acquired(second, "a"));
    assertEquals(Ending.RELEASED, w.previousEnding());
    assertEquals(Optional.of(only(shorter).correlation()), w.previous());
  }

  @Test
  void l19_whatAFullTableForgotIsWaitedForAndFenced() throws Exception {
    var small = new TableLimits(2, Long.MAX_VALUE, 0, 1_000 * MS, 3_600_000 * MS, 0);
    var crowded = new Rig(time, new FakeRegistry(store), false, small);
    Grant grant = acquired(crowded, "a");
    released(crowded, grant);
    for (String name : List.of("b", "c", "d")) {
      Grant other = acquired(crowded, name);
      released(crowded, other);
    }
    Rig next = restarted(crowded);
    refused(Reason.NOT_YET, () -> acquired(next, "a"));
    time.advanceMs(60_000 + APART_MS);
    assertTrue(only(acquired(next, "a")).fence().upTo() >= only(grant).issuedAt() + 60_000 * MS);
  }

  @Test
  void l19_withoutLastWordsTheCeilingIsWaitedFor() throws Exception {
    Grant unused = acquired(first, "a");
    assertTrue(first.service.end());
    Rig second = next();
    refused(Reason.NOT_YET, () -> acquired(second, "b"));
    assertEquals(2 * LEASE_MS + APART_MS, second.service.info().quarantineLeftMs());
  }

  @Test
  void l19_theyCountForNobodyOnceALaterInstanceHasACeiling() throws Exception {
    Grant unused = acquired(first, "a");
    Rig second = restarted(first);
    unused = acquired(second, "b");
    Rig third = next(); // the second was killed
    refused(Reason.NOT_YET, () -> acquired(third, "c"));
    refused(Reason.NOT_YET, () -> acquired(third, "a"));
  }

  @Test
  void l19_anInstanceInBetweenThatGrantedNothingIsNoHindrance() throws Exception {
    Grant grant = acquired(first, "a");
    Rig second = restarted(first);
    refused(Reason.HELD, () -> acquired(second, "a"));
    assertTrue(second.service.end());
    assertFalse(second.service.leaveLastWords().join(), "it has nothing to say");
    Rig third = next();
    assertEquals(Fence.NONE, only(acquired(third, "b")).fence());
    refused(Reason.HELD, () -> acquired(third, "a"));
    assertTrue(only(resumed(third, grant, LEASE_MS)).resumed());
  }

  @Test
  void l19_whatWasLeftAndNotTakenUpIsLeftOnceMore() throws Exception {
    Witness held = only(acquired(first, 60_000, "a"));
    Rig second = restarted(first);
    Grant unused = acquired(second, "b");
    Rig third = restarted(second);
    refused(Reason.HELD, () -> acquired(third, "a"));
    assertEquals(
        held, third.service.show(new LeaseName("a")).orElseThrow().witness(), "of instance 1");
    assertEquals(Fence.NONE, only(acquired(third, "c")).fence());
    time.advanceMs(60_000 + APART_MS);
    assertEquals(held.expiry(), only(acquired(third, "a")).fence().upTo());
  }

  @Test
  void l19_lastWordsSpeakForInstancesBeforeThatLeftNone() throws Exception {
    Grant held = acquired(first, "a");
    long ceiling = store.ceilings.get(1L);
    Rig second = next(); // the first was killed
    Grant unused = resumed(second, held, LEASE_MS);
    Rig third = restarted(second);
    time.advanceMs(2 * LEASE_MS + APART_MS - 1);
    refused(Reason.NOT_YET, () -> acquired(third, "b"));
    time.advanceMs(1);
    assertEquals(new Fence(ceiling, LogSet.ALL), only(acquired(third, "b")).fence());
  }

  /** Its holder may not have heard of that, and goes by what the first instance has signed. */
  @Test
  void l19_afterAResumedLeaseAllThatEarlierInstancesSignedIsWaitedFor() throws Exception {
    Grant grant = acquired(first, 60_000, "a");
    Rig second = restarted(first);
    Grant unused = resumed(second, grant, 1_000);
    time.advanceMs(1_000 + APART_MS);
    refused(Reason.NOT_YET, () -> acquired(second, "a"));
    unused = acquired(second, "b");
    Rig third = restarted(second);
    refused(Reason.NOT_YET, () -> acquired(third, "a"));
    assertEquals(Fence.NONE, only(acquired(third, "c")).fence());
    time.advanceMs(90_000 + APART_MS);
    assertTrue(only(acquired(third, "a")).fence().upTo() >= only(grant).expiry());
  }

  @Test
  void l19_nothingIsSignedOnceItHasEnded() throws Exception {
    Grant grant = acquired(first, "a");
    end(first);
    assertThrows(LeaseUnavailableException.class, () -> acquired(first, "b"));
    assertThrows(
        LeaseUnavailableException.class, () -> first.renew(grant, wrote(time.wallNanos())));
    assertThrows(
        LeaseUnavailableException.class,
        () -> first.service.release(grant.id(), wrote(time.wallNanos())));
    var begun = first.service.begin(List.of(List.of(first.request("b")))).get(0);
    assertInstanceOf(
        LeaseUnavailableException.class,
        assertThrows(ExecutionException.class, begun::get).getCause());
    long published = files.count("publish");
    time.advanceMs(60_000);
    first.service.maintain();
    assertEquals(published, files.count("publish"));
  }

  @Test
  void l19_itDoesNotEndWhileARequestIsUnderWay() throws Exception {
    files.whileChecking = () -> assertFalse(first.service.end());
    Grant unused = acquired(first, "a"); // which compares clocks before it publishes
    files.whileChecking = () -> {};
    assertThrows(IllegalStateException.class, first.service::leaveLastWords);
    assertTrue(first.service.end());
    assertTrue(first.service.end(), "for good");
  }

  @Test
  void l19_aServerWithoutAStoreLeavesNone() throws Exception {
    var alone = new Rig();
    Grant unused = alone.acquire("a");
    assertTrue(alone.service.end());
    assertFalse(alone.service.leaveLastWords().join());
  }

  @Test
  void l19_noTimeIsSignedBeforeThoseOfTheInstanceBefore() throws Exception {
    Grant unused = acquired(first, "a");
    end(first);
    time.stepWallMs(-400); // another machine's
    Rig second = next();
    assertEquals(400, second.service.info().quarantineLeftMs());
    refused(Reason.NOT_YET, () -> acquired(second, "b"));
    time.advanceMs(400);
    unused = acquired(second, "b");
  }

  @Test
  void l15_whatWasLeftIsRevokedOnlyOnceItsHolderHasShownItself() throws Exception {
    Grant grant = acquired(first, "a");
    Rig second = restarted(first);
    var revoke =
        new Operation.Revoke(new LeaseName("a"), "test", Optional.of(only(grant).correlation()));
    refused(Reason.NOT_YET, () -> second.service.carryOut(revoke).requireDone());
    Grant unused = resumed(second, grant, LEASE_MS);
    second.service.carryOut(revoke).requireDone();
  }
}
