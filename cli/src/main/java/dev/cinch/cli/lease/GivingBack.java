package dev.cinch.cli.lease;

import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.hold.HeldLease;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.function.Consumer;

/**
 * Gives leases back when their command has ended, or says why they run out. Whoever waits for the
 * command does not wait for a service that is silent.
 */
final class GivingBack {
  /** For all that the service is asked: so that everything ends within two seconds. */
  private static final Duration PATIENCE = Duration.ofMillis(1_500);

  private static final long LOOK_NANOS = 2_000_000;

  private final HeldLease held;
  private final TimeSource time;
  private final Consumer<String> say;

  /**
   * @param say told in one line that they run out, unless they were lost
   */
  GivingBack(HeldLease held, TimeSource time, Consumer<String> say) {
    this.held = held;
    this.time = time;
    this.say = say;
  }

  /** Rule L2: only with the highest timestamp of all that was written under them. */
  void give(GrantDirectory grant) throws IOException, InterruptedException {
    try {
      GrantDirectory.Uses uses = grant.close();
      String kept =
          uses.open() > 0 ? "an append under them was killed, or goes on" : released(uses);
      if (!kept.isEmpty()) {
        boolean lost = held.state() == HeldLease.State.LOST;
        held.close();
        if (!lost) {
          say.accept("the leases are not given back, and run out: " + kept);
        }
      }
    } finally {
      grant.remove();
    }
  }

  /** Of leases under which nothing was written. */
  void giveUnused() throws InterruptedException {
    String unused = released(new GrantDirectory.Uses(0, OptionalLong.empty(), Set.of()));
  }

  /** Why that could not be done, or nothing. A service that is silent does not hear of it. */
  private String released(GrantDirectory.Uses uses) throws InterruptedException {
    long until = time.monotonicNanos() + PATIENCE.toNanos();
    var asked = new FutureTask<>(() -> release(uses));
    var thread = new Thread(asked, "cinch-lease-release");
    thread.setDaemon(true);
    thread.start();
    while (!asked.isDone()) {
      long left = until - time.monotonicNanos();
      if (left <= 0) {
        return "no answer from the lease service within " + PATIENCE.toMillis() / 1e3 + " s";
      }
      time.sleepNanos(Math.min(left, LOOK_NANOS));
    }
    try {
      return asked.get();
    } catch (ExecutionException e) {
      throw new IllegalStateException(e.getCause());
    }
  }

  private String release(GrantDirectory.Uses uses) {
    try {
      if (!agreed(uses.instances())) {
        return "the lease service was restarted, or does not answer";
      }
      held.release(new LeaseReport(uses.highest(), false, List.of()));
      return "";
    } catch (LeaseRefusedException | LeaseUnavailableException e) {
      return String.valueOf(e.getMessage());
    }
  }

  /** Rule L14: whether all went by the instance of the service that the release is for. */
  private boolean agreed(Set<Long> instances) {
    if (instances.isEmpty()) {
      return true;
    }
    try {
      if (!instances.equals(Set.of(instance()))) {
        held.renew(LogSet.NONE); // they may have heard of a restart before this one did
      }
    } catch (LeaseRefusedException | LeaseUnavailableException e) {
      return false;
    }
    held.close(); // from now on it goes by no other one
    return instances.equals(Set.of(instance()));
  }

  private long instance() {
    return held.witnesses().get(0).witness().instance();
  }
}
