package dev.cinch.lease.register;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.LeaseHeldException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Witness;
import dev.cinch.lease.instance.Rig;
import dev.cinch.lease.time.ManualTime;
import java.util.List;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Rule L17: what a lease inherits where the one before may be forgotten. */
final class ForgottenTest {
  private static final long MS = 1_000_000;
  private static final long LONGEST_MS = 60_000;
  private static final long APART_MS = 1_000;
  private static final long HOUR_MS = 3_600_000;

  /** A register that forgets when it is told to, until something is written. */
  private static final class Forgetful implements StateRegister {
    private final TreeMap<String, byte[]> values = new TreeMap<>();
    private boolean remembered = true;
    private long quietNanos;
    private int changes;
    private int before;
    private Executable task = () -> {};

    void forget(long quietNanos) {
      this.remembered = false;
      this.quietNanos = quietNanos;
    }

    /** Something that somebody else does before the change of this number, from 1. */
    void beforeChange(int number, Executable task) {
      this.changes = 0;
      this.before = number;
      this.task = task;
    }

    private Found found(LeaseName name) {
      return new Found(Optional.ofNullable(values.get(name.value())), remembered, quietNanos);
    }

    @Override
    public CompletableFuture<Boolean> change(LeaseName name, Change change) {
      if (++changes == before) {
        before = 0;
        assertDoesNotThrow(task);
      }
      try {
        Optional<byte[]> next = change.of(found(name));
        next.ifPresent(
            value -> {
              values.put(name.value(), value);
              remembered = true;
            });
        return CompletableFuture.completedFuture(next.isPresent());
      } catch (Exception e) {
        return CompletableFuture.failedFuture(e);
      }
    }

    @Override
    public CompletableFuture<Found> look(LeaseName name) {
      return CompletableFuture.completedFuture(found(name));
    }

    @Override
    public CompletableFuture<NavigableMap<String, byte[]>> list(
        String prefix, String after, int limit) {
      return CompletableFuture.completedFuture(values);
    }

    @Override
    public void listen(BiConsumer<String, byte[]> listener) {}

    @Override
    public int longestValue() {
      return 1_000;
    }
  }

  private final Forgetful register = new Forgetful();

  /** Of an instance that was made three hours before the tests. */
  private final Rig rig =
      new Rig(
          RegisterBackend.on(register, ManualTime.START - 3 * HOUR_MS * MS, LONGEST_MS, APART_MS));

  private static Witness only(Grant grant) {
    return grant.witnesses().get(0).witness();
  }

  private Fence upTo(long endedAgoMs) {
    return new Fence(rig.time.wallNanos() - (endedAgoMs - APART_MS) * MS, LogSet.ALL);
  }

  @Test
  void l17_aNameOfWhichNothingIsRememberedIsFencedUpToWhatMayHaveBeen() throws Exception {
    register.forget(0);
    Witness first = only(rig.acquire("a"));
    assertEquals(Ending.UNKNOWN, first.previousEnding());
    assertEquals(upTo(0), first.fence());
    register.forget(HOUR_MS * MS);
    assertEquals(upTo(HOUR_MS - LONGEST_MS), only(rig.acquire("b")).fence());
  }

  @Test
  void l17_beforeTheInstanceThereWasNothingToForget() throws Exception {
    register.forget((3 * HOUR_MS + LONGEST_MS + APART_MS + 1) * MS);
    Witness first = only(rig.acquire("a"));
    assertEquals(Ending.NONE, first.previousEnding());
    assertEquals(Fence.NONE, first.fence());
  }

  @Test
  void l17_whereALaterLeaseMayBeForgottenBothAreFenced() throws Exception {
    Grant broken = rig.acquire("a");
    rig.time.advanceMs(Rig.LEASE_MS + APART_MS);
    register.forget(HOUR_MS * MS);
    Witness next = only(rig.acquire("a"));
    assertEquals(Ending.UNKNOWN, next.previousEnding());
    assertEquals(Optional.empty(), next.previous());
    assertEquals(only(broken).generation() + 1, next.generation());
    assertEquals(new Fence(broken.expiry(), LogSet.ALL), next.fence());
  }

  @Test
  void l17_aLeaseThatIsHeldWasFollowedByNone() throws Exception {
    Grant held = rig.acquire("a");
    register.forget(0);
    assertEquals(held.id(), rig.service.acquire(again(held)).id());
    assertTrue(
        rig.service.show(new LeaseName("a")).orElseThrow().state().excludes(), "it is held still");
  }

  /** Its sender has given up, and gives back what may have been granted: nobody else will. */
  @Test
  void whatIsGivenBackWhileItIsGrantedIsNotKept() {
    Operation.Acquire request = rig.request("a", "b");
    register.beforeChange(
        2, // when a is granted, and b is not yet
        () ->
            assertThrows(
                LeaseRefusedException.class,
                () -> rig.service.release(request.id(), LeaseReport.NOTHING)));
    assertThrows(LeaseRefusedException.class, () -> rig.service.acquire(request));
    for (String name : List.of("a", "b")) {
      assertDoesNotThrow(() -> rig.acquire(name), name + " is free");
    }
  }

  /** Nobody has published a ceiling for more (rule L3). */
  @Test
  void l3_aRequestThatIsRepeatedProlongsNothing() throws Exception {
    Grant held = rig.acquire("a");
    rig.time.advanceNanos(Rig.LEASE_MS * MS - 1);
    assertEquals(held.expiry(), rig.service.acquire(again(held)).expiry());
  }

  /** A server that undoes half a request, and another one that carries it out meanwhile. */
  @Test
  void l17_whatACopyOfTheRequestHasMetIsNotGivenBack() throws Exception {
    var other =
        new Rig(
            RegisterBackend.on(
                register, ManualTime.START - 3 * HOUR_MS * MS, LONGEST_MS, APART_MS));
    Grant inTheWay = other.acquire("m");
    Operation.Acquire request = rig.request("a", "m");
    var done = new Grant[1];
    register.beforeChange(
        3, // a, m, and then a again, to be undone
        () -> {
          other.service.release(inTheWay.id(), LeaseReport.NOTHING);
          done[0] = other.service.acquire(request);
        });
    assertThrows(LeaseRefusedException.class, () -> rig.service.acquire(request));
    assertEquals(2, done[0].witnesses().size());
    for (String name : List.of("a", "m")) {
      assertTrue(
          other.service.show(new LeaseName(name)).orElseThrow().state().excludes(),
          name + " is held by the copy");
    }
  }

  @Test
  void l17_theTimeOfANameDoesNotGoBack() throws Exception {
    var behind =
        new Rig(
            RegisterBackend.on(
                register, ManualTime.START - 3 * HOUR_MS * MS, LONGEST_MS, APART_MS));
    rig.time.advanceMs(400);
    Grant first = rig.acquire("a");
    rig.time.advanceMs(1);
    rig.service.release(first.id(), LeaseReport.NOTHING);
    Witness next = only(behind.acquire("a"));
    assertTrue(next.issuedAt() >= rig.time.wallNanos(), next + " is from before");
    assertEquals(rig.time.wallNanos(), next.previousEndedAt());
  }

  private Rig another() {
    return new Rig(
        RegisterBackend.on(register, ManualTime.START - 3 * HOUR_MS * MS, LONGEST_MS, APART_MS));
  }

  private void forgetAfter(long ms, Rig... rigs) {
    for (Rig each : rigs) {
      each.time.advanceMs(ms);
    }
    register.forget(0);
  }

  /** Another request of this server may be in front of it, for seconds. */
  @Test
  void l17_aRequestThatWaitedFencesWhatWasForgottenMeanwhile() throws Exception {
    register.beforeChange(1, () -> forgetAfter(LONGEST_MS, rig));
    Witness first = only(rig.acquire("a"));
    assertEquals(upTo(0), first.fence());
    assertEquals(rig.time.wallNanos(), first.issuedAt());
  }

  /** What was found would be the last state of the name, once it is written. */
  @Test
  void l17_aReleaseThatComesAgainHidesNothingThatIsForgotten() throws Exception {
    Rig other = another();
    Grant grant = rig.acquire("a");
    var unused =
        other.service.resume(new Operation.Resume(grant.id(), grant.witnesses(), Rig.LEASE_MS));
    rig.service.release(grant.id(), LeaseReport.NOTHING);
    forgetAfter(LONGEST_MS, rig, other);
    assertThrows(
        LeaseRefusedException.class, () -> other.service.release(grant.id(), LeaseReport.NOTHING));
    Witness next = only(rig.acquire("a"));
    assertEquals(Ending.UNKNOWN, next.previousEnding());
    assertEquals(upTo(0), next.fence());
  }

  @Test
  void l17_whatIsOverByAnotherClockIsNotProlonged() throws Exception {
    Grant grant = rig.acquire("a");
    forgetAfter(Rig.LEASE_MS - APART_MS, rig);
    assertThrows(
        LeaseRefusedException.class,
        () -> rig.service.renew(grant.id(), Rig.LEASE_MS, LogSet.NONE, LeaseReport.NOTHING));
    assertThrows(LeaseRefusedException.class, () -> rig.service.acquire(again(grant)));
    assertThrows(LeaseHeldException.class, () -> rig.acquire("a")); // it may be held
    rig.time.advanceMs(2 * APART_MS);
    assertEquals(Ending.UNKNOWN, only(rig.acquire("a")).previousEnding());
  }

  /** It has not expired by any clock, so it was written after all that is forgotten. */
  @Test
  void l17_whatHasNotExpiredIsTheLast() throws Exception {
    Grant grant = rig.acquire("a");
    register.forget(0);
    rig.service.release(grant.id(), LeaseReport.NOTHING);
    register.forget(0);
    Witness next = only(rig.acquire("a"));
    assertEquals(Ending.RELEASED, next.previousEnding());
    assertEquals(Fence.NONE, next.fence());
  }

  @Test
  void l17_twoLeasesOfARequestHaveTwoCorrelations() throws Exception {
    Operation.Acquire first = tentative(1);
    Grant broken = rig.service.acquire(first);
    Grant between = rig.service.acquire(tentative(2));
    Grant anew = another().service.acquire(first);
    assertNotEquals(only(broken).correlation(), only(anew).correlation());
    assertEquals(Optional.of(only(between).correlation()), only(anew).previous());
  }

  private static Operation.Acquire tentative(long id) {
    return new Operation.Acquire(
        new Id(9, id), Rig.names("a"), "tester", Rig.LEASE_MS, LogSet.NONE, true);
  }

  private static Operation.Acquire again(Grant held) {
    return new Operation.Acquire(
        held.id(),
        Rig.names("a"),
        "tester",
        Rig.LEASE_MS,
        LogSet.of(List.of(new Id(0, 0xA))),
        false);
  }
}
