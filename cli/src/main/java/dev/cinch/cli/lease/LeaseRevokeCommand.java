package dev.cinch.cli.lease;

import dev.cinch.bag.model.Words;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.JsonOption;
import dev.cinch.cli.base.Misuse;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.wire.LeaseDocuments;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Has a lease prolonged no more (rule L15). */
@Command(
    name = "revoke",
    description = {
      "Have a lease prolonged no more.",
      "Its holder may write under it until it expires; then the name is granted again, to whoever"
          + " fences what was written until then. The reason is told to the holder, and cinch audit"
          + " prints it. Exit code 3 if no such lease is held."
    },
    footer = {"", "Example:", "  cinch lease revoke jobs/42 --reason 'its machine hangs'"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class LeaseRevokeCommand extends LeaseRequest {
  @Mixin JsonOption json;

  @Parameters(paramLabel = "LEASE", description = "The lease's name.")
  LeaseName name;

  @Option(names = "--reason", required = true, paramLabel = "TEXT", description = "Why; one line.")
  String reason;

  @Option(
      names = "--correlation",
      paramLabel = "ID",
      description =
          "Only this lease, as cinch lease show --json has it; the one held now if unset.")
  @Nullable String correlation;

  LeaseRevokeCommand(Io io) {
    super(io);
  }

  @Override
  void ask(LeaseClient client, Printer printer) throws Exception {
    Operation.Revoke request;
    try {
      request =
          new Operation.Revoke(
              name,
              reason,
              Optional.of(correlation == null ? held(client.service()) : Id.parse(correlation)));
    } catch (IllegalArgumentException e) {
      throw new Misuse(String.valueOf(e.getMessage()));
    }
    Outcome.Revoked revoked = client.service().revoke(request);
    if (json.json) {
      printer.print(LeaseDocuments.json(revoked));
      return;
    }
    long left = revoked.expiry() - client.now();
    printer.line(
        "revoked: %s of %s, %s"
            .formatted(
                name,
                Failure.oneLine(revoked.revocation().holder()),
                left > 0 ? "which expires in " + Words.span(left) : "which is over"));
  }

  /** Named in the request, so that one that is sent twice does not meet the next holder's lease. */
  private Id held(LeaseService client) throws Exception {
    Optional<LeaseInfo> info = client.show(name).filter(i -> i.state().excludes());
    if (info.isEmpty()) {
      throw new Failure.Refusal("nothing to revoke: no lease on " + name + " is held");
    }
    return info.get().witness().correlation();
  }
}
