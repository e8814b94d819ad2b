package dev.cinch.cli.base;

import dev.cinch.bag.Store;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.storage.object.ObjectAddress;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.net.URI;
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
      description = "The store's directory, or s3://BUCKET/PREFIX (or set CINCH_STORE).")
  public Name store;

  @Option(
      names = "--endpoint",
      paramLabel = "URL",
      description = "The server of s3://BUCKET (or set AWS_ENDPOINT_URL).")
  @Nullable URI endpoint;

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
  public static @Nullable Store open(@Nullable Name store, TimeSource time) throws IOException {
    return store == null ? null : Store.open(store, ofHost(time));
  }

  /** What this process brings along under the host's name. */
  public static Store.Environment ofHost(TimeSource time) {
    return HangWatch.watched(Store.Environment.of(MachineNames.ofHost(), time));
  }

  /** Opens the store. */
  public Store open() throws IOException {
    return open(time());
  }

  /** Opens the store with other clocks and waits. */
  public Store open(TimeSource time) throws IOException {
    return Store.open(name(), environment(time));
  }

  /** The store, with the server that was named for it. */
  public Name name() {
    return at(store, endpoint);
  }

  /**
   * A store with the server that was named for it.
   *
   * @param endpoint null: none was
   */
  public static Name at(Name store, @Nullable URI endpoint) {
    if (endpoint == null) {
      return store;
    }
    if (!store.isObjects()) {
      throw new Misuse("--endpoint is of s3://BUCKET/PREFIX; " + store + " is none");
    }
    String text = store.text() + "?endpoint=" + endpoint;
    try {
      var unused = ObjectAddress.parse(text);
    } catch (IllegalArgumentException e) {
      throw new Misuse(String.valueOf(e.getMessage()));
    }
    return new Name(text);
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
