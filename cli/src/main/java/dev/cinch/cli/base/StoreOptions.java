package dev.cinch.cli.base;

import dev.cinch.bag.Store;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Name;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of every command that opens a store. */
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class StoreOptions {
  @Option(
      names = "--store",
      required = true,
      paramLabel = "DIR",
      description = "The store's directory (or set CINCH_STORE).")
  public Name store;

  @Option(
      names = "--machine",
      paramLabel = "NAME",
      description = "The name to write under; the host's name (or set CINCH_MACHINE).")
  public @Nullable MachineName machine;

  @Option(
      names = "--clock-offset",
      hidden = true,
      paramLabel = "DURATION",
      defaultValue = "0s",
      description = "For demonstrations: play a machine whose wall clock is off by so much.")
  public Duration clockOffset;

  /** Opens a store, if one is named, under the host's name. */
  public static @Nullable Store open(@Nullable Path store, TimeSource time) throws IOException {
    return store == null
        ? null
        : Store.open(store, HangWatch.watched(Store.Environment.of(MachineNames.ofHost(), time)));
  }

  /** Opens the store. */
  public Store open() throws IOException {
    return open(time());
  }

  /** Opens the store with other clocks and waits. */
  public Store open(TimeSource time) throws IOException {
    return Store.open(store, environment(time));
  }

  /** What this process brings along. */
  public Store.Environment environment() {
    return environment(time());
  }

  public Store.Environment environment(TimeSource time) {
    return HangWatch.watched(
        Store.Environment.of(machine == null ? MachineNames.ofHost() : machine, time));
  }

  public TimeSource time() {
    return new SystemTime(clockOffset.toNanos());
  }
}
