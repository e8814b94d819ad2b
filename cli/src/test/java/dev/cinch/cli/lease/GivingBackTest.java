package dev.cinch.cli.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Altered;
import dev.cinch.lease.Between;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.client.ServerAddresses;
import dev.cinch.lease.hold.HeldLease;
import dev.cinch.lease.hold.HoldSettings;
import dev.cinch.lease.instance.ServiceInstance;
import dev.cinch.lease.time.ForwardingTime;
import dev.cinch.lease.time.ManualTime;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** How leases are given back behind their command, by a clock that goes on while nobody answers. */
@Timeout(600)
@SuppressWarnings("NullAway.Init")
class GivingBackTest {
  private static final long MS = 1_000_000;
  private static final long LEASE_MS = 60_000;

  @TempDir Path temp;

  private final ManualTime time = new ManualTime();
  private final List<String> said = new ArrayList<>();
  private final CountDownLatch over = new CountDownLatch(1);
  private final CountDownLatch asked = new CountDownLatch(1);
  private final Random random = new Random(7);
  private volatile boolean silent;

  /** Whether another instance answers renewals, when they are over. */
  private volatile boolean restarted;

  /** By the last release. */
  private volatile @Nullable LeaseReport told;

  private ServiceInstance memory;
  private HeldLease held;
  private GrantDirectory grant;

  @BeforeEach
  void hold() throws Exception {
    memory =
        ServiceInstance.builder(new WitnessSigner(SigningKey.generate()), time).fresh(true).start();
    LeaseService service =
        Between.of(
            LeaseService.class,
            call -> {
              if (silent || restarted && call.is("renew")) {
                asked.countDown();
                over.await();
              }
              if (call.is("release")) {
                told = (LeaseReport) call.args()[1];
              }
              Object answer = call.by(memory);
              return restarted && answer instanceof Grant renewed ? later(renewed) : answer;
            });
    var from = HeldLease.AskedAt.now(time);
    Grant granted = service.acquire(request());
    held =
        new HeldLease(
            service,
            time,
            HoldSettings.of(LEASE_MS),
            granted,
            from,
            () -> LeaseReport.NOTHING,
            (lease, why) -> {},
            random);
    grant =
        GrantDirectory.make(
            held.id(),
            ServerAddresses.parse("http://127.0.0.1:1"),
            Duration.ofMillis(LEASE_MS),
            name -> temp.toString());
  }

  /** As by the next instance. */
  private static Grant later(Grant grant) {
    SignedWitness signed = grant.witnesses().get(0);
    Witness w = Altered.with(signed.witness(), "instance", signed.witness().instance() + 1);
    return new Grant(grant.id(), List.of(new SignedWitness(w, signed.bytes())));
  }

  private Operation.Acquire request() {
    List<LeaseName> names = List.of(new LeaseName("a"));
    return new Operation.Acquire(Id.random(random), names, "h", LEASE_MS, LogSet.ALL, false);
  }

  @AfterEach
  void end() {
    over.countDown();
  }

  /** Gives them back; how long that took, milliseconds. */
  private long give() throws Exception {
    var clock =
        new ForwardingTime(time) {
          @Override
          public void sleepNanos(long nanos) throws InterruptedException {
            if (silent) {
              super.sleepNanos(nanos);
            } else if (Thread.getAllStackTraces().entrySet().stream().anyMatch(this::isBehind)) {
              over.countDown();
            }
          }

          /** Whether it is the release, which waits for a renewal. */
          private boolean isBehind(Map.Entry<Thread, StackTraceElement[]> of) {
            return of.getKey().getName().equals("cinch-lease-release")
                && of.getKey().getState() == Thread.State.BLOCKED
                && of.getValue().length > 0
                && of.getValue()[0].getClassName().equals(HeldLease.class.getName())
                && of.getValue()[0].getMethodName().equals("release");
          }
        };
    long from = time.monotonicNanos();
    new GivingBack(held, clock, said::add).give(grant);
    assertFalse(Files.exists(grant.path()));
    return (time.monotonicNanos() - from) / MS;
  }

  private LeaseInfo lease() throws Exception {
    return memory.show(new LeaseName("a")).orElseThrow();
  }

  private long instance() {
    return held.witnesses().get(0).witness().instance();
  }

  @Test
  void l2_theReleaseSaysHowFarTheAppendsCame() throws Exception {
    long wrote = time.wallNanos() + MS;
    time.advanceMs(5);
    grant.use().ended(OptionalLong.of(wrote), instance());
    assertEquals(0, give());
    assertEquals(LeaseInfo.State.RELEASED, lease().state());
    Grant next = memory.acquire(request());
    assertEquals(wrote, next.witnesses().get(0).witness().watermark().timestamp());
    assertEquals(List.of(), said);
  }

  private void isNotHeard() throws Exception {
    assertEquals(1_500, give());
    assertEquals(HeldLease.State.CLOSED, held.state());
    assertEquals(
        List.of(
            "the leases are not given back, and run out: no answer from the lease service within 1.5 s"),
        said);
  }

  @Test
  void aServiceThatIsSilentIsNotWaitedForLong() throws Exception {
    silent = true;
    isNotHeard();
  }

  /** Which is asked first. */
  @Test
  void alsoWhereAnAppendWentByAnotherInstance() throws Exception {
    grant.use().ended(OptionalLong.empty(), instance() + 1);
    silent = true;
    isNotHeard();
  }

  /** The release is behind it. */
  @Test
  void alsoWhileARenewalIsUnderWay() throws Exception {
    silent = true;
    var renewing = new Thread(() -> held.doWork(held.deadline() - MS));
    renewing.setDaemon(true);
    renewing.start();
    asked.await();
    isNotHeard();
  }

  @Test
  void ofLeasesThatWereLostNothingMoreIsSaid() throws Exception {
    silent = true;
    time.advanceMs(LEASE_MS);
    long unused = held.doWork(time.monotonicNanos());
    assertEquals(HeldLease.State.LOST, held.state());
    assertEquals(1_500, give());
    assertEquals(List.of(), said);
  }

  /** Rule L14: the watermark of what was written there is no watermark here. */
  @Test
  void l14_whatWasWrittenUnderAnotherInstanceIsNotGivenBack() throws Exception {
    grant.use().ended(OptionalLong.empty(), instance() + 1);
    assertEquals(0, give());
    assertEquals(LeaseInfo.State.HELD, lease().state());
    assertEquals(HeldLease.State.CLOSED, held.state());
    assertTrue(said.get(0).contains("restarted, or does not answer"), "" + said);
  }

  /** Nobody wrote there, and so it knows of no watermark. */
  @Test
  void l14_theReleaseIsForTheInstanceThatAllWentByWhateverARenewalBrings() throws Exception {
    grant.use().ended(OptionalLong.empty(), instance());
    restarted = true;
    var renewing = new Thread(() -> held.doWork(held.deadline() - MS));
    renewing.start();
    asked.await();
    assertEquals(0, give());
    assertEquals(OptionalLong.of(instance()), Objects.requireNonNull(told).instance());
    assertEquals(LeaseInfo.State.RELEASED, lease().state());
  }

  @Test
  void l2_norIsWhatAnAppendMayWriteYet() throws Exception {
    var unused = grant.use();
    assertEquals(0, give());
    assertEquals(LeaseInfo.State.HELD, lease().state());
    assertTrue(said.get(0).contains("was killed, or goes on"), "" + said);
  }
}
