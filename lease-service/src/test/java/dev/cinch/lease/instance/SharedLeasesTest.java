package dev.cinch.lease.instance;

import static dev.cinch.lease.instance.Rig.LEASE_MS;
import static dev.cinch.lease.instance.Rig.MS;
import static dev.cinch.lease.instance.Rig.only;
import static dev.cinch.lease.instance.Rig.refused;
import static dev.cinch.lease.instance.Rig.wrote;
import static dev.cinch.lease.time.ManualTime.START;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Altered;
import dev.cinch.lease.Correlation;
import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.register.Backends;
import dev.cinch.lease.table.TableLimits;
import dev.cinch.lease.time.ManualTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** Servers that keep the same leases, and are one instance. */
@ParameterizedClass
@MethodSource("dev.cinch.lease.register.Backends#sharing")
final class SharedLeasesTest {
  private static final LeaseName A = new LeaseName("a");
  private static final long INSTANCE = Backends.TOGETHER;

  private final FakeRegistry.Store store = new FakeRegistry.Store();
  private final ManualTime time = new ManualTime();
  private final Backends backend;
  private final List<Rig> servers;
  private final Rig one;
  private final Rig two;

  SharedLeasesTest(Backends backend) {
    this.backend = backend;
    servers =
        backend.together().stream()
            .map(
                b ->
                    new Rig(time, new FakeRegistry(store, INSTANCE), false, TableLimits.DEFAULT, b))
            .toList();
    one = servers.get(0);
    two = servers.get(1);
  }

  private static Grant resume(Rig at, Grant grant)
      throws LeaseRefusedException, LeaseUnavailableException {
    return at.service.resume(new Operation.Resume(grant.id(), grant.witnesses(), LEASE_MS));
  }

  private static Grant renewHere(Rig at, Grant grant)
      throws LeaseRefusedException, LeaseUnavailableException {
    return at.renew(grant, LeaseReport.NOTHING.to(INSTANCE));
  }

  @Test
  void l1_whatOneGrantedTheOthersRefuse() throws Exception {
    Grant grant = one.acquire("a");
    for (Rig server : servers) {
      LeaseRefusedException e = refused(Reason.HELD, () -> server.acquire("a"));
      assertEquals(LEASE_MS, e.retryAfterMs());
      LeaseInfo info = server.service.show(A).orElseThrow();
      assertEquals(only(grant).correlation(), info.witness().correlation());
      assertEquals(LeaseInfo.State.HELD, info.state());
    }
  }

  @Test
  void l10_aHolderGoesOnAtAnotherServerByItsWitness() throws Exception {
    Grant grant = one.acquire("a");
    time.advanceMs(1_000);
    refused(Reason.NOT_MET, () -> renewHere(two, grant));
    Witness resumed = only(resume(two, grant));
    assertEquals(only(grant).correlation(), resumed.correlation());
    assertEquals(only(grant).generation(), resumed.generation());
    assertEquals(time.wallNanos() + LEASE_MS * MS, resumed.expiry());
    time.advanceMs(1_000);
    assertTrue(renewHere(two, grant).expiry() > resumed.expiry());
    // And back, where the grant is known still.
    time.advanceMs(1_000);
    assertEquals(time.wallNanos() + LEASE_MS * MS, renewHere(one, grant).expiry());
    refused(Reason.HELD, () -> two.acquire("a"));
  }

  @Test
  void l10_nobodyResumesWithoutTheSecretOrAfterTheEnd() throws Exception {
    Grant grant = one.acquire("a");
    refused(
        Reason.NOT_HELD,
        () -> two.service.resume(new Operation.Resume(new Id(1, 2), grant.witnesses(), LEASE_MS)));
    one.service.release(grant.id(), LeaseReport.NOTHING.to(INSTANCE));
    refused(Reason.NOT_HELD, () -> resume(two, grant));
    Grant next = two.acquire("a");
    time.advanceMs(LEASE_MS + 1); // it is granted a little after the one before
    refused(Reason.NOT_HELD, () -> resume(one, next));
  }

  /** A part of a grant would be renewed alone from then on. */
  @Test
  void l10_aGrantIsResumedWholeWhereItIsKnown() throws Exception {
    Grant grant = one.acquire("a", "b");
    var part = new Grant(grant.id(), grant.witnesses().subList(0, 1));
    refused(Reason.INVALID, () -> resume(one, part));
    assertEquals(2, renewHere(one, grant).witnesses().size());
    assertEquals(2, resume(two, grant).witnesses().size());
    refused(Reason.INVALID, () -> resume(two, part));
  }

  /** Who knows the secret may make up a witness of another grant to the same request. */
  @Test
  void l17_nobodyResumesALeaseThatTheNameDoesNotHave() throws Exception {
    Grant grant = one.acquire("a");
    Witness w = only(grant);
    Id other = Correlation.of(grant.id(), A, w.correlation().high() - 1, store.id);
    var forged = Altered.with(w, "tentative", false, "correlation", other, "resumed", false);
    var signed = List.of(new SignedWitness(forged, new byte[0]));
    refused(
        Reason.NOT_HELD,
        () -> two.service.resume(new Operation.Resume(grant.id(), signed, LEASE_MS)));
    assertEquals(w.correlation(), only(resume(two, grant)).correlation());
  }

  @Test
  void l2_whatWasStatedAtOneIsInheritedAtAnother() throws Exception {
    Grant grant = one.acquire("a");
    time.advanceMs(20);
    Grant resumed = resume(two, grant);
    two.service.release(resumed.id(), wrote(START + 10 * MS).to(INSTANCE));
    Witness next = only(servers.get(servers.size() - 1).acquire("a"));
    assertEquals(Optional.of(only(grant).correlation()), next.previous());
    assertEquals(Ending.RELEASED, next.previousEnding());
    assertEquals(START + 10 * MS, next.watermark().timestamp());
    assertEquals(Fence.NONE, next.fence());
  }

  @Test
  void l8_aLeaseThatExpiredAtOneIsFencedAtAnotherUpToItsExpiry() throws Exception {
    Grant grant = one.acquire("a");
    Grant renewed = resume(two, grant);
    time.advanceMs(LEASE_MS);
    Witness next = only(one.acquire("a"));
    assertEquals(Ending.BROKEN, next.previousEnding());
    assertEquals(new Fence(renewed.expiry(), only(renewed).logs()), next.fence());
    refused(Reason.NOT_HELD, () -> renewHere(two, grant));
  }

  @Test
  void aRequestThatComesToTwoServersIsOne() throws Exception {
    Operation.Acquire request = one.request("a", "b");
    Grant first = one.service.acquire(request);
    Grant second = two.service.acquire(request);
    assertEquals(correlations(first), correlations(second));
    assertEquals(first.expiry(), second.expiry());
    two.service.release(first.id(), LeaseReport.NOTHING.to(INSTANCE));
    refused(Reason.NOT_HELD, () -> one.service.acquire(request));
    one.service.release(first.id(), LeaseReport.NOTHING.to(INSTANCE)); // the same again
  }

  private static List<Id> correlations(Grant grant) {
    return grant.witnesses().stream().map(w -> w.witness().correlation()).toList();
  }

  @Test
  void l1_ofARequestThatIsRefusedNothingStaysAndItMayBeGrantedLater() throws Exception {
    Grant held = two.acquire("m");
    Operation.Acquire request = one.request("a", "m");
    refused(Reason.HELD, () -> one.service.acquire(request));
    Grant free = two.acquire("a");
    two.service.release(free.id(), LeaseReport.NOTHING);
    two.service.release(held.id(), LeaseReport.NOTHING);
    assertEquals(2, one.service.acquire(request).witnesses().size());
  }

  @Test
  void l17_leasesOfOneHolderThatExpiredTogetherAreFollowedAtOnce() throws Exception {
    String[] names = {"a", "b", "c", "d", "e", "f", "g", "h"};
    Grant lost = one.acquire(names);
    time.advanceMs(LEASE_MS);
    Grant next = two.acquire(names);
    for (var signed : next.witnesses()) {
      assertEquals(Ending.BROKEN, signed.witness().previousEnding());
      assertEquals(lost.expiry(), signed.witness().fence().upTo());
    }
    assertEquals(0, store.ends.size()); // no later instance resumes them
  }

  @Test
  void l15_whatOneRevokesIsNotProlongedAtAnother() throws Exception {
    Grant grant = one.acquire("a");
    var unused = two.service.revoke(new Operation.Revoke(A, "stuck", Optional.empty()));
    refused(Reason.NOT_HELD, () -> renewHere(one, grant));
    refused(Reason.NOT_HELD, () -> resume(two, grant));
    refused(Reason.HELD, () -> one.acquire("a")); // until it expires
    time.advanceMs(LEASE_MS);
    assertEquals(grant.expiry(), only(one.acquire("a")).fence().upTo());
  }

  @Test
  void whoWaitsAtOneHearsOfAReleaseAtAnother() throws Exception {
    BlockingQueue<String> freed = new LinkedBlockingQueue<>();
    assertTrue(
        one.service.listen(
            (name, free) -> {
              if (free) {
                freed.add(name);
              }
            }));
    Grant grant = two.acquire("a");
    two.renew(grant, LeaseReport.NOTHING);
    two.service.release(grant.id(), LeaseReport.NOTHING);
    assertEquals("a", freed.take());
  }

  @Test
  void allServersListWhatAnyGranted() throws Exception {
    List<String> names = new ArrayList<>();
    for (int i = 0; i < 9; i++) {
      names.add("job/" + i);
      servers.get(i % servers.size()).acquire("job/" + i);
    }
    one.acquire("other");
    var listed = new ArrayList<String>();
    Optional<LeaseName> after = Optional.empty();
    List<LeaseInfo> page = two.service.list("job/", after, 4);
    while (!page.isEmpty()) {
      page.forEach(info -> listed.add(info.witness().name().value()));
      after = Optional.of(page.get(page.size() - 1).witness().name());
      page = two.service.list("job/", after, 4);
    }
    assertEquals(names, listed);
  }

  /** Threads at all servers take the same names: their grants are one chain for each name. */
  @Test
  void l1_l4_theGrantsOfANameAreOneChainWhicheverServerMadeThem() throws Exception {
    List<String> names = List.of("a", "b", "c");
    var grants = new ConcurrentHashMap<Id, Witness>();
    List<Callable<Integer>> tasks = new ArrayList<>();
    for (int t = 0; t < 6; t++) {
      Rig at = servers.get(t % servers.size());
      int thread = t;
      tasks.add(() -> takeAndRelease(at, thread, names, grants));
    }
    var pool = Executors.newFixedThreadPool(tasks.size());
    try {
      int granted = 0;
      for (Future<Integer> done : pool.invokeAll(tasks)) {
        granted += done.get();
      }
      assertEquals(grants.size(), granted);
      assertTrue(granted >= names.size(), granted + " granted");
    } finally {
      pool.shutdown();
      assertTrue(pool.awaitTermination(10, TimeUnit.MINUTES));
    }
    for (String name : names) {
      var followed = new ArrayList<Id>();
      for (Witness w : grants.values()) {
        if (w.name().value().equals(name)) {
          w.previous().ifPresent(followed::add);
          Optional<Witness> before = w.previous().map(p -> known(grants, p));
          assertEquals(before.map(Witness::generation).orElse(0L), w.generation() - 1);
          assertEquals(
              before.map(SharedLeasesTest::stated).orElse(Long.MIN_VALUE),
              w.watermark().timestamp(),
              "the watermark of " + w);
        }
      }
      assertEquals(followed.stream().distinct().count(), followed.size(), "one follows each");
    }
  }

  private int takeAndRelease(
      Rig at, int thread, List<String> names, ConcurrentHashMap<Id, Witness> grants)
      throws Exception {
    int granted = 0;
    for (int i = 0; i < 60; i++) {
      String name = names.get((thread + i) % names.size());
      var request =
          new Operation.Acquire(
              new Id(thread + 1, i), Rig.names(name), "t" + thread, LEASE_MS, LogSet.ALL, false);
      time.advanceNanos(1);
      try {
        Witness w = only(at.service.acquire(request));
        granted++;
        grants.put(w.correlation(), w);
        at.service.release(request.id(), wrote(stated(w)).to(INSTANCE));
      } catch (LeaseRefusedException e) {
        assertTrue(e.reason() == Reason.HELD || e.reason() == Reason.NOT_YET, e.getMessage());
      }
    }
    return granted;
  }

  /** Above what was before, as signed times are. */
  private static long stated(Witness w) {
    return Math.max(w.issuedAt(), w.watermark().timestamp()) + 1;
  }

  private static Witness known(Map<Id, Witness> grants, Id correlation) {
    Witness found = grants.get(correlation);
    if (found == null) {
      throw new AssertionError("nobody was told of " + correlation);
    }
    return found;
  }
}
