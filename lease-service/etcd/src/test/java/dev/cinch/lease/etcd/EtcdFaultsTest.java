package dev.cinch.lease.etcd;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.table.LeaseBackend.UnansweredException;
import dev.cinch.lease.time.SystemTime;
import io.etcd.jetcd.api.CompactionRequest;
import io.etcd.jetcd.api.KVGrpc;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Values in real etcds that are killed, stopped and cut off. */
@Execution(ExecutionMode.CONCURRENT) // they wait for etcds of their own
final class EtcdFaultsTest {
  private static final LeaseName A = new LeaseName("a");

  @TempDir Path dir;

  private final List<AutoCloseable> open = new ArrayList<>();

  @AfterEach
  void close() throws Exception {
    for (int i = open.size() - 1; i >= 0; i--) {
      open.get(i).close();
    }
  }

  private EtcdCell etcd(int members) throws Exception {
    EtcdCell etcd = EtcdCell.start(dir, members);
    open.add(etcd);
    return etcd;
  }

  private EtcdRegister register(List<URI> endpoints) {
    EtcdRegister register =
        EtcdRegister.of(
            EtcdCluster.at(endpoints),
            "test",
            60_000,
            SystemTime.INSTANCE,
            new Random(open.size()));
    open.add(register);
    return register;
  }

  private Relay relay(EtcdCell to) throws Exception {
    var relay = new Relay(to.endpoints().get(0), 1);
    open.add(relay);
    return relay;
  }

  private static <T> T get(CompletableFuture<T> answer) throws Exception {
    return answer.get(60, TimeUnit.SECONDS);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(US_ASCII);
  }

  private static boolean put(EtcdRegister register, LeaseName name, String value) throws Exception {
    return get(register.change(name, found -> Optional.of(bytes(value))));
  }

  private static Throwable failure(CompletableFuture<?> answer) {
    var e = assertThrows(ExecutionException.class, () -> get(answer));
    Throwable cause = Objects.requireNonNull(e.getCause());
    assertEquals(1, String.valueOf(cause.getMessage()).lines().count());
    return cause;
  }

  private static void assertNotYet(String why, CompletableFuture<?> answer) {
    Throwable cause = failure(answer);
    LeaseRefusedException refusal = assertInstanceOf(LeaseRefusedException.class, cause);
    assertEquals(Reason.NOT_YET, refusal.reason());
    String message = String.valueOf(refusal.getMessage());
    assertTrue(message.contains(why), message);
  }

  @Test
  void whatIsLostIsWrittenOnceAndAnsweredRight() throws Exception {
    EtcdCell etcd = etcd(1);
    Relay relay = relay(etcd);
    var registers = List.of(register(List.of(relay.uri())), register(List.of(relay.uri())));
    var writings = new Writings(A);
    assertTrue(writings.write(registers.get(0), "first"));
    relay.lose(30);
    writings.write(registers, 6, 25, () -> {});
    relay.lose(0);
    writings.check(registers.get(0));
  }

  @Test
  void aCellGoesOnWithoutWhoeverIsKilled() throws Exception {
    EtcdCell etcd = etcd(3);
    List<URI> all = etcd.endpoints();
    var registers = List.of(register(all), register(List.of(all.get(1), all.get(2), all.get(0))));
    var writings = new Writings(A);
    for (int member = 0; member < 3; member++) { // the leader is among them
      int killed = member;
      var before = new Writings(new LeaseName("before-" + member));
      writings.write(
          registers,
          4,
          20,
          () -> {
            assertTrue(before.write(registers.get(0), "x"));
            etcd.kill(killed);
          });
      etcd.restart(killed);
    }
    writings.check(registers.get(0));
  }

  @Test
  void aCellGoesOnWithoutWhoeverIsFrozen() throws Exception {
    EtcdCell etcd = etcd(3);
    List<URI> all = etcd.endpoints();
    var registers = List.of(register(all), register(List.of(all.get(1), all.get(2), all.get(0))));
    var writings = new Writings(A);
    for (int member = 0; member < 3; member++) {
      etcd.freeze(member);
      writings.write(registers, 4, 10, () -> {});
      etcd.thaw();
    }
    writings.write(registers, 4, 10, () -> {}); // and what they had in hand comes late
    writings.check(registers.get(0));
  }

  @Test
  void aMajorityIsNeeded() throws Exception {
    EtcdCell etcd = etcd(3);
    EtcdRegister register = register(etcd.endpoints());
    assertTrue(put(register, A, "x"));
    etcd.kill(0);
    etcd.kill(1);
    assertNotYet("a can't be changed now: etcd at http://", register.change(A, f -> f.value()));
    assertNotYet("a can't be looked at: etcd at http://", register.look(A));
    assertNotYet("can't be listed: etcd at http://", register.list("", "", 9));
    etcd.restart(0);
    var writings = new Writings(new LeaseName("b"));
    writings.write(List.of(register), 1, 1, () -> {});
  }

  @Test
  void whereNobodyAnswersNothingWasWritten() throws Exception {
    EtcdCell etcd = etcd(1);
    EtcdRegister register = register(etcd.endpoints());
    assertTrue(put(register, A, "x"));
    etcd.freeze();
    assertNotYet("has not answered within", register.change(A, found -> Optional.of(bytes("y"))));
    etcd.kill(0);
    assertNotYet("can't be reached", register.change(A, found -> Optional.of(bytes("y"))));
    assertNotYet("can't be reached", register.look(A));
    assertNotYet("can't be reached", register.list("", "", 1));
  }

  @Test
  void whatWasSentAndNotAnsweredMayBeWritten() throws Exception {
    EtcdCell etcd = etcd(1);
    EtcdRegister register = register(etcd.endpoints());
    assertTrue(put(register, A, "x"));
    Throwable cause =
        failure(
            register.change(
                A,
                found -> {
                  etcd.freeze();
                  return Optional.of(bytes("y"));
                }));
    assertInstanceOf(UnansweredException.class, cause);
    etcd.thaw();
    var writings = new Writings(A);
    writings.write(List.of(register), 1, 1, () -> {});
  }

  @Test
  void whatWasDoneWithoutAnAnswerIsNotDenied() throws Exception {
    EtcdCell etcd = etcd(1);
    Relay relay = relay(etcd);
    EtcdRegister register = register(List.of(relay.uri()));
    assertTrue(put(register, A, "x"));
    Throwable cause =
        failure(
            register.change(
                A,
                found -> {
                  relay.mute();
                  return Optional.of(bytes("y"));
                }));
    assertInstanceOf(UnansweredException.class, cause);
    relay.heal();
    assertEquals("y", new String(get(register.look(A)).value().orElseThrow(), US_ASCII));
  }

  /** And whoever wants nothing more of it must not be told that nothing was written. */
  @Test
  void whatMayStillBeWrittenIsNotDenied() throws Exception {
    EtcdCell etcd = etcd(1);
    EtcdRegister register = register(etcd.endpoints());
    Relay relay = relay(etcd);
    EtcdRegister other = register(List.of(relay.uri()));
    assertTrue(put(register, A, "x"));
    assertTrue(put(other, new LeaseName("b"), "x")); // it has its lease of etcd's
    var calls = new ArrayList<String>();
    Throwable cause =
        failure(
            other.change(
                A,
                found -> {
                  calls.add(new String(found.value().orElseThrow(), US_ASCII));
                  if (calls.size() == 1) {
                    relay.holdRequests();
                    return Optional.of(bytes("late"));
                  }
                  return Optional.empty();
                }));
    assertInstanceOf(UnansweredException.class, cause);
    assertEquals(List.of("x", "x"), calls);
  }

  @Test
  void whatCanNotComeAnyMoreIsDecided() throws Exception {
    EtcdCell etcd = etcd(1);
    EtcdRegister register = register(etcd.endpoints());
    Relay relay = relay(etcd);
    EtcdRegister other = register(List.of(relay.uri()));
    assertTrue(put(other, new LeaseName("b"), "x"));
    var calls = new ArrayList<String>();
    assertFalse(
        get(
            other.change(
                A,
                found -> {
                  calls.add(found.value().map(v -> new String(v, US_ASCII)).orElse(""));
                  if (calls.size() == 1) {
                    relay.holdRequests();
                    register.change(A, f -> Optional.of(bytes("between"))).join();
                    return Optional.of(bytes("late"));
                  }
                  return Optional.empty();
                })));
    assertEquals(List.of("", "between"), calls);
  }

  @Test
  void anEtcdThatHasForgottenIsNotBelieved() throws Exception {
    EtcdCell etcd = etcd(1);
    EtcdRegister register = register(etcd.endpoints());
    for (int i = 0; i < 5; i++) {
      assertTrue(put(register, A, "x"));
    }
    etcd.kill(0);
    etcd.empty(0);
    etcd.restart(0);
    assertNotYet("it was emptied or restored from a backup", register.look(A));
    EtcdRegister newcomer = register(etcd.endpoints());
    for (int i = 0; i < 10; i++) {
      assertTrue(put(newcomer, A, "x"));
    }
    assertNotYet("it was emptied or restored from a backup", register.look(A));
  }

  @Test
  void endpointsOfTwoClustersAreNotMixed() throws Exception {
    EtcdCell etcd = etcd(1);
    EtcdCell another = EtcdCell.start(dir.resolve("another"), 1);
    open.add(another);
    EtcdRegister register = register(List.of(etcd.endpoints().get(0), another.endpoints().get(0)));
    assertTrue(put(register, A, "x"));
    EtcdRegister there = register(another.endpoints());
    for (int i = 0; i < 9; i++) {
      assertTrue(put(there, A, "of another cluster"));
    }
    etcd.kill(0);
    assertNotYet("", register.look(A));
    etcd.restart(0);
    assertEquals("x", new String(get(register.look(A)).value().orElseThrow(), US_ASCII));
  }

  @Test
  void changesAreToldAlsoAfterAnEtcdWasRestarted() throws Exception {
    EtcdCell etcd = etcd(1);
    Heard heard = new Heard(register(etcd.endpoints()));
    EtcdRegister writer = register(etcd.endpoints());
    heard.awaitFirst(writer);
    etcd.kill(0);
    etcd.restart(0);
    assertTrue(put(writer, A, "after"));
    heard.await("a=after");
  }

  @Test
  void changesAreToldThatCameWhileTheListenerWasCutOff() throws Exception {
    EtcdCell etcd = etcd(1);
    Relay relay = relay(etcd);
    Heard heard = new Heard(register(List.of(relay.uri())));
    EtcdRegister writer = register(etcd.endpoints());
    heard.awaitFirst(writer);
    assertTrue(put(writer, A, "before"));
    heard.await("a=before");
    relay.cut();
    for (int i = 0; i < 5; i++) {
      assertTrue(put(writer, A, "v" + i));
    }
    relay.heal();
    for (int i = 0; i < 5; i++) { // and nothing is told again
      assertEquals("a=v" + i, heard.events.poll(60, TimeUnit.SECONDS));
    }
  }

  @Test
  void whatWasCompactedMeanwhileIsSkipped() throws Exception {
    EtcdCell etcd = etcd(1);
    Relay relay = relay(etcd);
    Heard heard = new Heard(register(List.of(relay.uri())));
    EtcdRegister writer = register(etcd.endpoints());
    heard.awaitFirst(writer);
    relay.cut();
    for (int i = 0; i < 5; i++) {
      assertTrue(put(writer, A, "v" + i));
    }
    long revision = writer.calls().revision();
    var unused =
        get(
            writer
                .calls()
                .ask(
                    KVGrpc.getCompactMethod(),
                    CompactionRequest.newBuilder().setRevision(revision).build(),
                    writer.calls().now() + 3_000_000_000L));
    relay.heal();
    heard.await("a=v4");
    assertTrue(put(writer, A, "after"));
    heard.await("a=after");
  }

  /** What a register's listener is told. */
  private static final class Heard {
    private final BlockingQueue<String> events = new LinkedBlockingQueue<>();

    Heard(EtcdRegister register) {
      register.listen((name, value) -> events.add(name + "=" + new String(value, US_ASCII)));
    }

    /** Until the stream has begun. */
    void awaitFirst(EtcdRegister writer) throws Exception {
      for (int i = 0; events.poll(10, TimeUnit.MILLISECONDS) == null; i++) {
        assertTrue(i < 6_000, "no event comes");
        assertTrue(put(writer, new LeaseName("first"), "x"));
      }
    }

    void await(String wanted) throws Exception {
      String event = "";
      while (!event.equals(wanted)) {
        event =
            Objects.requireNonNull(
                events.poll(60, TimeUnit.SECONDS), () -> wanted + " was not told");
      }
    }
  }
}
