package dev.cinch.bag.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Rig;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.registry.ServiceNames.CeilingName;
import dev.cinch.bag.registry.ServiceNames.SignedName;
import dev.cinch.bag.storage.posix.PosixStore;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Witness;
import dev.cinch.lease.instance.InstanceRegistry;
import dev.cinch.lease.instance.ServiceInstance;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.LongStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Rules L3 and L11 where several nodes are one instance. */
final class CellInstancesTest {
  private static final SigningKey KEY = SigningKey.ofSeed(new byte[32]);
  private static final InstanceFile WHERE =
      new InstanceFile("http://a:8470,http://b:8470,http://c:8470", "web-1");

  private Rig rig;
  private long requests;

  @BeforeEach
  void start() throws IOException {
    rig = Rig.memory(5);
  }

  private StoreContext store() throws IOException {
    return rig.open(rig.disk.view(Rig.ALICE), rig.time).context().store();
  }

  private long makeCell() throws IOException {
    return new StoreInstances(store(), WHERE, KEY).takeNumber();
  }

  private StoreInstances node(long number) throws IOException {
    StoreInstances node = StoreInstances.ofCell(store(), number, KEY);
    assertEquals(number, node.takeNumber());
    return node;
  }

  private long[] ceilings(long number) throws IOException {
    return PosixStore.of(store().storage()).fs().list(store().layout().ceilings().path()).stream()
        .flatMap(name -> SignedName.parse(name).flatMap(s -> CeilingName.parse(s.base())).stream())
        .filter(c -> c.instance() == number)
        .mapToLong(CeilingName::ceiling)
        .sorted()
        .toArray();
  }

  @Test
  void l9_allNodesHaveTheNumberOfTheCellAndLeaveWhereItIs() throws IOException {
    assertEquals(1, makeCell());
    StoreInstances a = node(1);
    StoreInstances b = node(1);
    assertTrue(a.publishCeiling(100));
    assertTrue(b.isLatest());
    assertEquals(1, node(1).takeNumber());
    StoreShards.Instance latest = StoreInstances.latest(store()).orElseThrow();
    assertEquals(new StoreShards.Instance(1, Optional.of(WHERE)), latest);
    assertEquals("instance 1 at " + WHERE.address() + " on web-1", a.latest());
  }

  @Test
  void l9_noNodeStartsOrPublishesOnceAnotherInstanceHasTakenOver() throws IOException {
    long number = makeCell();
    StoreInstances runs = node(number);
    var where = new InstanceFile("http://d:8470", "web-2");
    assertEquals(2, new StoreInstances(store(), where, KEY).takeNumber());
    assertFalse(runs.isLatest());
    assertFalse(runs.publishCeiling(100));
    StoreInstances late = StoreInstances.ofCell(store(), number, KEY);
    IOException e = assertThrows(IOException.class, late::takeNumber);
    assertEquals(
        "instance 2 at http://d:8470 on web-2 has taken over from the cell, which is instance 1:"
            + " make a new cell to serve this store",
        e.getMessage());
  }

  @Test
  void l9_aNodeOfAStoreThatKnowsNoSuchCellDoesNotStart() throws IOException {
    StoreInstances elsewhere = StoreInstances.ofCell(store(), 3, KEY);
    IOException e = assertThrows(IOException.class, elsewhere::takeNumber);
    assertTrue(String.valueOf(e.getMessage()).contains("has no instance 3"), e::getMessage);
    assertThrows(IllegalArgumentException.class, () -> StoreInstances.ofCell(store(), 0, KEY));
  }

  @Test
  void l16_aCellEndsWhereAShardMapBegins() throws IOException {
    StoreInstances runs = node(makeCell());
    assertEquals(2, StoreShards.publish(store(), 2, KEY).count());
    assertFalse(runs.publishCeiling(100));
    StoreInstances late = StoreInstances.ofCell(store(), 1, KEY);
    IOException e = assertThrows(IOException.class, late::takeNumber);
    assertEquals(
        "the store has shard map 1 of 2 shards, of which a cell can serve no shard",
        e.getMessage());
  }

  @Test
  void l3_aLaterInstanceFindsTheHighestCeilingOfAllNodes() throws IOException {
    long number = makeCell();
    StoreInstances a = node(number);
    StoreInstances b = node(number);
    assertTrue(a.publishCeiling(500)); // and no more: nobody asks it
    for (long ceiling = 100; ceiling < 120; ceiling++) {
      assertTrue(b.publishCeiling(ceiling));
    }
    StoreInstances later = new StoreInstances(store(), KEY);
    assertEquals(2, later.takeNumber());
    assertEquals(OptionalLong.of(500), later.highestEarlierCeiling());
  }

  @Test
  void l3_nodesThatPublishTheSameCeilingBothHaveIt() throws IOException {
    long number = makeCell();
    StoreInstances a = node(number);
    StoreInstances b = node(number);
    assertTrue(a.publishCeiling(100));
    assertTrue(b.publishCeiling(100));
    for (long ceiling = 101; ceiling <= 110; ceiling++) {
      assertTrue(a.publishCeiling(ceiling)); // and removes what b relies on, below its own
    }
    StoreInstances later = new StoreInstances(store(), KEY);
    assertEquals(2, later.takeNumber());
    assertEquals(OptionalLong.of(110), later.highestEarlierCeiling());
  }

  /** A node that starts again knows none of its ceilings. */
  @Test
  void l3_whatNodesLeaveBehindIsRemoved() throws IOException {
    long number = makeCell();
    long ceiling = 0;
    for (int start = 0; start < 50; start++) {
      StoreInstances node = node(number);
      for (int i = 0; i < 1 + start % 3; i++) {
        assertTrue(node.publishCeiling(++ceiling));
      }
    }
    assertEquals(ceiling, LongStream.of(ceilings(number)).max().orElseThrow());
    assertTrue(ceilings(number).length > 90, "those that ended so soon removed none");
    StoreInstances stays = node(number);
    for (int i = 0; i <= StoreCeilings.KEPT; i++) {
      assertTrue(stays.publishCeiling(++ceiling));
    }
    assertEquals(StoreCeilings.KEPT, ceilings(number).length);
    // What another leaves while this one goes on:
    for (int i = 0; i < StoreCeilings.LOOK_EVERY; i++) {
      assertTrue(node(number).publishCeiling(++ceiling));
      assertTrue(stays.publishCeiling(++ceiling));
    }
    assertTrue(
        ceilings(number).length <= 2 * StoreCeilings.KEPT, ceilings(number).length + " left");
  }

  @Test
  void l3_ceilingsOfOtherInstancesStay() throws IOException {
    StoreInstances before = new StoreInstances(store(), KEY);
    assertEquals(1, before.takeNumber());
    assertTrue(before.publishCeiling(5));
    StoreInstances node = node(makeCell());
    for (long ceiling = 100; ceiling < 110; ceiling++) {
      assertTrue(node.publishCeiling(ceiling));
    }
    assertEquals(OptionalLong.of(5), node.highestEarlierCeiling());
  }

  @Test
  void l3_aCeilingStaysPublishedThoughOldOnesCanNotBeListed() throws IOException {
    long number = makeCell();
    var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    StoreInstances node =
        StoreInstances.ofCell(rig.open(fs, rig.time).context().store(), number, KEY);
    assertEquals(number, node.takeNumber());
    for (long ceiling = 1; ceiling <= StoreCeilings.KEPT; ceiling++) {
      assertTrue(node.publishCeiling(ceiling));
    }
    fs.beforeFirst(
        op -> op.is(FaultyFs.Kind.LIST, "ceilings"),
        () -> {
          throw new IOException("the cable fell out");
        });
    assertTrue(node.publishCeiling(100));
    assertEquals(100, LongStream.of(ceilings(number)).max().orElseThrow());
  }

  /**
   * Servers of one number end no leases, so that none of them tells whose a lease is (rule L11).
   */
  @Test
  void l10_nobodyResumesLeasesOfSeveralServers() throws IOException {
    var name = new LeaseName("x");
    assertTrue(node(makeCell()).publishCeiling(5));
    StoreInstances later = new StoreInstances(store(), KEY);
    assertEquals(2, later.takeNumber());
    assertEquals(OptionalLong.of(5), later.highestEarlierCeiling());
    assertEquals(OptionalLong.empty(), later.lastEarlierInstance(name));
    assertTrue(later.publishCeiling(4)); // which covers none of the cell's
    StoreInstances last = new StoreInstances(store(), KEY);
    assertEquals(3, last.takeNumber());
    assertEquals(OptionalLong.of(5), last.highestEarlierCeiling());
    assertEquals(OptionalLong.of(2), last.lastEarlierInstance(name));
  }

  /** As a serving node does, but for the table, which nodes share. */
  @Test
  void l3_servicesOfOneNumberAreReplacedTogetherAndAllTheirLeasesFenced() throws Exception {
    SigningKey key = SigningKey.ofSeed(new byte[32]);
    long unused = TrustedKeyFiles.add(store(), key);
    long number = makeCell();
    ServiceInstance a = serve(key, StoreInstances.ofCell(store(), number, KEY));
    ServiceInstance b = serve(key, StoreInstances.ofCell(store(), number, KEY));
    assertEquals(number, a.info().instance());
    assertEquals(number, b.info().instance());
    assertEquals(number, acquire(a, "a", 10_000).instance());
    Witness longest = acquire(b, "b", 60_000);
    ServiceInstance later = serve(key, new StoreInstances(store(), KEY));
    rig.time.advanceMs(6_000);
    a.maintain();
    b.maintain();
    assertEquals(Optional.of("instance 2"), a.supersededBy());
    assertEquals(Optional.of("instance 2"), b.supersededBy());
    assertThrows(LeaseRefusedException.class, () -> acquire(b, "c", 10_000));
    assertThrows(LeaseRefusedException.class, () -> acquire(later, "a", 10_000));
    rig.time.advanceMs(180_000);
    assertTrue(acquire(later, "a", 10_000).fence().upTo() >= longest.expiry());
    IOException e =
        assertThrows(
            IOException.class, () -> serve(key, StoreInstances.ofCell(store(), number, KEY)));
    assertTrue(String.valueOf(e.getMessage()).startsWith("instance 2 has taken"), e::getMessage);
  }

  private ServiceInstance serve(SigningKey key, StoreInstances registry) throws IOException {
    return ServiceInstance.builder(new WitnessSigner(key), rig.time)
        .storeInCallers()
        .registry(registry)
        .start();
  }

  private Witness acquire(ServiceInstance service, String name, long durationMs)
      throws LeaseRefusedException, LeaseUnavailableException {
    var request =
        new Operation.Acquire(
            new Id(2, ++requests),
            List.of(new LeaseName(name)),
            "tester",
            durationMs,
            LogSet.ALL,
            false);
    return service.acquire(request).witnesses().get(0).witness();
  }

  private static InstanceRegistry.End end(long number, long instance) {
    return new InstanceRegistry.End(new Id(1, number), instance);
  }

  @Test
  void l11_whatANodeEndsIsEndedByAllAndByNoOtherInstance() throws IOException {
    long number = makeCell();
    StoreInstances a = node(number);
    StoreInstances b = node(number);
    assertEquals(Set.of(end(1, number)), a.end(List.of(end(1, number))));
    assertEquals(
        Set.of(end(1, number), end(2, number)), b.end(List.of(end(1, number), end(2, number))));
    assertEquals(Set.of(end(2, number)), a.end(List.of(end(2, number))));
    StoreInstances later = new StoreInstances(store(), KEY);
    assertEquals(2, later.takeNumber());
    assertEquals(Set.of(end(3, number)), later.end(List.of(end(1, number), end(3, number))));
    assertEquals(Set.of(end(1, number)), b.end(List.of(end(1, number), end(3, number))));
  }
}
