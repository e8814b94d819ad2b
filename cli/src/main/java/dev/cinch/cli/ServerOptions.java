package dev.cinch.cli;

import dev.cinch.lease.http.ShardRouter;
import java.net.URI;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Where the lease service is. */
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class ServerOptions {
  static final String DESCRIPTION =
      "The lease service (or set CINCH_SERVER), like http://127.0.0.1:8470.";

  @Spec(Spec.Target.MIXEE)
  CommandSpec command;

  @Option(names = "--server", paramLabel = "URL", description = DESCRIPTION)
  @Nullable URI server;

  boolean isGiven() {
    return server != null;
  }

  /** A client of the service that was named; connects to nothing yet. */
  ShardRouter client() {
    return client(java.util.Objects.requireNonNull(server), command);
  }

  static ShardRouter client(URI server, CommandSpec command) {
    try {
      return ShardRouter.of(server);
    } catch (IllegalArgumentException e) {
      throw new ParameterException(command.commandLine(), String.valueOf(e.getMessage()), e);
    }
  }
}
