package dev.cinch.lease.etcd;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Share;
import dev.cinch.lease.instance.Rig;
import dev.cinch.lease.register.RegisterBackend;
import dev.cinch.lease.table.TableLimits;
import dev.cinch.lease.time.ManualTime;
import dev.cinch.lease.time.SystemTime;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A real etcd of three members that do not hear each other, and a lease server at each. A build
 * cuts them off in both directions, and {@code -Dcinch.all=true} in one alone, too.
 */
@Timeout(600)
@Execution(ExecutionMode.CONCURRENT) // they wait for etcds of their own
final class EtcdPartitionTest {
  private static final int MEMBERS = 3;
  private static final int TRIES = 200;

  /** What does not come through between one member and the others. */
  enum Lost {
    ALL,
    WHAT_IT_SENDS,
    WHAT_IT_WOULD_HEAR
  }

  /** All of them with {@code -Dcinch.all=true}. */
  private static final List<Lost> KINDS = Share.ALL ? List.of(Lost.values()) : List.of(Lost.ALL);

  @TempDir Path dir;

  private final Partitions network = new Partitions();
  private final ManualTime time = new ManualTime();
  private final List<AutoCloseable> open = new ArrayList<>();
  private final List<EtcdRegister> registers = new ArrayList<>();
  private EtcdCell etcd;

  @BeforeEach
  void start() throws Exception {
    open.add(network);
    etcd = EtcdCell.start(dir, MEMBERS, network::before);
    open.add(etcd);
    network.learn(etcd.endpoints().get(0));
    for (int i = 0; i < MEMBERS; i++) {
      EtcdRegister register =
          EtcdRegister.of(
              EtcdCluster.at(List.of(etcd.endpoints().get(i))),
              "test",
              60_000,
              SystemTime.INSTANCE,
              new Random(i));
      registers.add(register);
      open.add(register);
    }
  }

  @AfterEach
  void close() throws Exception {
    for (int i = open.size() - 1; i >= 0; i--) {
      open.get(i).close();
    }
  }

  private void cutOff(int member, Lost lost) {
    for (int other = 0; other < MEMBERS; other++) {
      if (other != member && lost != Lost.WHAT_IT_WOULD_HEAR) {
        network.cut(member, other);
      }
      if (other != member && lost != Lost.WHAT_IT_SENDS) {
        network.cut(other, member);
      }
    }
  }

  /** Servers of one instance: each asks its own member alone. */
  private List<Rig> servers() {
    return registers.stream()
        .map(r -> RegisterBackend.on(r, ManualTime.START, 60_000, 0))
        .map(backend -> new Rig(time, null, true, TableLimits.DEFAULT, backend))
        .toList();
  }

  private static Grant renew(Rig at, Grant grant)
      throws LeaseRefusedException, LeaseUnavailableException {
    return at.service.renew(grant.id(), Rig.LEASE_MS, LogSet.NONE, LeaseReport.NOTHING);
  }

  private interface Call {
    Grant send() throws LeaseRefusedException, LeaseUnavailableException;
  }

  /** Neither granted, nor refused as if it were known who has it. */
  private static void assertUnavailable(Call call) {
    Exception e = assertThrows(Exception.class, call::send);
    assertTrue(
        e instanceof LeaseUnavailableException
            || (e instanceof LeaseRefusedException refused && refused.reason() == Reason.NOT_YET),
        e.toString());
  }

  private static void assertRefused(Reason reason, Call call) {
    assertEquals(reason, assertThrows(LeaseRefusedException.class, call::send).reason());
  }

  /** Until its member is one of a majority that has a leader. */
  private static void awaitService(Rig server, String name) throws Exception {
    for (int i = 0; i < TRIES; i++) {
      try {
        var unused = server.acquire(name + i);
        return;
      } catch (LeaseRefusedException e) {
        assertEquals(Reason.NOT_YET, e.reason());
      } catch (LeaseUnavailableException e) {
        // It may have been granted; the next name is another one.
      }
    }
    fail("no lease is granted at " + name);
  }

  static Stream<Arguments> cuts() {
    return Stream.of(true, false)
        .flatMap(isLeader -> KINDS.stream().map(lost -> Arguments.of(isLeader, lost)));
  }

  @ParameterizedTest
  @MethodSource("cuts")
  @Tag("share")
  void l1_aLeaseHasOneOwnerWhoeverIsCutOff(boolean isLeader, Lost lost) throws Exception {
    List<Rig> servers = servers();
    int leader = network.leader(etcd.endpoints());
    int alone = isLeader ? leader : (leader + 1) % MEMBERS;
    Rig minority = servers.get(alone);
    List<Rig> majority =
        IntStream.range(0, MEMBERS).filter(i -> i != alone).mapToObj(servers::get).toList();
    Grant grant = minority.acquire("a");
    cutOff(alone, lost);
    assertUnavailable(() -> renew(minority, grant));
    for (int i = 0; i < majority.size(); i++) {
      Rig server = majority.get(i);
      awaitService(server, "of-the-majority-" + i + "/");
      assertRefused(Reason.HELD, () -> server.acquire("a"));
    }
    assertUnavailable(() -> minority.acquire("b"));
    time.advanceMs(Rig.LEASE_MS + 1);
    Grant next = majority.get(0).acquire("a");
    assertUnavailable(() -> minority.acquire("a"));
    assertUnavailable(() -> renew(minority, grant));
    assertRefused(Reason.HELD, () -> majority.get(1).acquire("a"));
    network.heal();
    awaitService(minority, "healed/");
    assertRefused(Reason.HELD, () -> minority.acquire("a"));
    assertRefused(Reason.NOT_HELD, () -> renew(minority, grant));
    var unused = renew(majority.get(0), next);
    for (Rig server : servers) {
      var also = server.acquire("after-" + servers.indexOf(server));
    }
  }

  /** What was answered is there, what was refused is not, and nothing is there twice. */
  @Test
  @Tag("share")
  void nothingIsLostOrDoneTwiceWhileCutsGoRound() throws Exception {
    var writings = new Writings(new LeaseName("a"));
    writings.write(
        registers,
        MEMBERS,
        15,
        () -> {
          for (int member = 0; member < MEMBERS; member++) {
            for (Lost lost : KINDS) {
              cutOff(member, lost);
              awaitWriting(registers.get((member + 1) % MEMBERS), member + "-" + lost);
              network.heal();
            }
          }
        });
    for (EtcdRegister register : registers) {
      writings.check(register);
    }
  }

  /** Until those that are not cut off go on. */
  private static void awaitWriting(EtcdRegister register, String name) throws Exception {
    var own = new Writings(new LeaseName(name));
    for (int i = 0; !own.write(register, "x" + i); i++) {
      assertTrue(i < TRIES, "nothing can be written at " + name);
    }
  }
}
