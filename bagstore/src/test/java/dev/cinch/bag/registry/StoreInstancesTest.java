package dev.cinch.bag.registry;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Rig;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.registry.InstanceFile.Line;
import dev.cinch.bag.registry.StoreShards.Instance;
import dev.cinch.bag.storage.posix.PosixStore;
import dev.cinch.bag.store.ClockException;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.lease.Altered;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Revocation;
import dev.cinch.lease.Witness;
import dev.cinch.lease.instance.InstanceRegistry;
import dev.cinch.lease.instance.ServiceInstance;
import dev.cinch.lease.time.ManualTime;
import dev.cinch.lease.time.TimeSource;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.StoreStatement;
import dev.cinch.lease.witness.WitnessSigner;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Rules L3, L9: numbers and ceilings in a store, and what a wrong clock does to them. */
final class StoreInstancesTest {
  private static final SigningKey KEY = SigningKey.ofSeed(new byte[32]);
  private static final long MS = 1_000_000;
  private static final long TEN_YEARS = 10 * 365 * 86_400_000L * MS;
  private static final long LEASE_MS = 10_000;

  private final AtomicLong offset = new AtomicLong();
  private Rig rig;
  private long requests;

  @BeforeEach
  void start() throws IOException {
    rig = Rig.memory(5);
  }

  private StoreContext store(StoreFs fs, TimeSource time) throws IOException {
    return rig.open(fs, time).context().store();
  }

  private StoreContext store() throws IOException {
    return store(rig.disk.view(Rig.ALICE), rig.time.skewed(offset));
  }

  private ServiceInstance serve(StoreContext store) throws IOException {
    return ServiceInstance.builder(new WitnessSigner(SigningKey.ofSeed(new byte[32])), store.time())
        .storeInCallers()
        .registry(new StoreInstances(store, KEY))
        .start();
  }

  private Witness acquire(ServiceInstance service, String name)
      throws LeaseRefusedException, LeaseUnavailableException {
    var request =
        new Operation.Acquire(
            new Id(1, ++requests),
            List.of(new LeaseName(name)),
            "tester",
            LEASE_MS,
            LogSet.ALL,
            false);
    return service.acquire(request).witnesses().get(0).witness();
  }

  @Test
  void l3_aClockTenYearsAheadDuringMaintenanceHarmsNeitherThisInstanceNorTheNext()
      throws Exception {
    ServiceInstance service = serve(store());
    assertEquals(1, acquire(service, "a").instance());
    rig.time.advanceMs(20_000);
    offset.set(TEN_YEARS);
    service.maintain();
    offset.set(0);
    Witness afterwards = acquire(service, "b");
    long late = afterwards.issuedAt() - rig.time.wallNanos();
    assertTrue(Math.abs(late) < 1_000 * MS, late + " ns");
    ServiceInstance next = serve(store());
    rig.time.advanceMs(120_000);
    long fence = acquire(next, "a").fence().upTo();
    assertTrue(fence <= rig.time.wallNanos(), fence - rig.time.wallNanos() + " ns ahead");
  }

  @Test
  void l3_theNextInstanceFindsCeilingsOfTimesBefore1970() throws Exception {
    rig.time.advanceNanos(-ManualTime.START - 3_600_000 * MS);
    Witness earlier = acquire(serve(store()), "a");
    assertTrue(earlier.expiry() < 0);
    ServiceInstance next = serve(store());
    rig.time.advanceMs(120_000);
    assertTrue(acquire(next, "a").fence().upTo() >= earlier.expiry());
  }

  @Test
  void l3_nothingIsGrantedWhileTheClockIsOffAndTheRefusalSaysWhy() throws Exception {
    ServiceInstance service = serve(store());
    offset.set(501 * MS);
    LeaseRefusedException e =
        assertThrows(LeaseRefusedException.class, () -> acquire(service, "a"));
    assertEquals(LeaseRefusedException.Reason.NOT_YET, e.reason());
    String message = String.valueOf(e.getMessage());
    assertTrue(message.contains("this machine's clock is 0.50"), message);
    offset.set(0);
    // The service's time does not go back: it has half a second to wait.
    rig.time.advanceMs(501);
    assertEquals(1, acquire(service, "a").instance());
  }

  @Test
  void l2_aHolderWhoseClockIsAheadAsFarAsTheStoreAllowsKeepsItsLeaseAndGivesItBack()
      throws Exception {
    StoreSettings d = StoreSettings.DEFAULT;
    rig = Rig.memory(6, Altered.with(d, "graceMs", 5_000, "clockAheadMs", 3_000));
    ServiceInstance service = serve(store());
    var id = new Id(1, requests + 1);
    Witness held = acquire(service, "a");
    // The service's clock is behind by half a second, the holder's ahead by three.
    long highest = held.issuedAt() + (3_000 + 500 + 500) * MS;
    var report = new LeaseReport(OptionalLong.of(highest), false, List.of());
    assertEquals(1, service.renew(id, LEASE_MS, LogSet.NONE, report).witnesses().size());
    service.release(id, report);
    assertEquals(highest, acquire(service, "a").watermark().timestamp());
  }

  /** Or sessions and readers would refuse what it hands out. */
  @Test
  void l2_anInstanceAllowsWatermarksNoFurtherAheadThanSessionsAndReadersDo() throws Exception {
    StoreContext store = store();
    ServiceInstance service = serve(store);
    var id = new Id(1, requests + 1);
    long most = acquire(service, "a").issuedAt() + store.settings().watermarkAheadNanos();
    // Its clock goes on a little with each operation.
    var far = new LeaseReport(OptionalLong.of(most + 1_000 * MS), false, List.of());
    var e = assertThrows(LeaseRefusedException.class, () -> service.release(id, far));
    assertEquals(LeaseRefusedException.Reason.WATERMARK, e.reason());
    service.release(id, new LeaseReport(OptionalLong.of(most), false, List.of()));
    assertEquals(most, acquire(service, "a").watermark().timestamp());
  }

  /** Bounds of an hour each are the widest there are. */
  @Test
  void p8_aHolderWhoseClockIsBehindAsFarAsTheStoreAllowsKeepsItsLeaseAndGivesItBack()
      throws Exception {
    StoreSettings d = StoreSettings.DEFAULT;
    long hour = 3_600_000;
    rig =
        Rig.memory(
            7,
            Altered.with(
                d,
                "graceMs",
                2 * hour,
                "clockAheadMs",
                hour,
                "clockBehindMs",
                hour,
                "longestLeaseMs",
                4 * hour));
    offset.set(hour * MS);
    ServiceInstance service = serve(store());
    var id = new Id(1, requests + 1);
    Witness held = acquire(service, "a");
    long written = held.issuedAt() - 2 * hour * MS;
    var report = new LeaseReport(OptionalLong.of(written), false, List.of());
    assertEquals(1, service.renew(id, LEASE_MS, LogSet.NONE, report).witnesses().size());
    service.release(id, report);
    assertEquals(written, acquire(service, "a").watermark().timestamp());
  }

  @Test
  void aClockThatWasSetSinceItWasReadIsJudgedByWhatWasRead() throws Exception {
    var instances = new StoreInstances(store(), KEY);
    instances.checkClock(rig.time.wallNanos() + 500 * MS);
    instances.checkClock(rig.time.wallNanos() - 60_000 * MS); // a request that waited for its turn
    assertThrows(ClockException.class, () -> instances.checkClock(rig.time.wallNanos() + 501 * MS));
  }

  @Test
  void noInstanceStartsWithAClockThatIsOff() throws Exception {
    offset.set(TEN_YEARS);
    assertThrows(ClockException.class, () -> serve(store()));
    offset.set(0);
    assertEquals(1, serve(store()).info().instance());
  }

  @Test
  void theLatestInstanceSaysWhereItIsIfItLeftThat() throws Exception {
    assertEquals(Optional.empty(), StoreInstances.latest(store()));
    var where = new InstanceFile("http://web-1:8470", "web-1");
    var first = new StoreInstances(store(), where, KEY);
    assertEquals(1, first.takeNumber());
    rig.disk.powerCut();
    assertEquals(new Instance(1, Optional.of(where)), StoreInstances.latest(store()).orElseThrow());
    assertEquals("instance 1 at http://web-1:8470 on web-1", first.latest());
    assertEquals(2, new StoreInstances(store(), KEY).takeNumber());
    assertEquals(new Instance(2, Optional.empty()), StoreInstances.latest(store()).orElseThrow());
    assertEquals("instance 2", first.latest());
  }

  @Test
  void anAddressThatWasCutShortOrIsNoneIsNoAddress() {
    byte[] whole = new Line("http://web-1:8470 web-1", "5".repeat(128)).encode();
    for (int length = 0; length < whole.length; length++) {
      assertEquals(Optional.empty(), Line.decode(Arrays.copyOf(whole, length)));
    }
    for (String other : List.of("", " ", "ftp://a b", "http://a b c", "http://\u00e9 b", "-")) {
      assertEquals(Optional.empty(), new Line(other, "").where(), other);
    }
  }

  @Test
  void equalServersLeaveUpToSixteenAddresses() {
    String all = "http://web-1:8470" + ",https://web-2".repeat(15);
    var where = new InstanceFile(all, "web-1");
    var line = new Line(where.words(), "5".repeat(128));
    assertEquals(Optional.of(line), Line.decode(line.encode()));
    assertEquals(Optional.of(where), line.where());
    String longest = "http://" + "a".repeat(493) + ",http://" + "b".repeat(392);
    String most = new InstanceFile(longest, "m".repeat(100)).words();
    assertTrue(new Line(most, "5".repeat(128)).encode().length < InstanceFile.MAX_BYTES);
    for (String none :
        List.of(all + ",http://web-3", longest + "b", "http://a,", "http://a,b", ",http://a")) {
      assertThrows(IllegalArgumentException.class, () -> new InstanceFile(none, "web-1"), none);
    }
  }

  @Test
  void l3_aCeilingWhoseForceFailedCountsOnlyOnceItIsForced() throws Exception {
    var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    var instances = new StoreInstances(store(fs, rig.time), KEY);
    assertEquals(1, instances.takeNumber());
    rig.disk.forceAll();
    long ceiling = rig.time.wallNanos() + 90_000 * MS;
    fs.beforeFirst(
        op -> op.is(FaultyFs.Kind.FORCE_DIRECTORY, "ceilings"),
        () -> {
          throw new IOException("the cable fell out");
        });
    assertThrows(IOException.class, () -> instances.publishCeiling(ceiling));
    assertTrue(instances.publishCeiling(ceiling));
    rig.disk.powerCut();
    var later = new StoreInstances(store(), KEY);
    assertEquals(2, later.takeNumber());
    assertEquals(OptionalLong.of(ceiling), later.highestEarlierCeiling());
  }

  private static InstanceRegistry.End end(long number) {
    return new InstanceRegistry.End(new Id(1, number), 1);
  }

  private StoreInstances instance(StoreContext at) throws IOException {
    var instance = new StoreInstances(at, KEY);
    long unused = instance.takeNumber();
    return instance;
  }

  @Test
  void l11_anEndIsOfTheInstanceThatMadeItFirst() throws Exception {
    StoreInstances first = instance(store());
    StoreInstances later = instance(store());
    assertEquals(Set.of(end(1), end(2)), first.end(List.of(end(1), end(2))));
    assertEquals(Set.of(end(3)), later.end(List.of(end(2), end(3))));
    assertEquals(Set.of(end(2)), first.end(List.of(end(2), end(3)))); // again: its answer was lost
    assertEquals(
        List.of(
            "00000000000000010000000000000001@0000000001",
            "00000000000000010000000000000002@0000000001",
            "00000000000000010000000000000003@0000000001"),
        PosixStore.of(store().storage()).fs().list(store().layout().ends().path()).stream()
            .sorted()
            .toList());
  }

  @Test
  void l11_anEndIsForcedWithItsDirectoryBeforeItIsActedOn() throws Exception {
    var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    StoreInstances first = instance(store(fs, rig.time));
    var done = new ArrayList<FaultyFs.Kind>();
    fs.before(op -> done.add(op.kind()));
    assertEquals(Set.of(end(1)), first.end(List.of(end(1))));
    int link = done.indexOf(FaultyFs.Kind.LINK);
    assertTrue(done.indexOf(FaultyFs.Kind.FORCE) < link, done::toString);
    assertTrue(done.indexOf(FaultyFs.Kind.FORCE) >= 0, done::toString);
    assertTrue(done.lastIndexOf(FaultyFs.Kind.FORCE_DIRECTORY) > link, done::toString);
    done.clear();
    assertEquals(Set.of(end(1)), first.end(List.of(end(1)))); // the first force may have failed
    assertTrue(done.contains(FaultyFs.Kind.FORCE_DIRECTORY), done::toString);
  }

  @Test
  void l11_aStoreOfAnOlderVersionGetsTheDirectory() throws Exception {
    StoreContext store = store();
    assertFalse(
        PosixStore.of(store.storage()).fs().list(store.layout().service().path()).contains("ends"));
    assertEquals(Set.of(end(1)), instance(store).end(List.of(end(1))));
  }

  @Test
  void l11_endsAreRemovedWhenNobodyCanActOnThemAnyMore() throws Exception {
    StoreContext store = store();
    assertEquals(0, StoreEnds.removeOld(store)); // none were ever made
    StoreInstances first = instance(store);
    assertEquals(Set.of(end(1), end(2)), first.end(List.of(end(1), end(2))));
    rig.time.advanceNanos(StoreEnds.KEPT_NANOS - MS);
    assertEquals(Set.of(end(3)), first.end(List.of(end(3))));
    assertEquals(0, StoreEnds.removeOld(store));
    rig.time.advanceNanos(2 * MS);
    assertEquals(2, StoreEnds.removeOld(store));
    assertEquals(
        List.of("00000000000000010000000000000003@0000000001"),
        PosixStore.of(store.storage()).fs().list(store.layout().ends().path()));
  }

  private static Revocation revocation(long number, String reason) {
    var name = new LeaseName("jobs/" + number);
    return new Revocation(name, "me", new Id(1, number), 1, number, reason);
  }

  @Test
  void l15_theFirstRevocationOfALeaseStandsAndOutlivesAPowerCut() throws Exception {
    StoreContext store = store();
    assertEquals(List.of(), StoreRevocations.all(store, e -> {}));
    StoreInstances first = instance(store);
    Revocation because = revocation(2, "it hangs");
    assertEquals(because, first.revoked(because));
    rig.disk.powerCut();
    assertEquals(because, instance(store()).revoked(revocation(2, "another reason")));
    assertEquals(revocation(1, "x"), first.revoked(revocation(1, "x")));
    assertEquals(List.of(revocation(1, "x"), because), StoreRevocations.all(store, e -> {}));
    rig.time.advanceNanos(StoreEnds.KEPT_NANOS + MS);
    assertTrue(StoreEnds.removeOld(store) >= 2); // and what the power cut left of making one
    assertEquals(List.of(), StoreRevocations.all(store, e -> {}));
  }

  @Test
  void l15_aDamagedRevocationIsToldAndLeftOut() throws Exception {
    StoreContext store = store();
    assertEquals(revocation(1, "x"), instance(store).revoked(revocation(1, "x")));
    Path file = store.layout().revocation(new Id(1, 1), 1, 0).path();
    PosixStore.of(store.storage()).fs().unlink(file);
    PosixStore.of(store.storage()).fs().create(file, 0640).close();
    var damaged = new ArrayList<DamagedException>();
    assertEquals(List.of(), StoreRevocations.all(store, damaged::add));
    assertEquals(1, damaged.size());
  }

  /** Whoever may create files there could have an instance stop, or a resume refused. */
  @Test
  void l11_anEndThatNoKeySignedIsPassedOver() throws Exception {
    StoreContext store = store();
    StoreInstances first = instance(store);
    StoreInstances later = instance(store);
    assertEquals(Set.of(end(1), end(2)), first.end(List.of(end(1), end(2))));
    Path honest = store.layout().end(end(1).correlation(), 1, 0).path();
    byte[] bytes = PosixStore.of(store.storage()).fresh().readAll(honest, 1 << 16);
    String maker = "0000000002\n";
    List<byte[]> strays =
        List.of(
            new byte[0],
            maker.getBytes(UTF_8),
            "0000000001\n".getBytes(UTF_8), // signed by nobody
            bytes, // of other leases
            (maker + new String(bytes, UTF_8).substring(maker.length())).getBytes(UTF_8),
            Arrays.copyOf(bytes, bytes.length - 1));
    for (int i = 0; i < strays.size(); i++) {
      InstanceRegistry.End end = end(10 + i);
      write(store, store.layout().end(end.correlation(), 1, 0).path(), strays.get(i));
      write(store, store.layout().end(end.correlation(), 1, 1).path(), new byte[] {1});
      assertEquals(Set.of(end), first.end(List.of(end)), "stray " + i);
      assertEquals(Set.of(), later.end(List.of(end)), "stray " + i);
    }
    for (int place = 0; place <= StoreLayout.LAST_PLACE; place++) {
      write(store, store.layout().end(end(99).correlation(), 1, place).path(), new byte[0]);
    }
    assertThrows(IOException.class, () -> first.end(List.of(end(99))));
  }

  private static void write(StoreContext store, Path file, byte[] bytes) throws IOException {
    try (var out = PosixStore.of(store.storage()).fs().create(file, 0640)) {
      out.write(ByteBuffer.wrap(bytes));
      out.force();
    }
  }

  /** As {@code touch}, {@code cp}, {@code mkdir} and {@code ln -s} of anybody would leave them. */
  @Test
  void l9_aNumberThatNoKeySignedStopsNobody() throws Exception {
    StoreContext store = store();
    StoreInstances first = instance(store);
    assertTrue(first.publishCeiling(5));
    Path directory = store.layout().instances().path();
    Path ceilings = store.layout().ceilings().path();
    String signed =
        PosixStore.of(store.storage()).fs().list(directory).stream()
            .filter(n -> n.startsWith("0000000001."))
            .findAny()
            .orElseThrow();
    String foreign = StoreStatement.sign(SigningKey.generate(), store.identity().id(), "x");
    String elsewhere = StoreStatement.sign(KEY, new Id(1, 1), "instances/0000000003");
    var strays =
        new ArrayList<>(
            List.of(
                "0000000002",
                "9999999999",
                "9223372036854775807",
                "0000000003." + signed.substring(11), // a copy
                "0000000003." + foreign,
                "0000000003." + elsewhere, // of another store of the same key
                "0000000004-0000000001-0001." + signed.substring(11)));
    for (String stray : strays) {
      PosixStore.of(store.storage()).fs().create(directory.resolve(stray), 0640).close();
    }
    PosixStore.of(store.storage()).fs().mkdir(directory.resolve("0000000005"), 0750);
    strays.add("0000000005");
    String far = "0000000001-" + Long.MAX_VALUE;
    for (String stray : List.of(far, far + "." + signed.substring(11))) {
      PosixStore.of(store.storage()).fs().create(ceilings.resolve(stray), 0640).close();
    }
    assertTrue(first.isLatest());
    assertTrue(first.publishCeiling(6));
    assertEquals(1, StoreInstances.latest(store).orElseThrow().number());
    assertEquals(
        Set.copyOf(strays.stream().map(directory::resolve).map(Name::of).toList()),
        Set.copyOf(StoreShards.look(store).strays()));
    assertEquals(2, StoreCeilings.of(store).strays().size());
    assertEquals(OptionalLong.of(6), StoreCeilings.of(store).highestOfAll());

    StoreInstances later = new StoreInstances(store, KEY);
    assertEquals(3, later.takeNumber(), "the lowest that nobody has, stray or not");
    assertEquals(OptionalLong.of(6), later.highestEarlierCeiling());
    assertFalse(first.isLatest());
    assertTrue(later.isLatest());
  }

  /** Whoever may remove files there does not stop an instance by it, nor have two be one. */
  @Test
  void l9_aNumberThatIsRemovedIsMadeAgainAndNotTakenTwice() throws Exception {
    StoreContext store = store();
    StoreInstances first = instance(store);
    assertTrue(first.publishCeiling(5));
    Path directory = store.layout().instances().path();
    for (String name : PosixStore.of(store.storage()).fs().list(directory)) {
      PosixStore.of(store.storage()).fs().unlink(directory.resolve(name));
    }
    assertTrue(first.isLatest());
    assertEquals(1, StoreInstances.latest(store).orElseThrow().number());
    for (String name : PosixStore.of(store.storage()).fs().list(directory)) {
      PosixStore.of(store.storage()).fs().unlink(directory.resolve(name));
    }
    StoreInstances later = instance(store);
    assertTrue(later.isLatest());
    assertFalse(first.isLatest());
  }

  /** The address is asked by whoever starts next, who goes by the answer. */
  @Test
  void l9_anAddressThatNoKeySignedIsNone() throws Exception {
    StoreContext store = store();
    var where = new InstanceFile("http://web-1:8470", "web-1");
    assertEquals(1, new StoreInstances(store, where, KEY).takeNumber());
    Path file = store.layout().instances().resolve("0000000001").path();
    byte[] bytes = PosixStore.of(store.storage()).fresh().readAll(file, InstanceFile.MAX_BYTES);
    PosixStore.of(store.storage()).fs().unlink(file);
    write(store, file, new String(bytes, UTF_8).replace("web-1:8470", "evil:8470").getBytes(UTF_8));
    assertEquals(Optional.empty(), StoreInstances.latest(store).orElseThrow().where());
  }
}
