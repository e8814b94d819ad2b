package dev.cinch.lease.hold;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Altered;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.instance.Rig;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;

/** Rule L13: what a holder does when another instance of the service answers. */
final class ResumedHoldTest {
  private static final long MS = 1_000_000;
  private static final HoldSettings SETTINGS = new HoldSettings(Rig.LEASE_MS, 10, 200, 500);

  private final Rig rig = new Rig();
  private final Script service = new Script();
  private final List<String> losses = new ArrayList<>();
  private LeaseReport report = LeaseReport.NOTHING;

  /** Plays an instance that knows the leases once it has resumed them. */
  private final class Script extends ForwardingLeases {
    /** Of the instance that answers. */
    long number = 1;

    boolean knows = true;
    final List<String> asked = new ArrayList<>();

    /** What happens instead of an answer to a resume. */
    Failure resuming = () -> {};

    Failure releasing = () -> {};

    /** Whether the next request meets a server that has not met the grant. */
    boolean unmet;

    /** While a resume is under way. */
    Runnable meanwhile = () -> {};

    interface Failure {
      void happen() throws LeaseRefusedException, LeaseUnavailableException;
    }

    private Grant last = new Grant(new Id(0, 0), List.of());

    Script() {
      super(rig.service);
    }

    private Grant signed(Grant grant, long expiry) {
      last =
          new Grant(
              grant.id(),
              grant.witnesses().stream().map(w -> signed(w.witness(), expiry)).toList());
      return last;
    }

    private SignedWitness signed(Witness w, long expiry) {
      var at =
          Altered.with(
              w,
              "instance",
              number,
              "generation",
              1,
              "tentative",
              false,
              "expiry",
              expiry,
              "issuedAt",
              rig.time.wallNanos(),
              "resumed",
              number > 1);
      return new WitnessSigner(SigningKey.ofSeed(new byte[32])).sign(at);
    }

    void check(LeaseReport said, String what) throws LeaseRefusedException {
      asked.add(what + " to " + said.instance().orElse(0) + at());
      if (unmet) {
        unmet = false;
        throw new LeaseRefusedException(Reason.NOT_MET, "not met here", 0);
      }
      if (!knows || said.instance().orElse(0) != number) {
        throw new LeaseRefusedException(Reason.OTHER_INSTANCE, "another", 0);
      }
    }

    private String at() {
      return " at " + number;
    }

    @Override
    public Outcome carryOut(Operation operation) throws LeaseUnavailableException {
      try {
        if (operation instanceof Operation.Renew renew) {
          return renewed(renew);
        } else if (operation instanceof Operation.Resume resume) {
          return resumed(resume);
        }
        return released((Operation.Release) operation);
      } catch (LeaseRefusedException e) {
        return new Outcome.Refused(e);
      }
    }

    private Outcome renewed(Operation.Renew renew) throws LeaseRefusedException {
      LeaseReport said = renew.report();
      report.watermark().ifPresent(w -> assertEquals(report.watermark(), said.watermark()));
      check(said, "renew");
      return new Outcome.Granted(signed(last, rig.time.wallNanos() + renew.durationMs() * MS));
    }

    private Outcome resumed(Operation.Resume request)
        throws LeaseRefusedException, LeaseUnavailableException {
      asked.add("resume from " + request.witnesses().get(0).witness().instance() + at());
      meanwhile.run();
      resuming.happen();
      knows = true;
      return new Outcome.Granted(signed(last, rig.time.wallNanos() + request.durationMs() * MS));
    }

    private Outcome released(Operation.Release release)
        throws LeaseRefusedException, LeaseUnavailableException {
      LeaseReport said = release.report();
      releasing.happen();
      check(said, "release");
      return Outcome.RELEASED;
    }

    void restart() {
      number++;
      knows = false;
      asked.clear();
    }
  }

  private HeldLease hold(String... names) throws Exception {
    var askedAt = HeldLease.AskedAt.now(rig.time);
    Grant grant = service.signed(rig.acquire(names), rig.time.wallNanos() + Rig.LEASE_MS * MS);
    return new HeldLease(
        service,
        rig.time,
        SETTINGS,
        grant,
        askedAt,
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

  /** A lease whose service was restarted. */
  private HeldLease restarted() throws Exception {
    HeldLease lease = hold("a");
    service.restart();
    return lease;
  }

  private static void noAnswer() throws LeaseUnavailableException {
    throw new LeaseUnavailableException("no answer", null);
  }

  private String last() {
    return service.asked.get(service.asked.size() - 1);
  }

  @Test
  void l13_itGoesOnWhereItWasResumedAndSaysWhatItWroteBefore() throws Exception {
    report = new LeaseReport(OptionalLong.of(77), true, List.of());
    HeldLease lease = restarted();
    live(lease, 4_000);
    assertEquals(
        List.of("renew to 1 at 2", "resume from 1 at 2", "renew to 2 at 2"), service.asked);
    live(lease, 30_000);
    assertEquals(List.of(), losses);
    lease.release(LeaseReport.NOTHING);
    assertEquals("release to 2 at 2", last());
  }

  @Test
  void l13_fromItsNewestWitnesses() throws Exception {
    HeldLease lease = restarted();
    live(lease, 4_000);
    service.restart();
    live(lease, 4_000);
    assertEquals("resume from 2 at 3", service.asked.get(1));
  }

  @Test
  void l13_aResumeThatIsNotAnsweredIsSentAgainWhileTheLeaseLasts() throws Exception {
    HeldLease lease = restarted();
    service.resuming =
        () -> {
          service.resuming = () -> {};
          noAnswer();
        };
    live(lease, 9_000);
    assertEquals(2, service.asked.stream().filter(a -> a.startsWith("resume")).count());
    assertEquals(HeldLease.State.HELD, lease.state());
  }

  @Test
  void l13_orTheLeaseIsUsedWhereItIs() throws Exception {
    HeldLease lease = restarted();
    service.resuming = ResumedHoldTest::noAnswer;
    live(lease, 4_000);
    service.number = 1; // the earlier one is there again
    service.knows = true;
    live(lease, 9_000);
    assertEquals(HeldLease.State.HELD, lease.state());
    lease.release(LeaseReport.NOTHING);
    assertEquals("release to 1 at 1", last());
  }

  @Test
  void l13_whoCanNotResumeHasLostIt() throws Exception {
    HeldLease lease = restarted();
    service.resuming =
        () -> {
          throw new LeaseRefusedException(Reason.NOT_HELD, "another instance ended it", 0);
        };
    live(lease, 4_000);
    assertEquals(List.of("another instance ended it"), losses);
  }

  @Test
  void l13_afterAReleaseWasSentNothingIsResumed() throws Exception {
    HeldLease lease = restarted();
    service.releasing = ResumedHoldTest::noAnswer;
    assertThrows(LeaseUnavailableException.class, () -> lease.release(LeaseReport.NOTHING));
    assertThrows(LeaseRefusedException.class, () -> lease.renew(LogSet.NONE));
    service.releasing = () -> {};
    assertThrows(LeaseRefusedException.class, () -> lease.release(LeaseReport.NOTHING));
    assertEquals(Long.MAX_VALUE, lease.doWork(rig.time.monotonicNanos()));
    assertEquals(List.of("release to 1 at 2"), service.asked);
  }

  @Test
  void l13_anAnswerThatComesAfterItWasGivenUpIsNotTaken() throws Exception {
    HeldLease lease = restarted();
    service.meanwhile = lease::close;
    rig.time.advanceMs(4_000);
    long next = lease.doWork(rig.time.monotonicNanos());
    assertEquals(Long.MAX_VALUE, next);
    assertEquals(1, lease.grant().witnesses().get(0).witness().instance());
    service.asked.clear();
    assertThrows(LeaseRefusedException.class, () -> lease.release(LeaseReport.NOTHING));
    assertEquals(List.of("release to 1 at 2"), service.asked);
  }

  /** All servers of the same leases know what one of them does, however late (rule L17). */
  @Test
  void l13_aReleaseAtAServerThatHasNotMetTheGrantIsMadeThere() throws Exception {
    HeldLease lease = hold("x");
    service.unmet = true;
    service.asked.clear();
    lease.release(LeaseReport.NOTHING);
    assertEquals(
        List.of("release to 1 at 1", "resume from 1 at 1", "release to 1 at 1"), service.asked);
    assertEquals(HeldLease.State.CLOSED, lease.state());
  }

  /** Else the release would name the instance that the renewal is about to leave. */
  @Test
  void l13_aReleaseWaitsForTheRenewalThatIsUnderWay() throws Exception {
    HeldLease lease = restarted();
    var released =
        new FutureTask<>(
            () -> {
              lease.release(LeaseReport.NOTHING);
              return true;
            });
    var releasing = new Thread(released);
    service.meanwhile =
        () -> {
          releasing.start();
          while (releasing.getState() != Thread.State.BLOCKED) {
            Thread.onSpinWait();
          }
        };
    live(lease, 4_000);
    assertTrue(released.get());
    assertEquals("release to 2 at 2", last());
  }

  /** What was sent may be carried out at any later time, and the name granted on. */
  @Test
  void l13_nothingIsResumedInOrderToBeReleased() throws Exception {
    for (Reason reason : Reason.values()) {
      if (reason == Reason.NOT_MET) {
        continue;
      }
      HeldLease lease = hold(reason.name());
      service.restart();
      service.resuming = ResumedHoldTest::noAnswer;
      live(lease, 4_000);
      service.resuming = () -> {};
      service.asked.clear();
      service.releasing =
          () -> {
            service.asked.add("release");
            throw new LeaseRefusedException(reason, "not here", 200);
          };
      assertThrows(LeaseRefusedException.class, () -> lease.release(LeaseReport.NOTHING));
      assertEquals(List.of("release"), service.asked, "after " + reason);
      assertEquals(HeldLease.State.CLOSED, lease.state());
    }
  }
}
