package dev.cinch.cli;

import dev.cinch.lease.http.HttpLeaseClient;
import java.net.URI;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Where the lease service is. */
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class ServerOptions {
  @Spec(Spec.Target.MIXEE)
  CommandSpec command;

  @Option(
      names = "--server",
      paramLabel = "URL",
      description = "The lease service (or set CINCH_SERVER), like http://127.0.0.1:8470.")
  @Nullable URI server;

  boolean isGiven() {
    return server != null;
  }

  /** Its address, which was given. */
  URI uri() {
    return java.util.Objects.requireNonNull(server);
  }

  /** A client; connects to nothing yet. */
  HttpLeaseClient client() {
    if (server == null) {
      throw new ParameterException(
          command.commandLine(), "name the lease service: --server URL, or CINCH_SERVER");
    }
    try {
      return HttpLeaseClient.builder(server).build();
    } catch (IllegalArgumentException e) {
      throw new ParameterException(command.commandLine(), String.valueOf(e.getMessage()), e);
    }
  }
}
