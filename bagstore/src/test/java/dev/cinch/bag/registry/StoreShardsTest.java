package dev.cinch.bag.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Rig;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.storage.posix.PosixStore;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Shard;
import dev.cinch.lease.ShardMap;
import dev.cinch.lease.Witness;
import dev.cinch.lease.instance.ServiceInstance;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.StoreStatement;
import dev.cinch.lease.witness.WitnessSigner;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Rule L16: several servers share a store, and their chains meet where a map follows another. */
final class StoreShardsTest {
  private static final long LEASE_MS = 10_000;
  private static final SigningKey KEY = SigningKey.ofSeed(new byte[32]);

  private Rig rig;
  private long requests;

  @BeforeEach
  void start() throws IOException {
    rig = Rig.memory(5);
    long unused = TrustedKeyFiles.add(store(), KEY);
  }

  private StoreContext store() throws IOException {
    return rig.open(rig.disk.view(Rig.ALICE), rig.time).context().store();
  }

  private ServiceInstance serve(Shard shard) throws IOException {
    return serve(new StoreInstances(store(), Optional.empty(), shard, KEY));
  }

  private ServiceInstance serve(StoreInstances registry) throws IOException {
    return ServiceInstance.builder(new WitnessSigner(KEY), rig.time)
        .storeInCallers()
        .registry(registry)
        .start();
  }

  private ShardMap publish(int count) throws IOException {
    return StoreShards.publish(store(), count, KEY);
  }

  private static LeaseName in(Shard shard, int n) {
    for (int i = 0, found = 0; ; i++) {
      var name = new LeaseName("name-" + i);
      if (shard.has(name) && found++ == n) {
        return name;
      }
    }
  }

  private Operation.Acquire request(LeaseName... names) {
    return new Operation.Acquire(
        new Id(1, ++requests), List.of(names), "tester", LEASE_MS, LogSet.ALL, false);
  }

  private Grant acquire(ServiceInstance service, LeaseName name)
      throws LeaseRefusedException, LeaseUnavailableException {
    return service.acquire(request(name));
  }

  private static Grant resume(ServiceInstance service, Grant grant)
      throws LeaseRefusedException, LeaseUnavailableException {
    return service.resume(new Operation.Resume(grant.id(), grant.witnesses(), LEASE_MS));
  }

  private static Witness witness(Grant grant) {
    return grant.witnesses().get(0).witness();
  }

  private static LeaseRefusedException refused(Reason reason, Executable what) {
    LeaseRefusedException e = assertThrows(LeaseRefusedException.class, what);
    assertEquals(reason, e.reason(), e.getMessage());
    return e;
  }

  @Test
  void aStoreWithoutAMapHasOneShardAndNoNewFile() throws Exception {
    ServiceInstance service = serve(new StoreInstances(store(), KEY));
    assertEquals(1, witness(acquire(service, new LeaseName("a"))).instance());
    assertEquals(ShardMap.NONE, StoreShards.look(store()).map());
    List<String> names =
        PosixStore.of(store().storage()).fs().list(store().layout().instances().path());
    assertEquals(Set.of(10, 139), Set.copyOf(names.stream().map(String::length).toList()));
  }

  @Test
  void mapsAreNumberedAndTheLastOneCounts() throws Exception {
    assertEquals(new ShardMap(1, 4), publish(4));
    assertEquals(new ShardMap(2, 1), publish(1));
    assertEquals(new ShardMap(2, 1), StoreShards.look(store()).map());
    assertThrows(IllegalArgumentException.class, () -> publish(0));
    assertThrows(IllegalArgumentException.class, () -> publish(ShardMap.MAX_SHARDS + 1));
  }

  /** Whoever may create files there could end all servers by a map. */
  @Test
  void l16_aMapThatNoKeySignedIsPassedOver() throws Exception {
    ShardMap map = publish(4);
    StoreContext store = store();
    Path instances = store.layout().instances().path();
    String signed =
        PosixStore.of(store.storage()).fs().list(instances).stream()
            .filter(n -> n.startsWith("map-0000000001-"))
            .findAny()
            .orElseThrow();
    List<String> strays =
        List.of(
            "map-0000000002",
            signed.replace("map-0000000001", "map-0000000007"),
            signed.replace("0001-0004", "0001-0002"),
            "map-9999999999-0001." + "0".repeat(128));
    for (String stray : strays) {
      PosixStore.of(store.storage()).fs().create(instances.resolve(stray), 0640).close();
    }
    assertEquals(map, StoreShards.look(store).map());
    assertEquals(
        strays.stream().map(instances::resolve).map(Name::of).sorted().toList(),
        StoreShards.look(store).strays().stream().sorted().toList());
    assertEquals(new ShardMap(3, 2), publish(2));
  }

  @Test
  void theStatedHashSpreadsNames() {
    var four = new ShardMap(1, 4);
    // Also in docs/format.md.
    assertEquals(
        List.of(3, 4, 1),
        List.of(
            four.shardOf(new LeaseName("a")),
            four.shardOf(new LeaseName("jobs/1")),
            four.shardOf(new LeaseName("x".repeat(255)))));
    for (int i = 0; i < 100; i++) {
      var name = new LeaseName("n" + i);
      int of = new ShardMap(2, 8).shardOf(name);
      assertEquals((of - 1) % 4 + 1, four.shardOf(name), "each shard is split in two");
    }
  }

  @Test
  void l16_serversOfOneMapHaveChainsOfTheirOwn() throws Exception {
    ShardMap map = publish(2);
    ServiceInstance one = serve(new Shard(map, 1));
    Grant a = acquire(one, in(new Shard(map, 1), 0));
    ServiceInstance two = serve(new Shard(map, 2));
    // It waits for no ceiling of the other shard, has nothing to fence, and stops nobody.
    Witness b = witness(acquire(two, in(new Shard(map, 2), 0)));
    assertEquals(2, b.instance());
    assertEquals(Long.MIN_VALUE, b.fence().upTo());
    assertEquals(
        1, witness(one.renew(a.id(), LEASE_MS, LogSet.NONE, LeaseReport.NOTHING.to(1))).instance());
    rig.time.advanceMs(60_000);
    assertEquals(1, witness(acquire(one, in(new Shard(map, 1), 1))).instance());
    // The next instance of shard 1 follows the first alone.
    ServiceInstance again = serve(new Shard(map, 1));
    rig.time.advanceMs(60_000);
    refused(Reason.SUPERSEDED, () -> acquire(one, in(new Shard(map, 1), 2)));
    assertEquals(2, witness(acquire(two, in(new Shard(map, 2), 1))).instance());
    assertTrue(
        witness(acquire(again, in(new Shard(map, 1), 3))).fence().upTo()
            >= a.witnesses().get(0).witness().expiry());
  }

  @Test
  void l16_aServerGrantsItsOwnNamesOnlyAndSaysWhoseTheOthersAre() throws Exception {
    ShardMap map = publish(2);
    ServiceInstance one = serve(new Shard(map, 1));
    LeaseName mine = in(new Shard(map, 1), 0);
    LeaseName other = in(new Shard(map, 2), 0);
    String message = "" + refused(Reason.OTHER_SHARD, () -> acquire(one, other)).getMessage();
    assertEquals(
        other
            + " is in shard 2 of shard map 1 of 2 shards, and this server has shard 1: GET"
            + " /v1/shards says where the others are",
        message);
    refused(
        Reason.OTHER_SHARD, () -> one.revoke(new Operation.Revoke(other, "why", Optional.empty())));
    String both =
        "" + refused(Reason.INVALID, () -> one.acquire(request(mine, other))).getMessage();
    assertTrue(both.contains("are in shards 1 and 2 of shard map 1 of 2 shards"), both);
  }

  @Test
  void l16_aGrantThatIsNotKnownMayBeAnotherShards() throws Exception {
    ShardMap map = publish(2);
    ServiceInstance one = serve(new Shard(map, 1));
    ServiceInstance two = serve(new Shard(map, 2));
    Grant a = acquire(one, in(new Shard(map, 1), 0));
    var report = LeaseReport.NOTHING.to(1);
    refused(Reason.OTHER_SHARD, () -> two.renew(a.id(), LEASE_MS, LogSet.NONE, report));
    refused(Reason.OTHER_SHARD, () -> two.release(a.id(), report));
    refused(Reason.OTHER_SHARD, () -> two.upgrade(a.id(), LEASE_MS));
    one.release(a.id(), report);
    refused(Reason.NOT_HELD, () -> one.renew(a.id(), LEASE_MS, LogSet.NONE, report));
  }

  @Test
  void l16_aNewMapStopsAllInstancesOfTheOneBefore() throws Exception {
    ServiceInstance whole = serve(new StoreInstances(store(), KEY));
    Grant unused = acquire(whole, new LeaseName("a"));
    ShardMap two = publish(2);
    rig.time.advanceMs(60_000);
    String why =
        "" + refused(Reason.SUPERSEDED, () -> acquire(whole, new LeaseName("b"))).getMessage();
    assertTrue(why.startsWith("shard map 1 of 2 shards of the lease service has taken over"), why);
    ServiceInstance first = serve(new Shard(two, 1));
    rig.time.advanceMs(60_000); // the ceiling that the old one published before it looked
    Grant b = acquire(first, in(new Shard(two, 1), 0));
    ShardMap one = publish(1);
    rig.time.advanceMs(60_000);
    refused(Reason.SUPERSEDED, () -> acquire(first, in(new Shard(two, 1), 1)));
    ServiceInstance last = serve(new Shard(one, 1));
    rig.time.advanceMs(60_000);
    assertTrue(
        witness(acquire(last, in(new Shard(two, 2), 0))).fence().upTo() >= witness(b).expiry());
  }

  @Test
  void l16_anInstanceOfAnotherMapThanTheLastDoesNotStart() throws Exception {
    ShardMap two = publish(2);
    ShardMap four = publish(4);
    String why = "" + assertThrows(IOException.class, () -> serve(new Shard(two, 1))).getMessage();
    assertEquals(
        "the store has shard map 2 of 4 shards: say which one is served with --shard, like 1/4",
        why);
    assertThrows(IOException.class, () -> serve(new StoreInstances(store(), KEY)));
    assertEquals(1, serve(new Shard(four, 1)).number());
  }

  @Test
  void l16_holdersAreResumedFromTheChainThatHadTheirName() throws Exception {
    ShardMap two = publish(2);
    ServiceInstance[] before = {serve(new Shard(two, 1)), serve(new Shard(two, 2))};
    Grant[] held = new Grant[8];
    for (int i = 0; i < held.length; i++) {
      held[i] = acquire(before[i % 2], in(new Shard(two, i % 2 + 1), i / 2));
    }
    ShardMap three = publish(3);
    ServiceInstance[] after = new ServiceInstance[3];
    for (int i = 0; i < 3; i++) {
      after[i] = serve(new Shard(three, i + 1));
    }
    for (Grant grant : held) {
      ServiceInstance to = after[three.shardOf(witness(grant).name()) - 1];
      Witness resumed = witness(resume(to, grant));
      assertEquals(witness(grant).correlation(), resumed.correlation());
      assertEquals(to.number(), resumed.instance());
      for (ServiceInstance other : after) {
        if (other != to) {
          refused(Reason.OTHER_SHARD, () -> resume(other, grant));
        }
      }
    }
    // A name that nobody held waits until all of the map before is over, and is fenced.
    LeaseName free = in(new Shard(three, 1), 40);
    refused(Reason.NOT_YET, () -> acquire(after[0], free));
    rig.time.advanceMs(60_000);
    assertTrue(
        witness(acquire(after[0], free)).fence().upTo() >= witness(held[1]).expiry(),
        "the ceilings of all shards");
  }

  @Test
  void l16_aLeaseIsNotResumedOverAMapUnderWhichItsNameMayHaveBeenGranted() throws Exception {
    ShardMap one = publish(1);
    ServiceInstance first = serve(new Shard(one, 1));
    LeaseName name = in(new Shard(new ShardMap(9, 2), 1), 0);
    Grant held = acquire(first, name);
    ShardMap two = publish(2);
    ServiceInstance half = serve(new Shard(two, 1));
    Grant unused = resume(half, held);
    ShardMap last = publish(1);
    ServiceInstance later = serve(new Shard(last, 1));
    refused(Reason.NOT_HELD, () -> resume(later, held));
  }

  @Test
  void l16_anInstanceThatStartsLateUnderAnEarlierMapIsNobodysPredecessor() throws Exception {
    ShardMap one = publish(1);
    StoreInstances late = new StoreInstances(store(), Optional.empty(), new Shard(one, 1), KEY);
    long number = late.takeNumber();
    ShardMap two = publish(2);
    ServiceInstance first = serve(new Shard(two, 1));
    LeaseName name = in(new Shard(two, 1), 0);
    Grant held = acquire(first, name);
    assertEquals(OptionalLong.empty(), late.highestEarlierCeiling());
    assertFalse(late.publishCeiling(rig.time.wallNanos() + 5_000_000_000L), "it sees the map");
    assertEquals(1, number);
    // And so it is with one that looked for maps before, and took a higher number after.
    StoreContext store = store();
    for (String left :
        List.of(
            "instances/0000000009",
            "instances/0000000009-0000000001-0001",
            "ceilings/0000000009-1")) {
      String signature = StoreStatement.sign(KEY, store.identity().id(), left);
      PosixStore.of(store.storage())
          .fs()
          .create(store.layout().service().resolve(left + "." + signature).path(), 0640)
          .close();
    }
    ServiceInstance next = serve(new Shard(two, 1));
    assertEquals(next.number(), witness(resume(next, held)).instance());
  }
}
