package dev.cinch.cli.lease;

import dev.cinch.cli.base.CredentialOptions;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.JsonOption;
import dev.cinch.cli.base.Misuse;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.ServerOptions;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.client.LeaseEvent;
import dev.cinch.lease.client.LeaseWatch;
import dev.cinch.lease.client.ServerAddresses;
import dev.cinch.lease.client.ShardRouter;
import dev.cinch.lease.time.SystemTime;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Prints what becomes of leases, as it happens. */
@Command(
    name = "watch",
    description = {
      "Print the leases that are held, and then each that is granted, released, revoked or expires,"
          + " until interrupted.",
      "It asks each second. Renewals are not told, nor what came and went between two looks. Of"
          + " several servers the next one answers where one does not. Exit code 4 if none does."
    },
    footer = {
      "",
      "Examples:",
      "  cinch lease watch jobs/",
      "  cinch lease watch --json jobs/42 | jq -r .event"
    })
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class LeaseWatchCommand implements Callable<Integer> {
  private final Io io;

  @Option(
      names = "--server",
      required = true,
      paramLabel = "URL",
      description = ServerOptions.DESCRIPTION)
  ServerAddresses server;

  @Mixin CredentialOptions credentials;
  @Mixin JsonOption json;

  @Parameters(
      arity = "0..*",
      paramLabel = "LEASE",
      showDefaultValue = CommandLine.Help.Visibility.NEVER,
      description = "Names, and beginnings of names that end in a slash; all leases unless set.")
  List<String> wanted = new ArrayList<>();

  LeaseWatchCommand(Io io) {
    this.io = io;
  }

  @Override
  public Integer call() throws IOException, LeaseUnavailableException, InterruptedException {
    var names = new ArrayList<LeaseName>();
    var prefixes = new ArrayList<String>();
    for (String text : wanted) {
      if (text.endsWith("/")) {
        prefixes.add(text);
        continue;
      }
      try {
        names.add(new LeaseName(text));
      } catch (IllegalArgumentException e) {
        throw new Misuse(String.valueOf(e.getMessage()), e);
      }
    }
    ShardRouter client = ShardRouter.of(server, credentials.get());
    var watch = new LeaseWatch(client, names, prefixes, SystemTime.INSTANCE);
    try (Output out = io.output()) {
      out.ifClosed(ExitCode.GOOD);
      while (true) {
        print(watch.next(), out);
      }
    }
  }

  private void print(LeaseEvent event, Output out) throws IOException {
    String line = json.json ? LeaseRequest.JSON.writeValueAsString(event.json()) : text(event);
    if (!line.isEmpty()) {
      out.line(line);
      out.flush(); // whoever reads waits for each
    }
  }

  /** A line for people; empty for what says nothing to them. */
  private static String text(LeaseEvent event) {
    if (event.lease().isEmpty()) {
      return "";
    }
    LeaseInfo info = event.lease().get();
    return "%s %s by %s"
        .formatted(
            info.witness().name(),
            event.kind().name().toLowerCase(Locale.ROOT),
            Failure.oneLine(info.witness().holder()));
  }
}
