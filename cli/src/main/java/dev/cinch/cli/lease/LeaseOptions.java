package dev.cinch.cli.lease;

import dev.cinch.cli.base.CredentialOptions;
import dev.cinch.cli.base.Misuse;
import dev.cinch.cli.base.ServerOptions;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.http.ServerAddresses;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Where a command takes its leases. */
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class LeaseOptions {
  @Option(names = "--server", paramLabel = "URL", description = ServerOptions.DESCRIPTION)
  public @Nullable ServerAddresses server;

  @Mixin public CredentialOptions credentials = new CredentialOptions();

  @Option(
      names = "--cell",
      paramLabel = "FILE",
      description =
          "In place of a server: the cell's file, with its key beside it. Leases are taken from the"
              + " nodes themselves. Needs --store.")
  @Nullable Path cell;

  @Spec(Spec.Target.MIXEE)
  @Nullable CommandSpec command;

  /**
   * What was given; null if nothing was.
   *
   * @throws Misuse if both were
   */
  public @Nullable LeasePlace place() {
    Path file = cell;
    if (file == null) {
      return server == null ? null : LeasePlace.of(server);
    }
    if (command != null && command.commandLine().getParseResult().hasMatchedOption("--server")) {
      throw new Misuse("name a --server or a --cell, not both");
    }
    return LeasePlace.of(file);
  }

  /**
   * Checks what a command line names.
   *
   * @throws Misuse if a lease is there twice: one of the two is most likely another's name
   */
  public static void checkNames(List<LeaseName> names) {
    for (int i = 1; i < names.size(); i++) {
      if (names.subList(0, i).contains(names.get(i))) {
        throw new Misuse("lease " + names.get(i) + " is named twice");
      }
    }
  }

  /**
   * What was given.
   *
   * @throws Misuse if nothing was, or both
   */
  LeasePlace required() {
    LeasePlace place = place();
    if (place == null) {
      throw new Misuse(
          "Missing required option: '--server=URL' (or set CINCH_SERVER), or '--cell=FILE'");
    }
    return place;
  }
}
