package dev.cinch.lease.hold;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.time.TimeSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** When and how often it is tried again. */
class LeaseWaitTest {
  private static final long SECOND = 1_000_000_000;
  private static final List<Reason> PASSING =
      List.of(Reason.HELD, Reason.NOT_YET, Reason.NOT_HELD, Reason.SUPERSEDED);

  private final List<Long> sleeps = new ArrayList<>();
  private final List<String> notices = new ArrayList<>();
  private final List<Long> queued = new ArrayList<>();
  private long clock;
  private int attempts;

  private final TimeSource time =
      new TimeSource() {
        @Override
        public long wallNanos() {
          throw new AssertionError("deadlines run on the monotonic clock (rule L5)");
        }

        @Override
        public long monotonicNanos() {
          return clock;
        }

        @Override
        public void sleepNanos(long nanos) {
          sleeps.add(nanos);
          clock += nanos;
        }
      };

  private LostAnswers.Asking queue(long waitMs) {
    queued.add(waitMs);
    return LostAnswers.Asking.queued(waitMs);
  }

  private int take(Duration wait, Reason reason, long retryAfterMs, long until) throws Exception {
    return waiting(wait)
        .take(
            asking -> {
              attempts++;
              if (clock < until) {
                throw new LeaseRefusedException(reason, "x is held by \"me\"", retryAfterMs);
              }
              return attempts;
            });
  }

  private LeaseWait waiting(Duration wait) {
    return new LeaseWait(wait, time, this::queue, new Random(7), notices::add, null);
  }

  /** Asks a service that needs five seconds to find out that it is not there. */
  private int takeOfNobody(Duration wait, long until) throws Exception {
    return waiting(wait)
        .take(
            asking -> {
              attempts++;
              if (clock < until) {
                clock += 5 * SECOND;
                throw new LeaseUnavailableException("no answer", null);
              }
              return attempts;
            });
  }

  @Test
  void aReleaseIsNoticedWithinASecondHoweverLongTheLeaseWas() throws Exception {
    for (Reason passing : List.of(Reason.HELD, Reason.NOT_YET)) {
      sleeps.clear();
      attempts = 0;
      clock = 0;
      int taken = take(Duration.ofHours(1), passing, 3_600_000, 10 * SECOND);
      assertEquals(sleeps.size() + 1, taken);
      assertTrue(clock < 11 * SECOND, "at " + clock);
      assertTrue(sleeps.stream().allMatch(s -> s >= SECOND / 2 && s <= SECOND), sleeps.toString());
      assertTrue(new HashSet<>(sleeps).size() > sleeps.size() / 2, "no jitter: " + sleeps);
    }
  }

  @Test
  void theEndOfTheLeaseIsWaitedForWhereItIsNear() throws Exception {
    assertEquals(2, take(Duration.ofHours(1), Reason.HELD, 100, 50_000_000));
    assertTrue(clock <= 100_000_000, "at " + clock);
  }

  /** The service has it wait for as long as it may, and then says that the lease is held. */
  @Test
  void whoQueuedAsksAgainAtOnceForTheRestOfTheTime() {
    assertThrows(
        LeaseRefusedException.class,
        () ->
            waiting(Duration.ofSeconds(25))
                .take(
                    asking -> {
                      clock += queued.get(queued.size() - 1) * 1_000_000;
                      throw new LeaseRefusedException(Reason.HELD, "x is held by \"me\"", 3_000);
                    }));
    assertEquals(List.of(10_000L, 10_000L, 5_000L), queued);
    assertEquals(List.of(), sleeps);
  }

  /** A service that is full, or that ends, has nobody wait. */
  @Test
  void whoDidNotQueuePausesBeforeAskingAgain() throws Exception {
    int unused = take(Duration.ofHours(1), Reason.HELD, 1_000, 10 * SECOND);
    assertEquals(Collections.nCopies(attempts, 10_000L), queued);
    assertEquals(attempts - 1, sleeps.size());
  }

  @Test
  void afterTheTimeTheLastRefusalIsTold() {
    var e =
        assertThrows(
            LeaseRefusedException.class,
            () -> take(Duration.ofMillis(2_500), Reason.HELD, 60_000, Long.MAX_VALUE));
    assertEquals("x is held by \"me\"; waited 2.5 s", e.getMessage());
    assertEquals(2_500_000_000L, clock); // not longer, and one last attempt at the end
    assertEquals(sleeps.size() + 1, attempts);
  }

  @Test
  void theSuccessorOfAServerThatEndsIsWaitedForAndALeaseLostBeforeItsUseIsTakenAnew()
      throws Exception {
    for (Reason passing : List.of(Reason.SUPERSEDED, Reason.NOT_HELD)) {
      notices.clear();
      clock = 0;
      int unused = take(Duration.ofMinutes(5), passing, 0, 10 * SECOND);
      assertTrue(clock < 11 * SECOND, "at " + clock);
      assertEquals(List.of("x is held by \"me\"; trying again"), notices);
    }
  }

  @Test
  void noWaitAndWhatWaitingDoesNotHelpAreToldAtOnce() {
    for (Reason reason : Reason.values()) {
      boolean passes = PASSING.contains(reason);
      Duration wait = passes ? Duration.ZERO : Duration.ofHours(1);
      assertThrows(LeaseRefusedException.class, () -> take(wait, reason, 10, Long.MAX_VALUE));
    }
    assertEquals(List.of(), sleeps);
  }

  @Test
  void aServiceThatIsAwayIsAskedAgainWithPausesUntilItIsBack() throws Exception {
    int taken = takeOfNobody(Duration.ofHours(1), 600 * SECOND);
    assertEquals(sleeps.size() + 1, taken);
    assertTrue(clock < 606 * SECOND, "at " + clock);
    assertTrue(sleeps.stream().allMatch(s -> s >= SECOND / 2 && s <= SECOND), sleeps.toString());
    assertTrue(new HashSet<>(sleeps).size() > sleeps.size() / 2, "no jitter: " + sleeps);
    assertEquals(List.of("no answer; trying again"), notices);
  }

  @Test
  void afterTheTimeItIsToldThatTheServiceIsAway() {
    var e =
        assertThrows(
            LeaseUnavailableException.class,
            () -> takeOfNobody(Duration.ofSeconds(20), Long.MAX_VALUE));
    assertEquals("no answer; waited 20.0 s", e.getMessage());
    assertTrue(clock >= 20 * SECOND && clock <= 25 * SECOND, "at " + clock);
  }

  @Test
  void withoutAWaitAServiceThatIsAwayIsToldAtOnce() {
    var e =
        assertThrows(
            LeaseUnavailableException.class, () -> takeOfNobody(Duration.ZERO, Long.MAX_VALUE));
    assertEquals("no answer", e.getMessage());
    assertEquals(1, attempts);
    assertEquals(List.of(), notices);
  }

  @Test
  void whoeverWaitsForTwoSecondsIsToldForWhomOnce() throws Exception {
    var told = new ArrayList<String>();
    var wait =
        new LeaseWait(
            Duration.ofMinutes(5), time, this::queue, new Random(7), notices::add, told::add);
    long got =
        wait.take(
            asking -> {
              clock += queued.get(queued.size() - 1) * 1_000_000; // kept waiting in the queue
              if (clock < 60 * SECOND) {
                throw new LeaseRefusedException(
                    Reason.HELD, "x is held by \"me\" since " + clock / SECOND, 1);
              }
              return clock;
            });
    assertTrue(got >= 60 * SECOND);
    assertEquals(
        List.of("waiting: x is held by \"me\" since 2 unless it is renewed (see cinch lease who)"),
        told);
    assertEquals(List.of(2_000L, 10_000L), queued.subList(0, 2));
    assertEquals(List.of(), sleeps);
    assertEquals(List.of(), notices);
  }
}
