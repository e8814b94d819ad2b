package dev.cinch.lease.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.hold.ForwardingLeases;
import dev.cinch.lease.instance.Rig;
import dev.cinch.lease.time.ForwardingTime;
import dev.cinch.lease.time.TimeSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.ThrowingSupplier;

/** What a watch tells, from what a service lists. */
final class LeaseWatchTest {
  private final Rig rig = new Rig();

  /** Whether the service has forgotten everything, or answers nothing. */
  private boolean forgot;

  private boolean silent;

  /** What happens while a watch waits for its next look. */
  private final List<ThrowingSupplier<?>> meanwhile = new ArrayList<>();

  private final LeaseService service =
      new ForwardingLeases(rig.service) {
        @Override
        public List<LeaseInfo> list(String prefix, Optional<LeaseName> after, int limit)
            throws LeaseUnavailableException {
          if (silent) {
            throw new LeaseUnavailableException("nobody answers", null);
          }
          return forgot ? List.of() : rig.service.list(prefix, after, Math.min(limit, 2));
        }
      };

  private final TimeSource time =
      new ForwardingTime(rig.time) {
        @Override
        public void sleepNanos(long nanos) throws InterruptedException {
          super.sleepNanos(nanos);
          try {
            Object unused = meanwhile.isEmpty() ? null : meanwhile.remove(0).get();
          } catch (Throwable e) {
            throw new AssertionError(e);
          }
        }
      };

  private LeaseWatch watch(String... prefixes) {
    return new LeaseWatch(service, List.of(), List.of(prefixes), time);
  }

  private static String next(LeaseWatch watch) throws Exception {
    LeaseEvent event = watch.next();
    return event.kind()
        + event.lease().map(l -> " " + l.witness().name() + " " + l.state()).orElse("");
  }

  private Object release(Grant grant) throws Exception {
    rig.service.release(grant.id(), LeaseReport.NOTHING);
    return grant;
  }

  @Test
  void whatIsHeldIsToldAndThenWhatBecomesOfIt() throws Exception {
    Grant one = rig.acquire("jobs/1");
    Grant gone = rig.acquire("jobs/2");
    Object unused = release(gone);
    Grant other = rig.acquire("other");
    LeaseWatch watch = watch("jobs/");
    assertEquals("HELD jobs/1 HELD", next(watch));
    assertEquals("SYNCED", next(watch));
    meanwhile.add(
        () -> rig.service.renew(one.id(), Rig.LEASE_MS, LogSet.NONE, LeaseReport.NOTHING));
    meanwhile.add(() -> release(other));
    meanwhile.add(() -> rig.acquire("jobs/2"));
    assertEquals("GRANTED jobs/2 HELD", next(watch));
    meanwhile.add(() -> release(one));
    assertEquals("RELEASED jobs/1 RELEASED", next(watch));
    meanwhile.add(
        () ->
            rig.service.revoke(
                new Operation.Revoke(new LeaseName("jobs/2"), "it hangs", Optional.empty())));
    assertEquals("REVOKED jobs/2 REVOKED", next(watch));
    assertEquals("EXPIRED jobs/2 EXPIRED", next(watch));
  }

  @Test
  void withoutNamesAllAreWatchedOnAsManyPagesAsItTakes() throws Exception {
    for (int i = 0; i < 5; i++) {
      Grant unused = rig.acquire("a" + i);
    }
    LeaseWatch watch = watch();
    for (int i = 0; i < 5; i++) {
      assertEquals("HELD a" + i + " HELD", next(watch));
    }
    assertEquals("SYNCED", next(watch));
  }

  @Test
  void someAreWatchedByName() throws Exception {
    Grant a = rig.acquire("a");
    Grant unused = rig.acquire("ab");
    var watch = new LeaseWatch(service, Rig.names("a", "none"), List.of(), time);
    assertEquals("HELD a HELD", next(watch));
    assertEquals("SYNCED", next(watch));
    meanwhile.add(() -> release(a));
    assertEquals("RELEASED a RELEASED", next(watch));
  }

  /** The next holder's witness says how the one before ended. */
  @Test
  void whatEndedBetweenTwoLooksIsToldBeforeWhatFollowed() throws Exception {
    Grant a = rig.acquire("a");
    LeaseWatch watch = watch("");
    assertEquals("HELD a HELD", next(watch));
    assertEquals("SYNCED", next(watch));
    meanwhile.add(
        () -> {
          Object unused = release(a);
          return rig.acquire("a");
        });
    assertEquals("RELEASED a RELEASED", next(watch));
    assertEquals("GRANTED a HELD", next(watch));
    meanwhile.add(
        () -> {
          rig.time.advanceMs(Rig.LEASE_MS);
          return rig.acquire("a");
        });
    assertEquals("EXPIRED a EXPIRED", next(watch));
    assertEquals("GRANTED a HELD", next(watch));
  }

  /** Nobody knows how the one ended that was seen last. */
  @Test
  void whatIsNotTheLastOneEndsUntold() throws Exception {
    Grant a = rig.acquire("a");
    LeaseWatch watch = watch("");
    assertEquals("HELD a HELD", next(watch));
    assertEquals("SYNCED", next(watch));
    meanwhile.add(
        () -> {
          Object unused = release(a);
          Object between = release(rig.acquire("a"));
          return rig.acquire("a");
        });
    assertEquals("GRANTED a HELD", next(watch));
  }

  /** A server that starts has forgotten all, and a holder may resume what it has. */
  @Test
  void whatIsNotKnownAnyMoreIsToldOnceItsTimeIsOver() throws Exception {
    Grant unused = rig.acquire("a");
    LeaseWatch watch = watch("");
    assertEquals("HELD a HELD", next(watch));
    assertEquals("SYNCED", next(watch));
    forgot = true;
    long from = rig.time.monotonicNanos();
    assertEquals("EXPIRED a EXPIRED", next(watch));
    assertEquals(Rig.LEASE_MS, (rig.time.monotonicNanos() - from) / 1_000_000);
    forgot = false;
    meanwhile.add(() -> rig.acquire("b"));
    assertEquals("GRANTED b HELD", next(watch));
  }

  @Test
  void aServerThatIsSilentForAWhileLosesNothing() throws Exception {
    Grant a = rig.acquire("a");
    LeaseWatch watch = watch("");
    assertEquals("HELD a HELD", next(watch));
    assertEquals("SYNCED", next(watch));
    silent = true;
    assertThrows(LeaseUnavailableException.class, watch::next);
    Object unused = release(a);
    silent = false;
    assertEquals("RELEASED a RELEASED", next(watch));
  }
}
