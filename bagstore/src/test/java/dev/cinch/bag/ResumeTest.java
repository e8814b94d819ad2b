package dev.cinch.bag;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.audit.AuditReport;
import dev.cinch.bag.audit.LeaseAuditor;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.storage.posix.PosixStore;
import dev.cinch.bag.write.MessageRefusedException;
import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Witness;
import dev.cinch.lease.hold.LeaseKeeper;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** Rules L10 to L13, with sessions: the lease service is restarted while they hold leases. */
final class ResumeTest extends SessionRig {
  private final List<String> lost = new ArrayList<>();

  /** A session whose service a test restarts, and what it needs. */
  private final class Holder implements AutoCloseable {
    final Cut network = new Cut(service);
    final LeaseKeeper keeper = LeaseKeeper.stepped(rig.time);
    final Store store;
    final Log log;
    final Writers writers;
    final Session session;

    Holder(String machine) throws Exception {
      store = store(machine);
      log = store.log(Rig.JOBS);
      writers = new Writers(store, Durability.SYNC);
      session = Session.open(writers, network, machine, keeper);
      session.listen((names, why) -> lost.add(why));
    }

    void append(String text) throws Exception {
      committed(session.append(log, bytes(text)));
    }

    /** So much later, with renewals when they are due. */
    void live(long ms) {
      long end = rig.time.monotonicNanos() + ms * MS;
      while (rig.time.monotonicNanos() < end) {
        long wait = Math.max(1, keeper.doWork());
        rig.time.advanceNanos(Math.min(wait, end - rig.time.monotonicNanos()));
      }
    }

    @Override
    public void close() {
      session.close();
      keeper.close();
      writers.close();
    }
  }

  /** Another instance, which has not waited for anything. */
  private void replace(Holder... holders) throws Exception {
    service = serve(key, rig.time, store("head2"));
    for (Holder h : holders) {
      h.network.service = service;
    }
  }

  private AuditReport audit() throws Exception {
    rig.time.advanceMs(600_000);
    Store store = store("auditor");
    store
        .log(Rig.JOBS)
        .horizon()
        .advance(rig.time.wallNanos() - 60_000 * MS, OptionalLong.of(rig.time.wallNanos()));
    AuditReport report = LeaseAuditor.audit(store);
    assertEquals(List.of(), report.violations());
    return report;
  }

  /** Whoever may create files in the store may have left it. */
  @Test
  void l11_anEndThatNoKeySignedKeepsNoNameRefused() throws Exception {
    Grant lost = acquire("a");
    Store store = store("m");
    Path end =
        store.context().layout().end(lost.witnesses().get(0).witness().correlation(), 1, 0).path();
    PosixStore.of(store.context().storage())
        .fs()
        .create(end, PosixStore.of(store.context().storage()).fileMode())
        .close();
    rig.time.advanceMs(LEASE.toMillis() + 1);
    assertEquals(1, acquire("b").witnesses().get(0).witness().instance());
  }

  @Test
  void l10_aSessionGoesOnOverARestartAndLosesNothing() throws Exception {
    try (var a = new Holder("a")) {
      a.session.acquire(NAMES, LEASE);
      a.append("1");
      replace(a);
      a.append("2"); // under the witness of the first instance
      a.live(4_000);
      a.append("3");
      a.live(20_000);
      a.append("4");
    }
    assertEquals(List.of(), lost);
    try (var b = new Holder("b")) {
      Witness w = b.session.acquire(NAMES, LEASE).witnesses().get(0).witness();
      assertEquals(Ending.RELEASED, w.previousEnding());
      assertEquals(2, w.instance());
      assertEquals(Fence.NONE, b.session.fence(NAME));
      b.append("5");
    }
    AuditReport report = audit();
    assertEquals(5, report.messages());
    assertEquals(2, report.leases());
    assertEquals(1, report.handovers());
  }

  @Test
  void l10_twoRestartsAndLeasesOfOneSessionTakenAtDifferentInstances() throws Exception {
    var other = List.of(new LeaseName("other"));
    try (var a = new Holder("a")) {
      a.session.acquire(NAMES, LEASE);
      a.append("1");
      for (int i = 0; i < 2; i++) {
        replace(a);
        a.live(4_000);
        a.append("more");
      }
      rig.time.advanceMs(1);
      a.live(30_000);
      a.session.acquire(other, LEASE);
      a.append("under both");
    }
    assertEquals(List.of(), lost);
    assertEquals(4, audit().messages());
  }

  @Test
  void l9_aLeaseThatWasNotResumedYetMayBeRenewedAtTheInstanceThatItGoesBy() throws Exception {
    var other = List.of(new LeaseName("other"));
    try (var a = new Holder("a")) {
      a.session.acquire(NAMES, LEASE);
      a.live(1_000);
      a.session.acquire(other, LEASE);
      a.append("1");
      var before = service;
      replace(a);
      a.live(2_800); // the one goes on at the later instance
      a.network.service = before;
      a.live(1_000); // the other one is renewed at the one before
      a.append("2");
      a.network.service = service;
      a.live(8_000);
      a.append("3");
    }
    assertEquals(List.of(), lost);
    assertEquals(3, audit().messages());
  }

  @Test
  void l13_aLeaseWhoseServiceWasReplacedUnheardIsNotResumedToBeReleased() throws Exception {
    try (var a = new Holder("a")) {
      a.session.acquire(NAMES, LEASE);
      a.append("1");
      a.network.cut = true;
      a.live(4_000);
      replace(a);
      a.network.cut = false;
      assertEquals(false, a.session.release());
    }
    rig.time.advanceMs(120_000);
    try (var b = new Holder("b")) {
      b.session.acquire(NAMES, LEASE);
      assertTrue(b.session.fence(NAME).upTo() > 0);
      b.append("2");
    }
    assertEquals(2, audit().messages());
  }

  @Test
  void l13_theWatermarkIsThatOfTheWholeLease() throws Exception {
    long last;
    try (var a = new Holder("a")) {
      a.session.acquire(NAMES, LEASE);
      last = committed(a.session.append(a.log, bytes("1"))).timestamp();
      replace(a);
      a.live(20_000);
      assertTrue(a.session.append(a.log, bytes("2")).timestamp() > last);
    }
    try (var b = new Holder("b")) {
      Witness w = b.session.acquire(NAMES, LEASE).witnesses().get(0).witness();
      assertTrue(w.watermark().timestamp() > last);
      last = committed(b.session.append(b.log, bytes("3"))).timestamp();
      replace(b);
      b.live(4_000); // and writes nothing more
    }
    try (var c = new Holder("c")) {
      Witness w = c.session.acquire(NAMES, LEASE).witnesses().get(0).witness();
      assertEquals(last, w.watermark().timestamp());
    }
    assertEquals(3, audit().messages());
  }

  @Test
  void l12_aReleaseThatReachesALaterInstanceIsNone() throws Exception {
    try (var a = new Holder("a")) {
      a.session.acquire(NAMES, LEASE);
      a.append("1");
      replace(a);
      assertEquals(false, a.session.release());
    }
    rig.time.advanceMs(120_000);
    try (var b = new Holder("b")) {
      b.session.acquire(NAMES, LEASE);
      assertTrue(b.session.fence(NAME).upTo() > 0);
      b.append("2");
    }
    assertEquals(2, audit().messages());
  }

  @Test
  void l11_whoSleptWhileTheNameWasGrantedOnIsNotResumed() throws Exception {
    try (var a = new Holder("a");
        var b = new Holder("b")) {
      a.session.acquire(NAMES, LEASE);
      a.append("1");
      rig.time.advanceMs(LEASE.toMillis() + 60_000);
      b.session.acquire(NAMES, LEASE);
      b.append("2");
      replace(a, b);
      b.live(4_000);
      a.live(100);
      assertThrows(MessageRefusedException.class, () -> a.append("late"));
      b.append("3");
    }
    assertEquals(1, lost.size());
    assertEquals(3, audit().messages());
  }

  @Test
  void l12_theAuditFollowsAResumeThatItsHolderNeverHeardOf() throws Exception {
    var grant = acquire("ghost");
    var first = service;
    replace();
    var unused =
        service.resume(new Operation.Resume(grant.id(), grant.witnesses(), LEASE.toMillis()));
    first.release(grant.id(), LeaseReport.NOTHING.to(1));
    try (var b = new Holder("b")) {
      b.network.service = first;
      b.session.acquire(NAMES, LEASE); // follows it at the first instance
      b.append("1");
    }
    rig.time.advanceMs(120_000);
    try (var c = new Holder("c")) {
      Witness w = c.session.acquire(NAMES, LEASE).witnesses().get(0).witness();
      assertEquals(Ending.BROKEN, w.previousEnding()); // and this at the later one
      assertEquals(grant.witnesses().get(0).witness().correlation(), w.previous().orElseThrow());
      c.append("2");
    }
    assertEquals(2, audit().messages());
  }
}
