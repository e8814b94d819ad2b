package dev.cinch.cli.base;

import dev.cinch.lease.client.ServerAddresses;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Where the lease service is. */
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class ServerOptions {
  public static final String DESCRIPTION =
      "The lease service (or set CINCH_SERVER), like http://127.0.0.1:8470. Of several equal servers"
          + " all addresses, with commas between them: one is used while it works.";

  @Option(names = "--server", paramLabel = "URL", description = DESCRIPTION)
  public @Nullable ServerAddresses server;

  @Mixin public CredentialOptions credentials;

  public boolean isGiven() {
    return server != null;
  }

  /**
   * What was given.
   *
   * @throws Misuse if nothing was
   */
  public ServerAddresses required() {
    if (server == null) {
      throw new Misuse("Missing required option: '--server=URL' (or set CINCH_SERVER)");
    }
    return server;
  }
}
