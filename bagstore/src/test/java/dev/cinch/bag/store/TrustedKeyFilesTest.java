package dev.cinch.bag.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Rig;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.format.KeyFile;
import dev.cinch.bag.fs.NegativeFs;
import dev.cinch.bag.fs.SharedFs;
import dev.cinch.bag.fs.StaleListFs;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.lease.Altered;
import dev.cinch.lease.Id;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.TrustedKeys;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The keys that a record names are all found, or it is told that they are not. */
class TrustedKeyFilesTest {
  private static final SigningKey FIRST = key(1);
  private static final PublicKey ONE = FIRST.publicKey();
  private static final PublicKey TWO = key(2).publicKey();

  private Rig rig;
  private StoreFs disk;
  private Path directory;

  private static SigningKey key(int seed) {
    return SigningKey.ofSeed(Arrays.copyOf(new byte[] {(byte) seed}, 32));
  }

  @BeforeEach
  void start() throws IOException {
    rig = Rig.memory(3);
    disk = rig.disk.view(Rig.ALICE);
    directory = store(disk).layout().keys().path();
    assertEquals(1, TrustedKeyFiles.add(store(disk), FIRST));
  }

  private StoreContext store(StoreFs fs) throws IOException {
    return rig.open(fs).context().store();
  }

  private void addSecond() throws IOException {
    assertEquals(2, TrustedKeyFiles.add(store(disk), TWO, FIRST));
  }

  @Test
  void f3_aDelegatedKeyVouchesForNoOther() throws IOException {
    SigningKey second = key(2);
    StoreContext context = store(disk);
    assertEquals(2, TrustedKeyFiles.add(context, TWO.until(7_000_000), FIRST));
    assertEquals(2, TrustedKeyFiles.add(context, TWO.until(7_000_000), FIRST));
    assertEquals(2, TrustedKeyFiles.add(context, second)); // a server looks whether it is there
    PublicKey three = key(3).publicKey();
    assertThrows(KeyRefusedException.class, () -> TrustedKeyFiles.add(context, three, second));
    assertThrows(
        KeyRefusedException.class,
        () -> TrustedKeyFiles.add(context, TWO.until(9_000_000), second));
    assertEquals(7_000_000, now(context, 0).end(TWO));
    assertEquals(3, TrustedKeyFiles.add(context, TWO.until(9_000_000), FIRST)); // for longer
    assertEquals(9_000_000, now(context, 0).end(TWO));
    // One that it signed all the same is none, and neither is one after it.
    Id id = context.identity().id();
    KeyFile forged = KeyFile.signed(id, 4, three, 2, second);
    boolean unused =
        context.storage().publish(Name.of(directory.resolve("0000000004")), forged.encode());
    assertEquals(3, now(context, 0).size());
    byte[] whole = KeyFile.signed(id, 2, TWO.until(7_000_000), 1, FIRST).encode();
    assertEquals(TWO.until(7_000_000), KeyFile.decode(whole, Name.of(directory)).key());
  }

  /** The signature of a key with an end is none of the same key without, or with another. */
  @Test
  void f3_whoeverChangesTheEndOfAKeyHasNoSignatureForIt() throws IOException {
    Id id = store(disk).identity().id();
    KeyFile good = KeyFile.signed(id, 2, TWO.until(7_000_000), 1, FIRST);
    for (PublicKey other : List.of(TWO, TWO.until(8_000_000))) {
      var altered = new KeyFile(other, good.endorsement());
      assertEquals(
          Optional.of("one with a bad signature of key 1"),
          KeyRules.objection(store(disk).identity(), 2, altered, List.of(ONE)));
    }
    var first = KeyFile.signed(id, 1, ONE.until(7_000_000), 0, FIRST);
    assertEquals(
        Optional.of("one that is delegated by none"),
        KeyRules.objection(store(disk).identity(), 1, first, List.of()));
  }

  private static TrustedKeys first(StoreContext store, int count) throws IOException {
    return CountingKeys.ofStore(store).strict().counted(count);
  }

  private static TrustedKeys settled(StoreContext store, int count) throws IOException {
    return CountingKeys.ofStore(store).counted(count);
  }

  private static TrustedKeys now(StoreContext store, int least) throws IOException {
    return counting(store, least).strict().now();
  }

  private static TrustedKeys open(StoreContext store, int least) throws IOException {
    return counting(store, least).now();
  }

  /** For who goes by a record that counts so many. */
  private static CountingKeys counting(StoreContext store, int least) {
    String digest = TrustedKeys.of(ONE, TWO).first(least).digest();
    var record =
        new HorizonRecord(
            new Id(1, 2), 1, 0, 1, "", least, digest, List.of(), HorizonRecord.Sums.NONE, "", 0);
    return new CountingKeys(store, Optional.of(record));
  }

  @Test
  void f3_anOldListingHidesNoKey() throws Exception {
    var stale = new StaleListFs(rig.disk.view(Rig.BOB));
    StoreContext store = store(stale);
    assertEquals(List.of("0000000001"), stale.list(directory));
    addSecond();
    assertEquals(TrustedKeys.of(ONE, TWO), first(store, 2));
    assertEquals(TrustedKeys.of(ONE, TWO), now(store, 0));
  }

  @Test
  void f3_whoMayOnlyReadFindsTheKeysThatARecordNames() throws Exception {
    addSecond();
    var old = new StaleListFs(rig.disk.view(Rig.BOB), directory, List.of("0000000001"));
    assertEquals(TrustedKeys.of(ONE, TWO), first(store(old), 2));
    assertEquals(TrustedKeys.of(ONE), now(store(old), 0), "as far as it knows");
    assertEquals(TrustedKeys.of(ONE, TWO), now(store(old), 2));
  }

  /** Those who may make no entry there can't look past their caches. */
  @Test
  void f3_nothingIsWrittenUnderAKeyBeforeAllReadersSeeIt() throws IOException {
    disk.chmod(directory, 0755);
    StoreContext shared = store(new SharedFs(disk));
    long began = rig.time.monotonicNanos();
    assertEquals(2, TrustedKeyFiles.add(shared, TWO, FIRST));
    long added = rig.time.monotonicNanos();
    assertTrue(added - began > 60_000_000_000L, "" + (added - began));
    assertEquals(2, TrustedKeyFiles.add(shared, TWO, FIRST)); // every cache is younger now
    assertTrue(rig.time.monotonicNanos() - added < 1_000_000_000L);
  }

  @Test
  void n3_aNameThatACacheThinksMissingIsLookedForAgain() throws Exception {
    var negative = new NegativeFs(rig.disk.view(Rig.BOB));
    var stale = new StaleListFs(negative);
    StoreContext store = store(stale);
    assertEquals(List.of("0000000001"), stale.list(directory));
    addSecond();
    negative.forget(directory.resolve("0000000002"));
    assertEquals(TrustedKeys.of(ONE, TWO), first(store, 2));
  }

  @Test
  void aMissingKeyIsToldAndNoOtherTakesItsPlace() throws Exception {
    addSecond();
    disk.unlink(directory.resolve("0000000001"));
    StoreContext store = store(disk);
    for (int count : new int[] {1, 2}) {
      var e = assertThrows(DamagedException.class, () -> first(store, count));
      assertEquals(Name.of(directory), e.path());
      assertEquals(count + " trusted keys", e.expected());
      assertEquals("no 0000000001", e.actual());
    }
    assertThrows(DamagedException.class, () -> now(store, 0));
    assertEquals(TrustedKeys.NONE, first(store, 0));
  }

  @Test
  void f3_whatNeverWasAKeyStopsNobodyAndADamagedKeyDoes() throws Exception {
    addSecond();
    try (StoreFile unused = disk.create(directory.resolve("0000000003"), 0660)) {}
    try (StoreFile unused = disk.create(directory.resolve("0000000009"), 0660)) {}
    assertEquals(TrustedKeys.of(ONE, TWO), now(store(disk), 1));
    disk.unlink(directory.resolve("0000000002"));
    try (StoreFile damaged = disk.create(directory.resolve("0000000002"), 0660)) {
      damaged.write(ByteBuffer.wrap(new byte[KeyFile.MIN_BYTES]));
    }
    assertThrows(DamagedException.class, () -> now(store(disk), 1));
  }

  @Test
  void aLostKeyStopsNobodyWhereNoMessageDependsOnLeases() throws Exception {
    addSecond();
    assertEquals(TrustedKeys.of(ONE, TWO), open(store(disk), 1));
    disk.unlink(directory.resolve("0000000002"));
    assertEquals(TrustedKeys.of(ONE), settled(store(disk), 2));
    assertEquals(TrustedKeys.of(ONE), open(store(disk), 2));
    StoreSettings d = StoreSettings.DEFAULT;
    rig = Rig.memory(4, Altered.with(d, "leases", StoreSettings.Leases.REQUIRED));
    disk = rig.disk.view(Rig.ALICE);
    assertEquals(1, TrustedKeyFiles.add(store(disk), FIRST));
    assertThrows(DamagedException.class, () -> settled(store(disk), 2));
    assertThrows(DamagedException.class, () -> open(store(disk), 2));
  }
}
