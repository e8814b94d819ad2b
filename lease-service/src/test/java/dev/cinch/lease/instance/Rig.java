package dev.cinch.lease.instance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.TimeBound;
import dev.cinch.lease.Witness;
import dev.cinch.lease.rules.Moment;
import dev.cinch.lease.table.LeaseBackend;
import dev.cinch.lease.table.TableLimits;
import dev.cinch.lease.time.ManualTime;
import dev.cinch.lease.time.TimeBounds;
import dev.cinch.lease.witness.GrantSigner;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.function.Executable;

/** A service with clocks of its own, and short ways to say what tests say all the time. */
public final class Rig {
  /** What the tests' leases last, milliseconds. */
  public static final long LEASE_MS = 10_000;

  public static final long MS = 1_000_000;
  static final SigningKey KEY = SigningKey.ofSeed(new byte[32]);
  static final Id LOG_A = new Id(0, 0xA);
  static final Id LOG_B = new Id(0, 0xB);

  /** As {@link ServiceInstance.Builder#storeInCallers}. */
  private static final Executor IN_CALLERS = Runnable::run;

  /** Several rigs may ask for the same leases, and not by the same ids. */
  private static final AtomicLong RIGS = new AtomicLong();

  public final ManualTime time;
  public final ServiceInstance service;
  private final Random random;

  public Rig() {
    this(new ManualTime(), null, true, TableLimits.DEFAULT);
  }

  /** One whose leases a backend keeps. */
  public Rig(LeaseBackend.Factory backend) {
    this(new ManualTime(), null, true, TableLimits.DEFAULT, backend);
  }

  Rig(TableLimits limits) {
    this(new ManualTime(), null, true, limits);
  }

  Rig(ManualTime time, FakeRegistry registry) {
    this(time, registry, false, TableLimits.DEFAULT);
  }

  Rig(ManualTime time, @Nullable InstanceRegistry registry, boolean fresh, TableLimits limits) {
    this(time, registry, fresh, limits, null);
  }

  /**
   * One whose store is called by an executor.
   *
   * @param storeThread null for a thread of the service
   */
  Rig(ManualTime time, InstanceRegistry registry, @Nullable Executor storeThread) {
    this(time, registry, false, TableLimits.DEFAULT, null, storeThread);
  }

  /**
   * @param backend null for the service's memory
   */
  public Rig(
      ManualTime time,
      @Nullable InstanceRegistry registry,
      boolean fresh,
      TableLimits limits,
      LeaseBackend.@Nullable Factory backend) {
    this(time, registry, fresh, limits, backend, IN_CALLERS);
  }

  private Rig(
      ManualTime time,
      @Nullable InstanceRegistry registry,
      boolean fresh,
      TableLimits limits,
      LeaseBackend.@Nullable Factory backend,
      @Nullable Executor storeThread) {
    this.time = time;
    random = new Random(backend == null ? 7 : RIGS.getAndIncrement());
    var builder =
        ServiceInstance.builder(
                backend instanceof GrantSigner signer ? signer : new WitnessSigner(KEY), time)
            .fresh(fresh)
            .limits(limits);
    if (backend != null) {
      builder.backend(backend);
    }
    if (registry != null) {
      builder.registry(registry);
    }
    if (storeThread == IN_CALLERS) {
      builder.storeInCallers();
    } else if (storeThread != null) {
      builder.storeThread(storeThread);
    }
    try {
      service = builder.start();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  /** A moment of a clock that is taken to be right but for a guess. */
  public static Moment at(long time) {
    return new Moment(
        time, TimeBound.around(time, TimeBounds.ASSUMED_NANOS, TimeBound.Kind.ASSUMED));
  }

  public static List<LeaseName> names(String... names) {
    return Arrays.stream(names).map(LeaseName::new).toList();
  }

  public Operation.Acquire request(String... names) {
    return new Operation.Acquire(
        Id.random(random), names(names), "tester", LEASE_MS, LogSet.of(List.of(LOG_A)), false);
  }

  Operation.Acquire tentative(String... names) {
    Operation.Acquire r = request(names);
    return new Operation.Acquire(r.id(), r.names(), r.holder(), r.durationMs(), r.logs(), true);
  }

  public Grant acquire(String... names) throws LeaseRefusedException, LeaseUnavailableException {
    return service.acquire(request(names));
  }

  Grant renew(Grant grant, LeaseReport report)
      throws LeaseRefusedException, LeaseUnavailableException {
    return service.renew(grant.id(), LEASE_MS, LogSet.NONE, report);
  }

  static LeaseReport wrote(long watermark) {
    return new LeaseReport(OptionalLong.of(watermark), false, List.of());
  }

  static LeaseReport fenced() {
    return new LeaseReport(OptionalLong.empty(), true, List.of());
  }

  static Witness only(Grant grant) {
    assertEquals(1, grant.witnesses().size());
    return grant.witnesses().get(0).witness();
  }

  static LeaseRefusedException refused(Reason reason, Executable call) {
    LeaseRefusedException e = assertThrows(LeaseRefusedException.class, call);
    assertEquals(reason, e.reason(), e.getMessage());
    assertEquals(1, String.valueOf(e.getMessage()).lines().count());
    return e;
  }
}
