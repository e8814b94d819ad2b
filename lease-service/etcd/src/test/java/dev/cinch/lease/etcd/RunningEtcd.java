package dev.cinch.lease.etcd;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.LeaseName;
import dev.cinch.lease.register.Backends;
import dev.cinch.lease.time.SystemTime;
import java.net.URI;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** A real etcd that all tests of this JVM share, asked through three registers. */
public final class RunningEtcd implements Backends.Provider {
  /** Starts it; has tests skipped where etcd is not installed. */
  @Override
  public List<EtcdRegister> registers() {
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
    return registers;
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
