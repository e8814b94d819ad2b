package dev.cinch.cli.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Between;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.hold.HeldLease;
import dev.cinch.lease.hold.HoldSettings;
import dev.cinch.lease.instance.ServiceInstance;
import dev.cinch.lease.time.TimeSource;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** When a command is ended that runs under leases; by a clock that stands still. */
class LeaseCountdownTest {
  private static final long MS = 1_000_000;

  private final List<String> said = new ArrayList<>();
  private LeaseCountdown.Hook hook = LeaseCountdown.Hook.NONE;
  private long clock;
  private boolean away;
  private @Nullable LeaseService started;

  private final TimeSource time =
      new TimeSource() {
        @Override
        public long wallNanos() {
          return 1_767_225_600_000_000_000L + clock;
        }

        @Override
        public long monotonicNanos() {
          return clock;
        }

        @Override
        public void sleepNanos(long nanos) {
          clock += nanos;
        }
      };

  /** A command that does not end before it is killed, while its leases are renewed. */
  private final class Stubborn implements LeaseCountdown.Attended {
    private final HeldLease held;
    private final long endsAt;
    private long toldAt = -1;
    private long killedAt = -1;
    private LeaseCountdown.@Nullable Limits told;

    Stubborn(HeldLease held, long endsAt) {
      this.held = held;
      this.endsAt = endsAt;
    }

    @Override
    public boolean await(long nanos) {
      clock += Math.max(1, nanos);
      long unused = held.doWork(clock);
      return killedAt >= 0 || clock >= endsAt;
    }

    @Override
    public void end() {
      toldAt = clock;
    }

    @Override
    public void kill() {
      killedAt = clock;
    }

    @Override
    public void mayRun(LeaseCountdown.Limits limits) {
      told = limits;
    }
  }

  /** What is run when the leases are lost; it takes so long unless it is killed. */
  private final class Slow implements LeaseCountdown.Hook {
    private final long takes;
    private long begunAt = -1;
    private long left;
    private long killedAt = -1;
    private String why = "";

    Slow(long takes) {
      this.takes = takes;
    }

    @Override
    public void begin(String reason, long leftNanos) {
      begunAt = clock;
      left = leftNanos;
      why = reason;
    }

    @Override
    public boolean isOver() {
      return begunAt < 0 || killedAt >= 0 || clock - begunAt >= takes;
    }

    @Override
    public void await(long nanos) {
      clock += Math.max(1, nanos);
    }

    @Override
    public void kill() {
      killedAt = killedAt < 0 ? clock : killedAt;
    }
  }

  private LeaseService service() throws Exception {
    LeaseService there = started;
    if (there != null) {
      return there;
    }
    var memory =
        ServiceInstance.builder(new WitnessSigner(SigningKey.generate()), time).fresh(true).start();
    started =
        Between.of(
            LeaseService.class,
            call -> {
              if (away) {
                throw new LeaseUnavailableException("away", null);
              }
              return call.by(memory);
            });
    return started;
  }

  private HeldLease held(long lengthMs) throws Exception {
    LeaseService service = service();
    var random = new Random(7);
    var request =
        new Operation.Acquire(
            Id.random(random), List.of(new LeaseName("a")), "h", lengthMs, LogSet.ALL, false);
    var asked = HeldLease.AskedAt.now(time);
    Grant grant = service.acquire(request);
    return new HeldLease(
        service,
        time,
        HoldSettings.of(lengthMs),
        grant,
        asked,
        () -> LeaseReport.NOTHING,
        (lease, why) -> {},
        random);
  }

  private boolean attend(long lengthMs, Stubborn command) throws InterruptedException {
    return new LeaseCountdown(lengthMs * MS, said::add, hook).attend(command, command.held);
  }

  @ParameterizedTest
  @ValueSource(longs = {50, 300, 1_000, 2_000, 30_000, 60_000})
  void l5_aCommandThatGoesOnIsKilledBeforeItsLeasesCanBeAnothers(long lengthMs) throws Exception {
    away = false;
    var command = new Stubborn(held(lengthMs), Long.MAX_VALUE);
    away = true;
    assertFalse(attend(lengthMs, command));
    long length = lengthMs * MS;
    assertTrue(command.killedAt <= length * 92 / 100 + 1_000, "at " + command.killedAt);
    assertTrue(command.toldAt >= length * 3 / 4, "told at " + command.toldAt);
    assertTrue(command.killedAt - command.toldAt >= length * 14 / 100, "time to end");
    LeaseCountdown.Limits unattended = Objects.requireNonNull(command.told);
    assertEquals(unattended.kill(), unattended.end(), "it was told here");
    assertTrue(unattended.kill() > command.killedAt, "" + unattended);
    assertTrue(unattended.kill() < command.held.deadline(), "" + unattended);
    assertEquals(
        List.of(
            "the leases can't be renewed, the lease service does not answer; ending the command",
            "it did not end: killing it"),
        said);
  }

  /** On a machine so busy that all of them fail in the middle third. */
  @Test
  void aRenewalThatIsAnsweredAfterTwoThirdsIsInTime() throws Exception {
    var command = new Stubborn(held(30_000), 65_000 * MS);
    var late =
        new LeaseCountdown.Attended() {
          @Override
          public boolean await(long nanos) throws InterruptedException {
            away = clock < 20_000 * MS;
            return command.await(nanos);
          }

          @Override
          public void end() {
            command.end();
          }

          @Override
          public void kill() {
            command.kill();
          }

          @Override
          public void mayRun(LeaseCountdown.Limits limits) {
            command.mayRun(limits);
          }
        };
    assertTrue(new LeaseCountdown(30_000 * MS, said::add, hook).attend(late, command.held));
    assertEquals(List.of(), said);
    LeaseCountdown.Limits unattended = Objects.requireNonNull(command.told);
    assertTrue(unattended.end() > 30_000 * MS, "the guard heard of no renewal: " + unattended);
    assertTrue(unattended.kill() < command.held.deadline(), "" + unattended);
  }

  @Test
  void aLossIsToldBeforeTheCommandIsEnded() throws Exception {
    HeldLease held = held(30_000);
    var slow = new Slow(700 * MS);
    hook = slow;
    away = true;
    var command = new Stubborn(held, Long.MAX_VALUE);
    assertFalse(attend(30_000, command));
    assertEquals("the leases can't be renewed, the lease service does not answer", slow.why);
    assertEquals(held.deadline() - slow.begunAt, slow.left);
    assertTrue(slow.left <= 6_000 * MS && slow.left > 5_800 * MS, "" + slow.left);
    long waited = command.toldAt - slow.begunAt;
    assertTrue(waited >= 700 * MS && waited <= 720 * MS, "" + waited);
  }

  /** Whatever it does, the command ends before its leases can be another's. */
  @ParameterizedTest
  @ValueSource(longs = {50, 300, 1_000, 30_000})
  void l5_whatIsToldOfALossDelaysNoEndBeyondTheLeases(long lengthMs) throws Exception {
    var command = new Stubborn(held(lengthMs), Long.MAX_VALUE);
    var endless = new Slow(Long.MAX_VALUE);
    hook = endless;
    away = true;
    assertFalse(attend(lengthMs, command));
    long length = lengthMs * MS;
    assertTrue(command.killedAt <= length * 93 / 100 + 1_000, "at " + command.killedAt);
    assertTrue(command.killedAt - command.toldAt >= length * 6 / 100, "time to end");
    assertTrue(endless.killedAt <= length * 93 / 100 + 1_000, "at " + endless.killedAt);
  }

  /** The command has ended, and the hook may write its letter. */
  @Test
  void whatIsToldOfALossMayEndBehindTheCommand() throws Exception {
    HeldLease held = held(30_000);
    service().release(held.id(), LeaseReport.NOTHING);
    var slow = new Slow(12_000 * MS);
    hook = slow;
    var command = new Stubborn(held, 15_000 * MS);
    assertFalse(attend(30_000, command));
    assertEquals("the leases can't be renewed: the grant was released; acquire anew", slow.why);
    assertTrue(slow.killedAt >= slow.begunAt + slow.takes, "at " + slow.killedAt);
    assertTrue(command.toldAt < 0, "it ended by itself");
  }

  @Test
  void leasesThatAreLostEndItAtOnce() throws Exception {
    HeldLease held = held(30_000);
    service().release(held.id(), LeaseReport.NOTHING);
    var command = new Stubborn(held, 20_000 * MS);
    assertFalse(attend(30_000, command));
    assertTrue(command.toldAt <= 11_200 * MS, "told at " + command.toldAt);
    assertEquals(
        List.of(
            "the leases can't be renewed: the grant was released; acquire anew; ending the"
                + " command"),
        said);
  }
}
