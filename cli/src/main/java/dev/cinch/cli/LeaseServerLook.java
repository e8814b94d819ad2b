package dev.cinch.cli;

import dev.cinch.bag.Store;
import dev.cinch.bag.format.InstanceFile;
import dev.cinch.bag.store.StoreInstances;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.OneLine;
import dev.cinch.lease.ServiceInfo;
import dev.cinch.lease.TimeBound;
import dev.cinch.lease.http.Health;
import dev.cinch.lease.http.HttpLeaseClient;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** Asks a store's lease server, the one that is named or the last that left its address. */
final class LeaseServerLook {
  private static final Duration PATIENCE = Duration.ofSeconds(2);

  private LeaseServerLook() {}

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
   * @param ceiling that no lease of it outlasts, nanoseconds since the Unix epoch; empty of one
   *     that does not tell, or has granted nothing
   * @param time between which times it is by the server; empty of one that does not tell
   * @param timeProblems what is wrong with where it has that from, in words
   */
  record Found(
      State state,
      String address,
      long instance,
      String why,
      OptionalLong ceiling,
      Optional<TimeBound> time,
      List<String> timeProblems) {
    Found(State state, String address, long instance, String why) {
      this(state, address, instance, why, OptionalLong.empty(), Optional.empty(), List.of());
    }

    private Found with(ServiceInfo info) {
      return new Found(
          state, address, instance, why, info.ceiling(), info.time(), info.timeProblems());
    }

    /** Whether it is there, and serves this store. */
    boolean answers() {
      return state == State.GRANTING || state == State.NOT_GRANTING;
    }

    boolean needsAttention() {
      return state != State.GRANTING && state != State.ELSEWHERE;
    }
  }

  /**
   * Asks it.
   *
   * @param named by the user; null: whatever the store says
   * @return empty if there never was one, or none that left its address
   */
  static Optional<Found> ask(Store store, @Nullable URI named) {
    if (named != null) {
      return Optional.of(ask(store, named.toString(), 0));
    }
    Optional<StoreInstances.Instance> latest;
    try {
      latest = StoreInstances.latest(store.context());
    } catch (IOException e) {
      return Optional.empty();
    }
    if (latest.isEmpty() || latest.get().where().isEmpty()) {
      return Optional.empty();
    }
    return Optional.of(ask(store, latest.get()));
  }

  /** Asks an instance where it says that it is. */
  static Found ask(Store store, StoreInstances.Instance instance) {
    long number = instance.number();
    if (instance.where().isEmpty()) {
      return new Found(State.ELSEWHERE, "", number, "left no address, and can't be asked");
    }
    InstanceFile where = instance.where().get();
    boolean here = where.machine().equals(MachineNames.ofHost().value());
    if (!here && isLoopback(where.address())) {
      String why = "listens on " + where.machine() + " only, and can't be asked from here";
      return new Found(State.ELSEWHERE, where.address(), number, why);
    }
    return ask(store, where.address(), number);
  }

  private static boolean isLoopback(String address) {
    return address.matches("https?://(127\\..*|localhost|localhost:.*|\\[::1\\].*)");
  }

  private static Found ask(Store store, String address, long number) {
    try {
      HttpLeaseClient client =
          HttpLeaseClient.builder(URI.create(address))
              .connectTimeout(PATIENCE)
              .requestTimeout(PATIENCE)
              .build();
      Health health = client.health();
      long instance = health.instance().orElse(number);
      String served = health.store();
      if (!served.isEmpty() && !served.equals(store.context().identity().id().toString())) {
        return new Found(State.FOREIGN, address, instance, "serves another store, " + served);
      }
      Optional<LeaseRefusedException> obstacle = health.obstacle();
      Found found =
          obstacle.isEmpty()
              ? new Found(State.GRANTING, address, instance, "")
              : new Found(
                  State.NOT_GRANTING,
                  address,
                  instance,
                  OneLine.of("" + obstacle.get().getMessage(), 300));
      // While it starts it tells nothing of itself.
      return health.instance().isPresent() ? found.with(client.info()) : found;
    } catch (LeaseUnavailableException | IllegalArgumentException e) {
      return new Found(State.SILENT, address, number, OneLine.of("" + e.getMessage(), 300));
    }
  }
}
