package dev.cinch.lease.memory;

import static dev.cinch.lease.memory.Rig.LEASE_MS;
import static dev.cinch.lease.memory.Rig.MS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.register.NodeCeilings;
import dev.cinch.lease.time.ManualTime;
import java.util.ArrayDeque;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a node of a cell signs, whoever proposed it. */
final class NodeCeilingsTest {
  private static final long NUMBER = 5;
  private static final long APART_MS = 1_000;
  private static final long LONGEST_MS = 60_000;

  private final FakeRegistry.Store store = new FakeRegistry.Store();
  private final FakeRegistry registry = new FakeRegistry(store, NUMBER);
  private final ManualTime time = new ManualTime();
  private final ArrayDeque<Runnable> publisher = new ArrayDeque<>();
  private final NodeCeilings ceilings = new NodeCeilings(APART_MS, LONGEST_MS, publisher::add);
  private int again;

  @BeforeEach
  void start() {
    ceilings.of(new Rig(time, registry).service);
  }

  private boolean allows(long aheadMs, long lastsMs) {
    long issuedAt = time.wallNanos() + aheadMs * MS;
    return ceilings.allows(issuedAt, issuedAt + lastsMs * MS, () -> again++);
  }

  private void publish() {
    publisher.remove().run();
  }

  private long published() {
    return store.ceilings.getOrDefault(NUMBER, Long.MIN_VALUE);
  }

  @Test
  void l3_aNodeSignsNothingAboveItsOwnCeilings() {
    // Another node's are none of its own: it may remove them with the next one.
    store.ceilings.put(NUMBER, time.wallNanos() + LONGEST_MS * MS);
    assertFalse(allows(0, LEASE_MS));
    assertEquals(0, again);
    store.ceilings.clear();
    publish();
    assertEquals(1, again);
    assertTrue(published() >= time.wallNanos() + LEASE_MS * MS);
    assertTrue(allows(0, LEASE_MS));
    assertFalse(allows(0, LONGEST_MS));
    publish();
    assertTrue(allows(0, LONGEST_MS));
  }

  @Test
  void l3_manyThatWaitHaveOneCeilingPublished() {
    assertFalse(allows(0, LEASE_MS));
    assertFalse(allows(0, LONGEST_MS));
    assertEquals(1, publisher.size());
    publish();
    assertEquals(2, again);
    assertTrue(allows(0, LONGEST_MS));
  }

  @Test
  void l3_aNodeThatWasSupersededSignsNothingMore() {
    assertFalse(allows(0, LEASE_MS));
    publish();
    assertTrue(allows(0, LEASE_MS));
    store.numbers = NUMBER + 1;
    assertFalse(allows(0, LONGEST_MS));
    publish(); // and looks
    assertEquals(1, again);
    assertFalse(allows(0, LEASE_MS), "below a ceiling that stands, but it knows better now");
  }

  @Test
  void l3_aNodeSignsNothingBeforeEarlierCeilingsHavePassed() {
    store.ceilings.put(NUMBER - 1, time.wallNanos() + LEASE_MS * MS);
    ceilings.of(new Rig(time, new FakeRegistry(store, NUMBER)).service);
    assertFalse(allows(0, LEASE_MS));
    publish();
    assertFalse(allows(0, LEASE_MS));
    time.advanceMs(LEASE_MS);
    assertFalse(allows(0, LEASE_MS));
    publisher.forEach(Runnable::run);
    assertTrue(allows(0, LEASE_MS));
  }

  @Test
  void l17_whatBeginsAheadOfTheNodesTimeIsNotSigned() {
    assertFalse(allows(APART_MS + 1, LEASE_MS));
    assertFalse(allows(0, LONGEST_MS + APART_MS + 1));
    assertTrue(publisher.isEmpty());
    assertEquals(Long.MIN_VALUE, published(), "nobody has to wait for what it asked for");
    assertFalse(allows(APART_MS, LEASE_MS));
    publish();
    assertTrue(allows(APART_MS, LEASE_MS));
    assertTrue(allows(-LEASE_MS, LEASE_MS), "an earlier time gives nobody more");
  }

  @Test
  void aStoreThatFailsIsAskedAgainWhenSomebodyAsks() {
    registry.broken = true;
    assertFalse(allows(0, LEASE_MS));
    publish();
    assertEquals(0, again);
    registry.broken = false;
    assertFalse(allows(0, LEASE_MS));
    publish();
    assertTrue(allows(0, LEASE_MS));
  }

  @Test
  void beforeItsServiceHasStartedANodeSignsNothing() {
    var early = new NodeCeilings(APART_MS, LONGEST_MS, publisher::add);
    assertFalse(early.allows(time.wallNanos(), time.wallNanos() + 1, () -> again++));
    assertTrue(publisher.isEmpty());
  }
}
