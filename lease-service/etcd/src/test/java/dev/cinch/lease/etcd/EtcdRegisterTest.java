package dev.cinch.lease.etcd;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.register.StateRegister.Found;
import dev.cinch.lease.rules.Refusals;
import dev.cinch.lease.time.ManualTime;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.time.TimeSource;
import io.etcd.jetcd.api.KVGrpc;
import io.etcd.jetcd.api.LeaseGrpc;
import io.etcd.jetcd.api.LeaseRevokeRequest;
import io.etcd.jetcd.api.LeaseRevokeResponse;
import io.etcd.jetcd.api.LeaseTimeToLiveRequest;
import io.etcd.jetcd.api.LeaseTimeToLiveResponse;
import io.etcd.jetcd.api.RangeRequest;
import io.etcd.jetcd.api.RangeResponse;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.io.TempDir;

/** Values in a real etcd in which nothing fails. */
final class EtcdRegisterTest {
  private static final LeaseName A = new LeaseName("a");
  private static final long LONGEST_MS = 60_000;
  private static final long KEEP_NANOS = (EtcdRegister.KEPT_MS + LONGEST_MS) * 1_000_000;

  @TempDir static Path dir;
  private static EtcdCell etcd;

  private final List<EtcdRegister> registers = new ArrayList<>();

  @BeforeAll
  static void start() throws Exception {
    etcd = EtcdCell.start(dir, 1);
  }

  @AfterAll
  static void end() throws Exception {
    if (etcd != null) {
      etcd.close();
    }
  }

  @AfterEach
  void close() {
    registers.forEach(EtcdRegister::close);
  }

  private EtcdRegister register(String prefix) {
    return register(prefix, SystemTime.INSTANCE);
  }

  private EtcdRegister register(String prefix, TimeSource time) {
    var register =
        EtcdRegister.of(
            EtcdCluster.at(etcd.endpoints()),
            prefix,
            LONGEST_MS,
            time,
            new Random(registers.size()));
    registers.add(register);
    return register;
  }

  private static <T> T get(CompletableFuture<T> answer) throws Exception {
    return answer.get(60, TimeUnit.SECONDS);
  }

  private static Throwable cause(ExecutionException e) {
    return Objects.requireNonNull(e.getCause());
  }

  private static byte[] bytes(String text) {
    return text.getBytes(US_ASCII);
  }

  private static boolean put(EtcdRegister register, LeaseName name, String value) throws Exception {
    return get(register.change(name, found -> Optional.of(bytes(value))));
  }

  @Test
  void whatIsWrittenIsFoundByAll(TestInfo test) throws Exception {
    EtcdRegister one = register(test.getDisplayName());
    EtcdRegister other = register(test.getDisplayName());
    assertTrue(put(one, A, "x"));
    Found found = get(other.look(A));
    assertArrayEquals(bytes("x"), found.value().orElseThrow());
    assertTrue(found.remembered());
    assertTrue(
        get(
            other.change(
                A,
                before -> {
                  assertArrayEquals(bytes("x"), before.value().orElseThrow());
                  return Optional.of(bytes("y"));
                })));
    assertArrayEquals(bytes("y"), get(one.look(A)).value().orElseThrow());
  }

  @Test
  void whereThereAreAsManyNamesAsThereMayBeNoneIsNew(TestInfo test) throws Exception {
    EtcdRegister register = register(test.getDisplayName());
    register.limit(2);
    assertTrue(put(register, A, "x"));
    assertTrue(put(register, new LeaseName("b"), "x"));
    while (!register.isFull()) {
      register.sweep();
    }
    var e = assertThrows(ExecutionException.class, () -> put(register, new LeaseName("c"), "x"));
    var refusal = assertInstanceOf(LeaseRefusedException.class, cause(e));
    assertEquals(Reason.NOT_YET, refusal.reason());
    assertEquals(
        "c can't be changed now: etcd remembers as many names as it may, 2", refusal.getMessage());
    assertTrue(put(register, A, "y"));
    register.limit(3); // as when one is collected
    while (register.isFull()) {
      register.sweep();
    }
    assertTrue(put(register, new LeaseName("c"), "x"));
  }

  @Test
  void whatIsNotThereWasWrittenLongAgoIfEver(TestInfo test) throws Exception {
    Found found = get(register(test.getDisplayName()).look(A));
    assertEquals(new Found(Optional.empty(), false, KEEP_NANOS), found);
  }

  @Test
  void prefixesAreApart(TestInfo test) throws Exception {
    EtcdRegister one = register(test.getDisplayName() + "/1");
    EtcdRegister other = register(test.getDisplayName() + "/10");
    assertTrue(put(one, A, "x"));
    assertEquals(Optional.empty(), get(other.look(A)).value());
    assertEquals(List.of(), List.copyOf(get(other.list("", "", 9)).keySet()));
  }

  @Test
  void whatIsDeclinedStays(TestInfo test) throws Exception {
    EtcdRegister register = register(test.getDisplayName());
    assertFalse(get(register.change(A, found -> Optional.empty())));
    LeaseRefusedException why = Refusals.notHeld("not this one");
    var e =
        assertThrows(
            ExecutionException.class,
            () ->
                get(
                    register.change(
                        A,
                        found -> {
                          throw why;
                        })));
    assertSame(why, e.getCause());
    assertEquals(Optional.empty(), get(register.look(A)).value());
  }

  @Test
  void whatAChangeThrowsIsToldAndTheNextOneGoesOn(TestInfo test) throws Exception {
    EtcdRegister register = register(test.getDisplayName());
    var bug = new IllegalStateException("a bug");
    var e =
        assertThrows(
            ExecutionException.class,
            () ->
                get(
                    register.change(
                        A,
                        found -> {
                          throw bug;
                        })));
    assertSame(bug, e.getCause());
    assertTrue(put(register, A, "x"));
  }

  @Test
  void noUpdateOfSeveralServersIsLost(TestInfo test) throws Exception {
    var registers = List.of(register(test.getDisplayName()), register(test.getDisplayName()));
    var writings = new Writings(A);
    writings.write(registers, 8, 25, () -> {});
    assertEquals(200, writings.written.size());
    writings.check(registers.get(0));
  }

  @Test
  void aChangeIsCalledAgainWithWhatAnotherServerWrote(TestInfo test) throws Exception {
    EtcdRegister one = register(test.getDisplayName());
    EtcdRegister other = register(test.getDisplayName());
    var met = new ArrayList<String>();
    var between = new ArrayList<>(List.of("x", "y", "z"));
    assertTrue(
        get(
            one.change(
                A,
                found -> {
                  met.add(found.value().map(value -> new String(value, US_ASCII)).orElse(""));
                  if (!between.isEmpty()) {
                    String next = between.remove(0);
                    assertTrue(other.change(A, f -> Optional.of(bytes(next))).join());
                  }
                  return Optional.of(bytes("mine"));
                })));
    assertEquals(List.of("", "x", "y", "z"), met);
    assertArrayEquals(bytes("mine"), get(other.look(A)).value().orElseThrow());
  }

  @Test
  void theLongestValueFits(TestInfo test) throws Exception {
    EtcdRegister register = register(test.getDisplayName());
    var most = new byte[register.longestValue()];
    new Random(1).nextBytes(most);
    assertTrue(get(register.change(A, found -> Optional.of(most))));
    assertArrayEquals(most, get(register.look(A)).value().orElseThrow());
    var more = new byte[most.length + 1];
    assertThrows(
        ExecutionException.class, () -> get(register.change(A, found -> Optional.of(more))));
  }

  /** More than what gRPC takes in one message unless told otherwise. */
  @Test
  void aPageMayHaveTheLongestValues(TestInfo test) throws Exception {
    EtcdRegister register = register(test.getDisplayName());
    int names = EtcdRegister.PAGE + 3;
    var pending = new ArrayList<CompletableFuture<Boolean>>();
    for (int i = 0; i < names; i++) {
      var name = new LeaseName("n" + i);
      pending.add(register.change(name, found -> Optional.of(new byte[register.longestValue()])));
    }
    for (var one : pending) {
      assertTrue(get(one));
    }
    assertEquals(names, get(register.list("", "", 10_000)).size());
  }

  @Test
  void namesAreListedInOrderFromAnyPlace(TestInfo test) throws Exception {
    EtcdRegister register = register(test.getDisplayName());
    int names = 2 * EtcdRegister.PAGE + 7;
    var pending = new ArrayList<CompletableFuture<Boolean>>();
    for (int i = 0; i < names; i++) {
      String name = "n%03d".formatted(i);
      pending.add(register.change(new LeaseName(name), found -> Optional.of(bytes(name))));
    }
    for (var one : pending) {
      assertTrue(get(one));
    }
    assertTrue(put(register, new LeaseName("m"), "m"));
    assertTrue(put(register, new LeaseName("o"), "o"));
    var all = get(register.list("", "", 1_000));
    assertEquals(names + 2, all.size());
    assertEquals("m", all.firstKey());
    all.forEach((name, value) -> assertArrayEquals(bytes(name), value));
    assertEquals(names, get(register.list("n", "", 1_000)).size());
    assertEquals(List.of("n000", "n001"), List.copyOf(get(register.list("n", "", 2)).keySet()));
    assertEquals(List.of("n003", "n004"), List.copyOf(get(register.list("n", "n002", 2)).keySet()));
    int several = EtcdRegister.PAGE + 1;
    assertEquals(several, get(register.list("n", "n002", several)).size());
    assertEquals(List.of("o"), List.copyOf(get(register.list("", "n999", 5)).keySet()));
    assertEquals(List.of(), List.copyOf(get(register.list("n", "o", 5)).keySet()));
  }

  private static LeaseTimeToLiveResponse leaseOf(EtcdRegister register) throws Exception {
    long id = get(register.lease().current(register.calls().now() + 1_000_000_000L));
    return get(
        register
            .calls()
            .ask(
                LeaseGrpc.getLeaseTimeToLiveMethod(),
                LeaseTimeToLiveRequest.newBuilder().setID(id).setKeys(true).build(),
                register.calls().now() + 1_000_000_000L));
  }

  @Test
  void whatIsWrittenIsCollectedLongAfterItCounts(TestInfo test) throws Exception {
    EtcdRegister register = register(test.getDisplayName());
    assertTrue(put(register, A, "x"));
    assertTrue(put(register, new LeaseName("b"), "x"));
    LeaseTimeToLiveResponse lease = leaseOf(register);
    assertEquals(2, lease.getKeysCount(), lease::toString);
    assertTrue(lease.getGrantedTTL() * 1_000_000_000L >= KEEP_NANOS * 5 / 4, lease::toString);
  }

  @Test
  void anotherLeaseOfEtcdIsTakenInTime(TestInfo test) throws Exception {
    var time = new ManualTime();
    EtcdRegister register = register(test.getDisplayName(), time);
    long first = leaseOf(register).getID();
    time.advanceNanos(KEEP_NANOS / 4 - 1);
    assertEquals(first, leaseOf(register).getID());
    time.advanceNanos(1);
    long second = leaseOf(register).getID();
    assertNotEquals(first, second);
    // As after a machine was suspended; and when its clock was set back.
    time.stepWallMs(KEEP_NANOS / 4_000_000);
    long third = leaseOf(register).getID();
    assertNotEquals(second, third);
    time.stepWallMs(-1);
    assertNotEquals(third, leaseOf(register).getID());
  }

  @Test
  void aLeaseThatSomebodyRevokedIsReplaced(TestInfo test) throws Exception {
    EtcdRegister register = register(test.getDisplayName());
    assertTrue(put(register, A, "x"));
    long id = leaseOf(register).getID();
    LeaseRevokeResponse unused =
        get(
            register
                .calls()
                .ask(
                    LeaseGrpc.getLeaseRevokeMethod(),
                    LeaseRevokeRequest.newBuilder().setID(id).build(),
                    register.calls().now() + 1_000_000_000L));
    assertEquals(Optional.empty(), get(register.look(A)).value());
    for (int i = 0; i < 5; i++) {
      assertTrue(put(register, A, "y"));
    }
    assertArrayEquals(bytes("y"), get(register.look(A)).value().orElseThrow());
  }

  @Test
  void whatEtcdRefusesIsSaidInOneLine(TestInfo test) throws Exception {
    EtcdRegister register = register(test.getDisplayName());
    var e =
        assertThrows(
            ExecutionException.class,
            () ->
                get(
                    register
                        .calls()
                        .ask(
                            KVGrpc.getRangeMethod(),
                            RangeRequest.getDefaultInstance(),
                            register.calls().now() + 3_000_000_000L)));
    assertEquals(
        "etcd at %s: INVALID_ARGUMENT: etcdserver: key is not provided"
            .formatted(etcd.endpoints().get(0)),
        String.valueOf(cause(e).getMessage()));
    for (int i = 0; i < 20; i++) {
      var again = assertThrows(ExecutionException.class, () -> get(once(register)));
      assertEquals(EtcdFailure.Kind.REFUSED, ((EtcdFailure) cause(again)).kind(), "" + again);
    }
  }

  private static CompletableFuture<RangeResponse> once(EtcdRegister register) {
    return register
        .calls()
        .post(
            KVGrpc.getRangeMethod(),
            RangeRequest.getDefaultInstance(),
            register.calls().now() + 3_000_000_000L);
  }

  @Test
  void aClosedRegisterRefuses(TestInfo test) throws Exception {
    EtcdRegister register = register(test.getDisplayName());
    assertTrue(put(register, A, "x"));
    register.close();
    var e = assertThrows(ExecutionException.class, () -> put(register, A, "y"));
    assertEquals(Reason.NOT_YET, ((LeaseRefusedException) cause(e)).reason());
  }

  @Test
  void whatIsNoEndpointOrPrefixIsRefused() {
    for (String bad : List.of("127.0.0.1:2379", "ftp://127.0.0.1", "http:///v3", "")) {
      assertThrows(
          IllegalArgumentException.class,
          () ->
              EtcdRegister.of(
                  EtcdCluster.at(List.of(URI.create(bad))),
                  "p",
                  1,
                  SystemTime.INSTANCE,
                  new Random(1)),
          bad);
    }
    for (String bad : List.of("", "a b", "ü", "p".repeat(1_001))) {
      assertThrows(IllegalArgumentException.class, () -> register(bad), bad);
    }
  }
}
