package dev.cinch.cli.store;

import dev.cinch.bag.Store;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.registry.StoreInstances;
import dev.cinch.bag.registry.StoreShards;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.ServerOptions;
import dev.cinch.cli.base.StoreOptions;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.client.Credentials;
import dev.cinch.lease.client.HttpLeaseClient;
import dev.cinch.lease.client.ServerAddresses;
import dev.cinch.lease.client.ShardRouter;
import dev.cinch.lease.time.SystemTime;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** Prints the names that a shell offers: of logs, or of leases. */
@Command(
    name = "names",
    hidden = true,
    description = "For shells that complete: print names, and nothing at all if there are none.",
    footer = {"", "Example:", "  cinch names logs jo"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class NamesCommand implements Callable<Integer> {
  /** Nobody looks through more, and a shell waits for it. */
  private static final int MOST_LEASES = 200;

  private static final Duration PATIENCE = Duration.ofSeconds(1);

  private final Io io;

  @Mixin StoreOptions store;
  @Mixin ServerOptions server;

  @Parameters(index = "0", paramLabel = "KIND", description = "logs or leases.")
  Kind kind;

  @Parameters(index = "1", arity = "0..1", defaultValue = "", description = "How they begin.")
  String prefix;

  /** What is named. */
  enum Kind {
    LOGS,
    LEASES
  }

  NamesCommand(Io io) {
    this.io = io;
  }

  /** Whoever presses a key wants no explanation of what is wrong. */
  @Override
  public Integer call() {
    try (Output out = io.output()) {
      out.ifClosed(ExitCode.GOOD);
      Store opened = store.open();
      if (kind == Kind.LOGS) {
        for (LogName name : LogsCommand.names(opened)) {
          print(name.toString(), out);
        }
      } else {
        for (LeaseInfo info : leases(opened)) {
          print(info.witness().name().value(), out);
        }
      }
    } catch (IOException | LeaseUnavailableException | IllegalArgumentException e) {
      return ExitCode.UNAVAILABLE;
    }
    return ExitCode.GOOD;
  }

  private void print(String name, Output out) throws IOException {
    if (name.startsWith(prefix)) {
      out.line(name);
    }
  }

  private List<LeaseInfo> leases(Store opened) throws IOException, LeaseUnavailableException {
    ServerAddresses address = server.server != null ? server.server : published(opened);
    if (address == null) {
      return List.of();
    }
    Credentials credentials = server.credentials.get();
    var router = new ShardRouter(address, a -> client(a, credentials), SystemTime.INSTANCE);
    var found = new ArrayList<LeaseInfo>();
    for (var page = router.list(prefix, Optional.empty(), MOST_LEASES);
        !page.isEmpty() && found.size() < MOST_LEASES; ) {
      found.addAll(page);
      LeaseName last = page.get(page.size() - 1).witness().name();
      page = router.list(prefix, Optional.of(last), MOST_LEASES);
    }
    return found;
  }

  private static HttpLeaseClient client(ServerAddresses address, Credentials credentials) {
    return HttpLeaseClient.builder(address)
        .credentials(credentials)
        .connectTimeout(PATIENCE)
        .requestTimeout(PATIENCE)
        .build();
  }

  private static @Nullable ServerAddresses published(Store opened) throws IOException {
    return StoreInstances.latest(opened.context())
        .flatMap(StoreShards.Instance::where)
        .map(where -> ServerAddresses.parse(where.address()))
        .orElse(null);
  }
}
