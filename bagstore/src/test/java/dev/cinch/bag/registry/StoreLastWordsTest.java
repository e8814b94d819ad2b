package dev.cinch.bag.registry;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Rig;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Fault;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.registry.ServiceNames.WordsName;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.posix.PosixStore;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.lease.Shard;
import dev.cinch.lease.ShardMap;
import dev.cinch.lease.witness.SigningKey;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Rule L19: last words as files, and whose count. */
final class StoreLastWordsTest {
  private static final SigningKey KEY = SigningKey.ofSeed(new byte[32]);
  private static final byte[] WORDS = {1, 2, 3};

  private Rig rig;
  private StoreContext store;

  @BeforeEach
  void start() throws IOException {
    rig = Rig.memory(5);
    store = rig.open(rig.disk.view(Rig.ALICE), rig.time).context().store();
    long unused = TrustedKeyFiles.add(store, KEY);
  }

  private StoreInstances begun(Shard shard) throws IOException {
    var instance = new StoreInstances(store, Optional.empty(), shard, KEY);
    long unused = instance.takeNumber();
    var unusedToo = instance.highestEarlierCeiling();
    return instance;
  }

  /** One that has granted something, and ended. */
  private void ended(Shard shard) throws IOException {
    StoreInstances instance = begun(shard);
    assertTrue(instance.publishCeiling(100));
    instance.leave(WORDS);
  }

  private Path file() throws IOException {
    List<String> names =
        store.listNow(store.layout().ceilings()).stream()
            .filter(name -> name.contains("+"))
            .toList();
    assertEquals(1, names.size(), names.toString());
    return store.layout().ceilings().resolve(names.get(0)).path();
  }

  private void replace(Path file, byte[] content) throws IOException {
    var fs = PosixStore.of(store.storage()).fs();
    fs.unlink(file);
    try (var out = fs.create(file, 0640)) {
      out.write(ByteBuffer.wrap(content));
      out.force();
    }
  }

  @Test
  void l19_theNextInstanceFindsThem() throws Exception {
    ended(Shard.WHOLE);
    assertArrayEquals(WORDS, begun(Shard.WHOLE).lastWords().orElseThrow());
    assertArrayEquals(WORDS, begun(Shard.WHOLE).lastWords().orElseThrow(), "2 granted nothing");
    assertEquals(List.of(), StoreCeilings.of(store).strays());
  }

  @Test
  void l19_theyGoOnceALaterInstanceHasACeiling() throws Exception {
    ended(Shard.WHOLE);
    StoreInstances second = begun(Shard.WHOLE);
    assertTrue(second.publishCeiling(200));
    assertEquals(Optional.empty(), begun(Shard.WHOLE).lastWords());
    assertEquals(
        List.of(),
        store.listNow(store.layout().ceilings()).stream()
            .filter(name -> name.contains("+"))
            .toList());
  }

  @Test
  void l19_thoseOfAnEarlierInstanceDoNotCountBesideALaterCeiling() throws Exception {
    ended(Shard.WHOLE);
    Path words = file();
    byte[] kept = store.storage().read(Name.of(words), 100, Freshness.CACHED, bytes -> bytes);
    StoreInstances second = begun(Shard.WHOLE);
    assertTrue(second.publishCeiling(200));
    replaceAfterRemoval(words, kept);
    assertEquals(Optional.empty(), begun(Shard.WHOLE).lastWords());
  }

  private void replaceAfterRemoval(Path file, byte[] content) throws IOException {
    try (var out = PosixStore.of(store.storage()).fs().create(file, 0640)) {
      out.write(ByteBuffer.wrap(content));
      out.force();
    }
  }

  /** A copy of the store may be older than what a later instance has granted in the original. */
  @Test
  void l19_inACopyTheyDoNotCount() throws Exception {
    ended(Shard.WHOLE);
    Path words = file();
    rig.time.advanceMs(StoreCeilings.MADE_WITHIN / 1_000_000 + 1);
    replace(words, WORDS); // as rsync makes it, with whatever time of modification
    assertEquals(Optional.empty(), begun(Shard.WHOLE).lastWords());
  }

  @Test
  void l19_norDoThoseThatTheStorageMadeBeforeTheySayThatTheyWereLeft() throws Exception {
    ended(Shard.WHOLE);
    rig.time.stepWallMs(-StoreCeilings.MADE_WITHIN / 1_000_000 - 1_000);
    replace(file(), WORDS);
    rig.time.stepWallMs(StoreCeilings.MADE_WITHIN / 1_000_000 + 1_000);
    assertEquals(Optional.empty(), begun(Shard.WHOLE).lastWords());
  }

  /** By a kill or a loss of power. */
  @Test
  void l19_whereverTheirWriterEndsTheyAreWholeOrThereAreNone() throws Exception {
    for (Fault fault : List.of(Fault.CRASH_AFTER, Fault.CRASH_PARTIAL, Fault.ERROR_AFTER)) {
      for (boolean power : new boolean[] {false, true}) {
        int k = 1;
        while (endedAt(k, fault, power)) {
          k++;
        }
        assertTrue(k > 5, "no operations");
      }
    }
  }

  private boolean endedAt(int k, Fault fault, boolean power) throws IOException {
    start();
    var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    StoreContext own = rig.open(fs, rig.time).context().store();
    var instance = new StoreInstances(own, Optional.empty(), Shard.WHOLE, KEY);
    long unused = instance.takeNumber();
    assertTrue(instance.publishCeiling(100));
    fs.arm(k, fault);
    boolean left = false;
    try {
      instance.leave(WORDS);
      left = true;
    } catch (FaultyFs.Crash | IOException e) {
      assertTrue(fs.fired(), fault + " " + k);
    }
    if (power) {
      rig.disk.powerCut();
    }
    var next = new StoreInstances(store, Optional.empty(), Shard.WHOLE, KEY);
    unused = next.takeNumber();
    assertEquals(OptionalLong.of(100), next.highestEarlierCeiling());
    Optional<byte[]> found = next.lastWords();
    String at = fault + " " + k + " " + power;
    assertTrue(found.isPresent() ? Arrays.equals(WORDS, found.get()) : !left, at);
    assertEquals(List.of(), StoreCeilings.of(store).strays(), at);
    return fs.fired();
  }

  @Test
  void l19_ofAStoreThatIsACopyTheyAreRemoved() throws Exception {
    ended(Shard.WHOLE);
    StoreCeilings.of(store).removeLastWords();
    assertEquals(Optional.empty(), begun(Shard.WHOLE).lastWords());
  }

  @Test
  void l19_alteredOnesDoNotCount() throws Exception {
    ended(Shard.WHOLE);
    replace(file(), new byte[] {1, 2, 4});
    assertEquals(Optional.empty(), begun(Shard.WHOLE).lastWords());
  }

  @Test
  void l19_thoseThatNoKeySignedDoNotCount() throws Exception {
    StoreInstances first = begun(Shard.WHOLE);
    assertTrue(first.publishCeiling(100));
    StoreCeilings.of(store).leave(1, WORDS, SigningKey.generate());
    assertEquals(Optional.empty(), begun(Shard.WHOLE).lastWords());
    assertEquals(List.of(Name.of(file())), StoreCeilings.of(store).strays());
  }

  @Test
  void l19_theyCountInTheirShardOfTheirMapAlone() throws Exception {
    ShardMap map = StoreShards.publish(store, 2, KEY);
    ended(new Shard(map, 1));
    assertEquals(Optional.empty(), begun(new Shard(map, 2)).lastWords());
    assertArrayEquals(WORDS, begun(new Shard(map, 1)).lastWords().orElseThrow());
    ShardMap later = StoreShards.publish(store, 1, KEY);
    assertEquals(Optional.empty(), begun(new Shard(later, 1)).lastWords());
  }

  @Test
  void l19_anInstanceOfACellLeavesNone() throws Exception {
    ended(Shard.WHOLE);
    StoreInstances node = StoreInstances.ofCell(store, 2, KEY);
    assertThrows(IOException.class, () -> node.leave(WORDS));
  }

  @Test
  void namesOfOtherKindsAreNone() {
    String digest = "0".repeat(64);
    for (String name :
        List.of(
            "0000000000+5-" + digest,
            "0000000001+05x-" + digest,
            "0000000001+9999999999999999999-" + digest,
            "0000000001+5-" + digest.substring(1),
            "0000000001-5")) {
      assertEquals(Optional.empty(), WordsName.parse(name), name);
    }
    var name = new WordsName(1, Long.MAX_VALUE, digest);
    assertEquals(Optional.of(name), WordsName.parse(name.toString()));
  }
}
