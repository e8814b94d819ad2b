package dev.cinch.bag.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Rig;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Fault;
import dev.cinch.bag.fs.FaultyFs.Kind;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Numbered;
import dev.cinch.bag.registry.ServiceNames.CeilingName;
import dev.cinch.bag.storage.posix.PosixStore;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.lease.Shard;
import dev.cinch.lease.ShardMap;
import dev.cinch.lease.witness.SigningKey;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Rules L3 and L9: what a later instance makes needless goes, and nothing else. */
final class EarlierTracesTest {
  private static final SigningKey KEY = SigningKey.ofSeed(new byte[32]);
  private static final long MS = 1_000_000;
  private static final long STANDS_MS = StoreShards.STANDS / MS;

  private Rig rig;
  private StoreContext store;

  @BeforeEach
  void start() throws IOException {
    rig = Rig.memory(5);
    store = rig.open(rig.disk.view(Rig.ALICE), rig.time).context().store();
  }

  private StoreInstances begun(StoreContext at, Shard shard) throws IOException {
    var instance =
        new StoreInstances(
            at, Optional.of(new InstanceFile("http://web-1:8470", "web-1")), shard, KEY);
    long unused = instance.takeNumber();
    return instance;
  }

  private StoreInstances begun() throws IOException {
    return begun(store, Shard.WHOLE);
  }

  private StoreContext faulty(FaultyFs fs) throws IOException {
    return rig.open(fs, rig.time).context().store();
  }

  private List<String> names(Path directory) throws IOException {
    return PosixStore.of(store.storage()).fs().list(directory).stream().sorted().toList();
  }

  /** Those that a listing shows, without their signatures. */
  private List<String> ceilings() throws IOException {
    return names(store.layout().ceilings().path()).stream()
        .flatMap(name -> CeilingName.ofFile(name).stream())
        .map(c -> c.instance() + "-" + c.ceiling())
        .toList();
  }

  private List<Long> numbers() throws IOException {
    return names(store.layout().instances().path()).stream()
        .filter(name -> name.matches("[0-9]{10}.*"))
        .map(name -> Long.parseLong(name.substring(0, 10)))
        .distinct()
        .toList();
  }

  @Test
  void manyStartsLeaveFewFiles() throws Exception {
    long ceiling = 0;
    for (int start = 0; start < 300; start++) {
      StoreInstances instance = begun();
      for (int i = 0; i < start % 6; i++) {
        assertTrue(instance.publishCeiling(++ceiling));
      }
      rig.time.advanceMs(30_000);
    }
    // Those that started within the time that a number has to stand, and a few.
    int instances = names(store.layout().instances().path()).size();
    assertTrue(instances <= 2 * (STANDS_MS / 30_000 + 3), instances + " files");
    assertTrue(ceilings().size() <= StoreCeilings.KEPT, ceilings()::toString);
    StoreInstances next = begun();
    assertEquals(OptionalLong.of(ceiling), next.highestEarlierCeiling());
    assertEquals(301, StoreInstances.latest(store).orElseThrow().number());
    assertEquals(List.of(), StoreShards.look(store).strays());
  }

  @Test
  void l3_aCeilingGoesOnceALaterInstanceHasOneAsHigh() throws Exception {
    assertTrue(begun().publishCeiling(500));
    StoreInstances second = begun();
    assertTrue(second.publishCeiling(499));
    assertEquals(List.of("1-500", "2-499"), ceilings());
    StoreInstances third = begun();
    assertEquals(OptionalLong.of(500), third.highestEarlierCeiling());
    assertTrue(third.publishCeiling(500));
    assertEquals(List.of("3-500"), ceilings());
  }

  /** A later one may have listed before it was published. */
  @Test
  void l3_anInstanceThatFindsALaterOneRemovesNoCeiling() throws Exception {
    assertTrue(begun().publishCeiling(5));
    StoreInstances second = begun();
    StoreInstances third = begun();
    assertFalse(second.publishCeiling(6));
    assertEquals(List.of("1-5", "2-6"), ceilings());
    assertEquals(OptionalLong.of(6), third.highestEarlierCeiling());
  }

  /** Servers of the other shards have to fence what was before their map. */
  @Test
  void l16_ceilingsOfOtherShardsAndOfEarlierMapsStay() throws Exception {
    assertTrue(begun().publishCeiling(5));
    ShardMap two = StoreShards.publish(store, 2, KEY);
    assertTrue(begun(store, new Shard(two, 1)).publishCeiling(6));
    assertTrue(begun(store, new Shard(two, 2)).publishCeiling(7));
    assertTrue(begun(store, new Shard(two, 1)).publishCeiling(8));
    assertEquals(List.of("1-5", "3-7", "4-8"), ceilings());
    rig.time.advanceMs(STANDS_MS + 1);
    Object unused = begun(store, new Shard(two, 1));
    unused = begun(store, new Shard(two, 2));
    assertEquals(List.of(1L, 3L, 4L, 5L, 6L), numbers());
    assertEquals(6, StoreShards.look(store).servers().servers().get(1).instance());
  }

  @Test
  void l9_aNumberStaysUntilALaterOneHasStoodForAWhile() throws Exception {
    Object unused = begun();
    rig.time.advanceMs(STANDS_MS + 1_000);
    unused = begun();
    rig.time.advanceMs(STANDS_MS - 1_000);
    unused = begun();
    assertEquals(List.of(1L, 2L, 3L), numbers(), "2 has not stood for long enough");
    rig.time.advanceMs(2_000);
    unused = begun();
    assertEquals(List.of(2L, 3L, 4L), numbers());
  }

  @Test
  void l16_aNumberStaysUntilALaterOneOfItsShardHasStood() throws Exception {
    ShardMap two = StoreShards.publish(store, 2, KEY);
    Object unused = begun(store, new Shard(two, 2));
    for (int i = 0; i < 4; i++) {
      unused = begun(store, new Shard(two, 1));
      rig.time.advanceMs(STANDS_MS + 1_000);
    }
    assertEquals(List.of(1L, 4L, 5L), numbers());
  }

  @Test
  void l9_aNumberThatNoKeySignedLetsNothingGo() throws Exception {
    Object unused = begun();
    Path stray = store.layout().instances().resolve("0000000009." + "0f".repeat(64)).path();
    PosixStore.of(store.storage()).fs().create(stray, 0640).close();
    rig.time.advanceMs(STANDS_MS + 1_000);
    unused = begun();
    assertEquals(List.of(1L, 2L, 9L), numbers());
    assertEquals(List.of(Name.of(stray)), StoreShards.look(store).strays());
  }

  /** By its entry it has its place: without that its ceiling would be another's. */
  @Test
  void l9_aNumberStaysWithItsCeilings() throws Exception {
    assertTrue(begun().publishCeiling(5));
    Object unused = begun();
    rig.time.advanceMs(STANDS_MS + 1_000);
    StoreInstances third = begun();
    assertEquals(List.of(1L, 2L, 3L), numbers());
    assertTrue(third.publishCeiling(6));
    unused = begun();
    assertEquals(List.of(2L, 3L, 4L), numbers());
  }

  /** The key of a cell says for which number it stands, and that of a server may be gone. */
  @Test
  void l9_aNumberThatIsGoneIsNotTakenAgain() throws Exception {
    Object unused = begun();
    var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    StoreContext slow = faulty(fs);
    fs.beforeFirst(
        op -> op.is(Kind.LINK, Numbered.name(2)),
        () -> {
          for (int i = 0; i < 3; i++) {
            Object other = begun();
            rig.time.advanceMs(STANDS_MS + 1_000);
          }
          assertFalse(numbers().contains(2L));
        });
    StoreInstances last = begun(slow, Shard.WHOLE);
    assertEquals("instance 5 at http://web-1:8470 on web-1", last.latest());
    assertTrue(last.isLatest());
  }

  /** What it shows may be what was there at its begin, and what it lacks may be gone since. */
  @Test
  void l9_aLookThatTakesTooLongIsMadeAgain() throws Exception {
    var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    StoreInstances first = begun(faulty(fs), Shard.WHOLE);
    Path instances = store.layout().instances().path();
    Runnable pause = () -> rig.time.advanceMs(StoreShards.LONGEST_LOOK / MS + 1);
    long looks = looks(fs, instances);
    fs.beforeFirst(op -> op.kind() == Kind.LIST && op.path().equals(instances), pause::run);
    assertTrue(first.isLatest());
    assertEquals(looks + 2, looks(fs, instances));
    fs.before(
        op -> {
          if (op.kind() == Kind.LIST && op.path().equals(instances)) {
            pause.run();
          }
        });
    IOException e = assertThrows(IOException.class, first::isLatest);
    assertTrue(String.valueOf(e.getMessage()).contains("listing it took too long"), e::getMessage);
  }

  private static long looks(FaultyFs fs, Path directory) {
    return fs.trace().stream()
        .filter(op -> op.kind() == Kind.LIST && op.path().equals(directory))
        .count();
  }

  /** By a kill, a loss of power, or an error of the storage. */
  @Test
  void whereverItEndsTheHighestNumberAndCeilingStay() throws Exception {
    for (Fault fault : List.of(Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.ERROR_AFTER)) {
      for (boolean power : new boolean[] {false, true}) {
        int k = 1;
        while (endedAt(k, fault, power, k % 2 == 0)) {
          k++;
        }
        assertTrue(k > 30, "no operations");
      }
    }
  }

  private boolean endedAt(int k, Fault fault, boolean power, boolean map) throws IOException {
    start();
    Shard shard = map ? new Shard(StoreShards.publish(store, 2, KEY), 1) : Shard.WHOLE;
    for (long n = 1; n <= 3; n++) {
      assertTrue(begun(store, shard).publishCeiling(n));
      rig.time.advanceMs(STANDS_MS + 1_000);
    }
    rig.disk.forceAll();
    var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    StoreContext own = faulty(fs);
    fs.arm(k, fault);
    long most = 3;
    try {
      StoreInstances fourth = begun(own, shard);
      if (fourth.publishCeiling(4)) {
        most = 4;
      }
    } catch (FaultyFs.Crash | IOException e) {
      assertTrue(fs.fired(), fault + " " + k);
    }
    if (power) {
      rig.disk.powerCut();
    }
    String at = "%s %d %s %s ".formatted(fault, k, power, map);
    assertTrue(StoreInstances.latest(store).orElseThrow().number() >= most, at);
    StoreInstances next = begun(store, shard);
    assertTrue(next.highestEarlierCeiling().orElseThrow() >= most, at);
    assertTrue(next.publishCeiling(9), at);
    rig.time.advanceMs(STANDS_MS + 1_000);
    assertTrue(begun(store, shard).publishCeiling(10), at);
    assertTrue(begun(store, shard).publishCeiling(11), at);
    // The fourth may have ended before it had its place in the chain.
    List<Long> left = numbers().stream().filter(n -> n != 4).toList();
    assertTrue(left.size() <= 3, at + left);
    assertEquals(
        List.of(),
        Stream.concat(
                StoreShards.look(store).strays().stream(),
                StoreCeilings.of(store).strays().stream())
            .toList(),
        at);
    return fs.fired();
  }
}
