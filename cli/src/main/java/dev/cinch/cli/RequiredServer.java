package dev.cinch.cli;

import dev.cinch.lease.http.ShardRouter;
import java.net.URI;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The lease service of a command that can't do without one. */
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class RequiredServer {
  @Spec(Spec.Target.MIXEE)
  CommandSpec command;

  @Option(
      names = "--server",
      required = true,
      paramLabel = "URL",
      description = ServerOptions.DESCRIPTION)
  URI uri;

  /** A client; connects to nothing yet. */
  ShardRouter client() {
    return ServerOptions.client(uri, command);
  }
}
