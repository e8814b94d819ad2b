package dev.cinch.cli.lease;

import dev.cinch.cli.base.ServerOptions;
import dev.cinch.lease.http.ServerAddresses;
import dev.cinch.lease.http.ShardRouter;
import picocli.CommandLine.Option;

/** The lease service of a command that can't do without one. */
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class RequiredServer {
  @Option(
      names = "--server",
      required = true,
      paramLabel = "URL",
      description = ServerOptions.DESCRIPTION)
  ServerAddresses addresses;

  /** A client; connects to nothing yet. */
  ShardRouter client() {
    return ShardRouter.of(addresses);
  }
}
