package dev.cinch.lease.register;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.LeaseName;
import dev.cinch.lease.register.etcd.EtcdCell;
import dev.cinch.lease.register.etcd.EtcdCluster;
import dev.cinch.lease.register.etcd.EtcdRegister;
import dev.cinch.lease.time.SystemTime;
import java.net.URI;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A real etcd that all tests of this JVM share, asked through three registers. */
final class RunningEtcd {
  private static @Nullable RunningCell shared;

  private RunningEtcd() {}

  /** Starts it the first time; has tests skipped where etcd is not installed. */
  static synchronized RunningCell shared() {
    RunningCell started = shared;
    if (started == null) {
      List<URI> endpoints = EtcdCell.startUntilExit().endpoints();
      List<EtcdRegister> registers =
          Stream.of(1, 2, 3)
              .map(
                  seed ->
                      EtcdRegister.of(
                          EtcdCluster.at(endpoints),
                          "shared",
                          60_000,
                          SystemTime.INSTANCE,
                          new Random(seed)))
              .toList();
      registers.forEach(RunningEtcd::awaitEvents);
      started = new RunningCell(registers);
      shared = started;
    }
    return started;
  }

  /** Until it hears what is written: what came before its stream of events is told to nobody. */
  private static void awaitEvents(EtcdRegister register) {
    var heard = new CountDownLatch(1);
    register.listen((name, value) -> heard.countDown());
    try {
      for (int tries = 0; !heard.await(10, TimeUnit.MILLISECONDS); tries++) {
        assertTrue(tries < 6_000, "no event comes");
        assertTrue(
            register.change(new LeaseName("first"), found -> Optional.of(new byte[1])).join());
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
