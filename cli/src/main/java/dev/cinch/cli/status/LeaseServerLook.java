package dev.cinch.cli.status;

import dev.cinch.bag.Problem;
import dev.cinch.bag.Problem.Kind;
import dev.cinch.bag.Store;
import dev.cinch.bag.registry.InstanceFile;
import dev.cinch.bag.registry.StoreInstances;
import dev.cinch.bag.registry.StoreShards;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.MachineNames;
import dev.cinch.lease.HostPort;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.OneLine;
import dev.cinch.lease.ServiceInfo;
import dev.cinch.lease.TimeBound;
import dev.cinch.lease.client.Credentials;
import dev.cinch.lease.client.HttpLeaseClient;
import dev.cinch.lease.client.ServerAddresses;
import dev.cinch.lease.wire.Health;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Asks a store's lease server, the one that is named or the last that left its address. */
final class LeaseServerLook {
  private static final Duration PATIENCE = Duration.ofSeconds(2);
  private static final int AT_ONCE = 32;

  private final Store store;
  private final Credentials credentials;

  LeaseServerLook(Store store, Credentials credentials) {
    this.store = store;
    this.credentials = credentials;
  }

  /** How it is. */
  enum State {
    GRANTING,
    NOT_GRANTING,
    SILENT,
    /** It serves another store. */
    FOREIGN,
    /** Its address leads nowhere from this machine. */
    ELSEWHERE,
    /** None has ever had the shard. */
    NOT_STARTED
  }

  /**
   * What was found.
   *
   * @param address where it was asked; empty if there is none
   * @param instance its number; 0 if that is not known
   * @param why in words, empty if it grants
   * @param info what it says of itself; empty of one that does not
   * @param others where it has several addresses, what is wrong with the servers at other ones
   */
  record Found(
      State state,
      String address,
      long instance,
      String why,
      Optional<ServiceInfo> info,
      List<String> others) {
    Found(State state, String address, long instance, String why) {
      this(state, address, instance, why, Optional.empty(), List.of());
    }

    /**
     * The time that no lease of it outlasts, nanoseconds since the Unix epoch; {@link
     * Long#MIN_VALUE} of one that does not tell, or has granted nothing.
     */
    long ceiling() {
      return info.map(ServiceInfo::ceiling).orElse(OptionalLong.empty()).orElse(Long.MIN_VALUE);
    }

    /** Between which times it is by the server; empty of one that does not tell. */
    Optional<TimeBound> time() {
      return info.flatMap(ServiceInfo::time);
    }

    /** Which one, for a sentence. */
    String inWords() {
      return address.isEmpty()
          ? "the lease server" + (instance > 0 ? " of instance " + instance : "")
          : "the lease server at " + address;
    }

    /** Whether it is there, and serves this store. */
    boolean answers() {
      return state == State.GRANTING || state == State.NOT_GRANTING;
    }

    /** Whether other machines reach it without TLS: serve was told --insecure. */
    boolean isInsecure() {
      return Arrays.stream(address.split(","))
          .filter(each -> each.startsWith("http:"))
          .anyMatch(each -> HostPort.of(each).filter(at -> !at.isLoopback()).isPresent());
    }

    /**
     * What of it needs somebody.
     *
     * @param of which shard's server it is, for the beginning of a line; empty in a store without
     */
    List<Problem> problems(String of) {
      var found = new ArrayList<Problem>();
      if (state != State.GRANTING && state != State.ELSEWHERE) {
        found.add(new Problem(Kind.SERVER, of + inWords() + ": " + why));
      }
      for (String other : others) {
        found.add(new Problem(Kind.SERVER, of + "the lease server at " + other));
      }
      for (String problem : info.map(ServiceInfo::timeProblems).orElse(List.of())) {
        String line = of + "the lease server's time sources: " + OneLine.of(problem, 300);
        found.add(new Problem(Kind.CLOCK, line));
      }
      return found;
    }
  }

  /**
   * Asks it.
   *
   * @param named by the user; null: whatever the store says
   * @return empty if there never was one
   */
  Optional<Found> ask(@Nullable ServerAddresses named) {
    if (named != null) {
      return Optional.of(ask(named, 0));
    }
    Optional<StoreShards.Instance> latest;
    try {
      latest = StoreInstances.latest(store.context());
    } catch (IOException e) {
      String why = "can't be found: " + Failure.of(e).line();
      return Optional.of(new Found(State.SILENT, "", 0, why));
    }
    return latest.map(instance -> ask(instance));
  }

  /** Asks an instance where it says that it is. */
  Found ask(StoreShards.Instance instance) {
    long number = instance.number();
    if (instance.where().isEmpty()) {
      return new Found(
          State.SILENT,
          "",
          number,
          "left no address and can't be asked: no server is known to grant");
    }
    InstanceFile where = instance.where().get();
    ServerAddresses addresses;
    try {
      addresses = ServerAddresses.parse(where.address());
    } catch (IllegalArgumentException e) {
      return new Found(State.SILENT, where.address(), number, OneLine.of("" + e.getMessage(), 300));
    }
    boolean here = where.machine().equals(MachineNames.ofHost().value());
    if (!here && addresses.all().stream().allMatch(LeaseServerLook::isLoopback)) {
      String why = "listens on " + where.machine() + " only, and can't be asked from here";
      return new Found(State.ELSEWHERE, where.address(), number, why);
    }
    return ask(addresses, number);
  }

  private static boolean isLoopback(URI address) {
    return HostPort.of(address).filter(HostPort::isLoopback).isPresent();
  }

  /** Of several equal servers each is asked; the best answer is the service's. */
  private Found ask(ServerAddresses addresses, long number) {
    if (addresses.all().size() == 1) {
      return ask(addresses.all().get(0), number);
    }
    List<Found> all =
        all(addresses.all().stream().<Supplier<Found>>map(a -> () -> ask(a, number)).toList());
    Found best = all.stream().min(Comparator.comparing(Found::state)).orElseThrow();
    var wrong = new ArrayList<String>();
    for (Found each : all) {
      if (each != best && each.state() != State.GRANTING) {
        wrong.add(each.address() + ": " + each.why());
      } else if (each.instance() != best.instance()) {
        wrong.add(each.address() + ": is instance " + each.instance());
      }
    }
    return new Found(
        best.state(), addresses.toString(), best.instance(), best.why(), best.info(), wrong);
  }

  /** Asks several at once; each that is silent takes some seconds. */
  static List<Found> all(List<Supplier<Found>> asked) {
    ExecutorService pool = Executors.newFixedThreadPool(Math.min(AT_ONCE, asked.size()));
    try {
      List<CompletableFuture<Found>> answers =
          asked.stream().map(a -> CompletableFuture.supplyAsync(a, pool)).toList();
      return answers.stream().map(CompletableFuture::join).toList();
    } finally {
      pool.shutdown();
    }
  }

  private Found ask(URI at, long number) {
    String address = at.toString();
    try {
      HttpLeaseClient client =
          HttpLeaseClient.builder(at)
              .credentials(credentials)
              .connectTimeout(PATIENCE)
              .requestTimeout(PATIENCE)
              .build();
      Health health = client.health();
      long instance = health.instance().orElse(number);
      String served = health.store();
      if (served.isEmpty() && number > 0) {
        return new Found(
            State.FOREIGN, address, instance, "serves no store, and is not instance " + number);
      }
      if (!served.isEmpty() && !served.equals(store.context().identity().id().toString())) {
        return new Found(State.FOREIGN, address, instance, "serves another store, " + served);
      }
      Optional<String> why = client.obstacle().map(e -> OneLine.of("" + e.getMessage(), 300));
      // While it starts it tells nothing of itself, and does not grant.
      Optional<ServiceInfo> info =
          health.instance().isPresent() || why.isEmpty()
              ? Optional.of(client.info())
              : Optional.empty();
      State state = why.isEmpty() ? State.GRANTING : State.NOT_GRANTING;
      return new Found(state, address, instance, why.orElse(""), info, List.of());
    } catch (LeaseUnavailableException | IllegalArgumentException e) {
      return new Found(State.SILENT, address, number, OneLine.of("" + e.getMessage(), 300));
    }
  }
}
