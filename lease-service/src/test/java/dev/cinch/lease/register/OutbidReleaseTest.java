package dev.cinch.lease.register;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Correlation;
import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Revocation;
import dev.cinch.lease.instance.Rig;
import dev.cinch.lease.rules.Inheritance;
import dev.cinch.lease.rules.Moment;
import dev.cinch.lease.rules.WatermarkRule;
import dev.cinch.lease.table.LeaseBackend;
import dev.cinch.lease.table.LeaseBackend.UnansweredException;
import dev.cinch.lease.time.ManualTime;
import java.util.HashMap;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** An attempt to release that another server comes in between of, and the next one. */
final class OutbidReleaseTest {
  /** Values in memory. */
  private static final class Outbid implements StateRegister {
    private final Map<LeaseName, byte[]> values = new HashMap<>();

    /** Done once, after the first attempt of a change and before the second. */
    private @Nullable Runnable meanwhile;

    /** Whether the last change has written something. */
    private boolean written;

    /** Whether the first attempt leaves nothing behind. */
    private boolean lost;

    /** Whether nobody hears whether a change was written. */
    private boolean unheard;

    @Override
    public CompletableFuture<Boolean> change(LeaseName name, Change change) {
      try {
        Optional<byte[]> next = change.of(found(name));
        Runnable other = meanwhile;
        meanwhile = null;
        if (other != null) {
          if (!lost) {
            values.put(name, next.orElseThrow());
          }
          other.run();
          next = change.of(found(name));
        }
        next.ifPresent(value -> values.put(name, value));
        written = next.isPresent();
        if (unheard) {
          return CompletableFuture.failedFuture(new UnansweredException("too few answer"));
        }
        return CompletableFuture.completedFuture(next.isPresent());
      } catch (LeaseRefusedException e) {
        return CompletableFuture.failedFuture(e);
      }
    }

    private Found found(LeaseName name) {
      return new Found(Optional.ofNullable(values.get(name)), true, 0);
    }

    @Override
    public CompletableFuture<Found> look(LeaseName name) {
      return CompletableFuture.completedFuture(found(name));
    }

    @Override
    public CompletableFuture<NavigableMap<String, byte[]>> list(
        String prefix, String after, int limit) {
      return CompletableFuture.completedFuture(new TreeMap<>());
    }

    @Override
    public void listen(BiConsumer<String, byte[]> listener) {}

    @Override
    public int longestValue() {
      return 10_000;
    }
  }

  private final Outbid register = new Outbid();
  private final Rig one = rig();
  private final Rig two = rig();

  private Rig rig() {
    return new Rig(RegisterBackend.on(register, ManualTime.START, 60_000, 0));
  }

  private Grant acquire(Rig at) {
    try {
      return at.acquire("a");
    } catch (LeaseRefusedException | LeaseUnavailableException e) {
      throw new AssertionError(e);
    }
  }

  /** Another server found what the first attempt left, and granted the name on. */
  @Test
  void aReleaseThatAnotherServerTookUpIsDone() throws Exception {
    Grant grant = acquire(one);
    var next = new Grant[1];
    register.meanwhile = () -> next[0] = acquire(two);
    one.service.release(grant.id(), LeaseReport.NOTHING);
    assertTrue(register.written, "what it found may be gone, unless it is written");
    var followed = next[0].witnesses().get(0).witness();
    assertEquals(Ending.RELEASED, followed.previousEnding());
    two.service.release(next[0].id(), LeaseReport.NOTHING); // which has it still
  }

  /** The first attempt was lost, and the lease expired before the second. */
  @Test
  void aReleaseThatCameToNothingBeforeTheLeaseExpiredIsRefused() throws Exception {
    Grant grant = acquire(one);
    register.lost = true;
    two.time.advanceMs(2 * Rig.LEASE_MS);
    register.meanwhile = () -> acquire(two);
    var e =
        assertThrows(
            LeaseRefusedException.class,
            () -> one.service.release(grant.id(), LeaseReport.NOTHING));
    assertEquals(Reason.NOT_HELD, e.reason());
    assertTrue(String.valueOf(e.getMessage()).contains("expired"), e.getMessage());
  }

  /** The first attempt was lost, and then all was forgotten: nothing says that it was done. */
  @Test
  void l17_aReleaseOfWhatIsForgottenIsNotTakenForDone() throws Exception {
    Grant grant = acquire(one);
    register.lost = true;
    register.meanwhile = () -> register.values.remove(new LeaseName("a"));
    var e =
        assertThrows(
            LeaseRefusedException.class,
            () -> one.service.release(grant.id(), LeaseReport.NOTHING));
    assertEquals(Reason.NOT_HELD, e.reason());
    assertEquals(Map.of(), register.values);
  }

  private LeaseBackend backend() {
    return RegisterBackend.on(register, ManualTime.START, 60_000, 0)
        .create(
            new LeaseBackend.Setting(
                1,
                Correlation.NO_STORE,
                Inheritance.origin(Ending.NONE, Fence.NONE),
                new WatermarkRule(0, 0),
                1,
                () -> ManualTime.START));
  }

  /** The first attempt reached too few: what it left may be gone, and the lease be prolonged. */
  @Test
  void l17_aRevocationThatIsFoundIsWrittenOnceMore() throws Exception {
    LeaseBackend backend = backend();
    var now = new Moment(ManualTime.START, Moment.UNKNOWN);
    var granted = backend.acquire(one.request("a"), now, Long.MAX_VALUE);
    var request = new Operation.Revoke(new LeaseName("a"), "gone", Optional.empty());
    Revocation revocation = backend.revocable(request, now);
    register.meanwhile = () -> {};
    assertEquals(granted.get(0).expiry(), backend.revoked(revocation, now.time()));
    assertTrue(register.written, "what it found may be gone, unless it is written");
  }

  /** Nobody heard whether the first one was written. */
  @Test
  void aCopyOfAReleaseThatMayHaveBeenDoneIsDone() throws Exception {
    LeaseBackend backend = backend();
    var now = new Moment(ManualTime.START, Moment.UNKNOWN);
    Operation.Acquire request = one.request("a");
    var granted = backend.acquire(request, now, Long.MAX_VALUE);
    assertEquals(1, granted.size());
    var release = new Operation.Release(request.id(), LeaseReport.NOTHING);
    register.unheard = true;
    assertThrows(UnansweredException.class, () -> backend.release(release, now));
    register.unheard = false;
    backend.release(release, now);
    assertEquals(
        Ending.RELEASED,
        backend.acquire(one.request("a"), now, Long.MAX_VALUE).get(0).previousEnding());
  }
}
