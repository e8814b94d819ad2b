package dev.cinch.bag;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.registry.StoreInstances;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.lease.Between;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.instance.InstanceRegistry;
import dev.cinch.lease.instance.ServiceInstance;
import dev.cinch.lease.time.TimeSource;
import dev.cinch.lease.witness.GrantSigner;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;

/** A store with one log, and a lease service whose instances are numbered in it. */
abstract class SessionRig {
  static final LeaseName NAME = new LeaseName("tenant-7");
  static final List<LeaseName> NAMES = List.of(NAME);
  static final Duration LEASE = Duration.ofSeconds(10);
  static final long MS = 1_000_000;

  Rig rig;
  SigningKey key;
  ServiceInstance service;

  @BeforeEach
  void start() throws Exception {
    begin();
  }

  final void begin() throws Exception {
    rig = Rig.memory(7);
    key = SigningKey.ofSeed(new byte[32]);
    Store store = store(rig.disk.view(Rig.ALICE), rig.time, "head");
    assertEquals(1, TrustedKeyFiles.add(store.context(), key));
    service = serve(key, rig.time, store);
  }

  static ServiceInstance serve(SigningKey key, TimeSource time, Store store) throws IOException {
    return ServiceInstance.builder(new WitnessSigner(key), time)
        .storeInCallers()
        .registry(new StoreInstances(store.context(), key))
        .start();
  }

  /** A service of the store that looks at nothing there, whatever its number and its clock. */
  static ServiceInstance serve(SigningKey key, TimeSource time, Store store, long number)
      throws IOException {
    return serve(key, new WitnessSigner(key), time, store, number);
  }

  /**
   * @param signer signs what is granted, perhaps not as it should
   */
  static ServiceInstance serve(
      SigningKey key, GrantSigner signer, TimeSource time, Store store, long number)
      throws IOException {
    var of = new StoreInstances(store.context(), key);
    InstanceRegistry registry =
        Between.of(
            InstanceRegistry.class,
            call ->
                switch (call.method().getName()) {
                  case "takeNumber" -> number;
                  case "publishCeiling", "isLatest" -> true;
                  case "end" -> Set.copyOf((List<?>) call.args()[0]);
                  case "highestEarlierCeiling" -> OptionalLong.empty();
                  case "checkClock" -> null;
                  default -> call.by(of);
                });
    return ServiceInstance.builder(signer, time).storeInCallers().registry(registry).start();
  }

  final Store store(StoreFs fs, TimeSource time, String machine) throws IOException {
    return Store.open(
        rig.root,
        new Store.Environment(fs, new MachineName(machine), time, new Random(machine.hashCode())));
  }

  final Store store(String machine) throws IOException {
    return store(rig.disk.view(Rig.ALICE), rig.time, machine);
  }

  /** A lease for the log that there is, which nobody renews. */
  final Grant acquire(String holder) throws Exception {
    return service.acquire(
        new Operation.Acquire(
            Id.random(new Random(holder.hashCode())),
            NAMES,
            holder,
            LEASE.toMillis(),
            LogSet.of(List.of(store("x").log(Rig.JOBS).id())),
            false));
  }

  /** Another instance takes the place of the first one, and has waited long enough to grant. */
  final void restart() throws Exception {
    service = serve(key, rig.time, store("head2"));
    rig.time.advanceMs(120_000);
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static Receipt.Committed committed(Receipt receipt) {
    return assertInstanceOf(Receipt.Committed.class, receipt);
  }
}
