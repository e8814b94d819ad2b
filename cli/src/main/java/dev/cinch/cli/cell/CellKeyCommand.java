package dev.cinch.cli.cell;

import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.JsonOption;
import dev.cinch.cli.base.Misuse;
import dev.cinch.cli.base.Output;
import dev.cinch.lease.access.Permission;
import dev.cinch.lease.cell.net.CellFile;
import dev.cinch.lease.cell.net.CellKey;
import dev.cinch.lease.cell.net.CellPass;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.UnaryOperator;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Puts another key in the place of a cell's, in three steps. */
@Command(
    name = "key",
    subcommands = {CellKeyCommand.Add.class, CellKeyCommand.Turn.class, CellKeyCommand.Drop.class},
    description = {
      "Change the key of a cell while it runs, in three steps: add, turn, drop.",
      "Each changes the file of the key. Copy that to all machines that have one before you take"
          + " the next step: with mv, so that nobody reads half of it. Nodes and clients read it"
          + " again within two seconds. cinch cell status shows no datagram dropped meanwhile."
    },
    footer = {"", "Example:", "  cinch cell key add cell.json"})
final class CellKeyCommand {
  private CellKeyCommand() {}

  /** One step. */
  @SuppressWarnings("NullAway.Init") // picocli sets the fields
  abstract static class Step implements Callable<Integer> {
    private final Io io;
    private final UnaryOperator<CellKey> change;
    private final String next;

    @Parameters(paramLabel = "CELL-FILE", description = "The cell's; its key stands beside it.")
    Path file;

    Step(Io io, UnaryOperator<CellKey> change, String next) {
      this.io = io;
      this.change = change;
      this.next = next;
    }

    @Override
    public Integer call() throws IOException {
      Path at = CellFile.read(file).keyFile();
      CellKey key;
      try {
        key = change.apply(CellKey.loadWhole(at));
      } catch (IllegalStateException e) {
        throw new Failure.Refusal(at + ": " + e.getMessage());
      }
      key.replace(at);
      try (Output out = io.output()) {
        out.line(
            "%s: %d key%s; copy it to all that have it%s"
                .formatted(at, key.size(), key.size() == 1 ? "" : "s", next));
      }
      return ExitCode.GOOD;
    }
  }

  /** The first. */
  @Command(
      name = "add",
      description = "Add a new key, which counts and does not sign yet.",
      footer = {"", "Example:", "  cinch cell key add cell.json"})
  static final class Add extends Step {
    Add(Io io) {
      super(io, CellKey::added, ", then cinch cell key turn");
    }
  }

  /** The second. */
  @Command(
      name = "turn",
      description = "Have the newest key sign; the others go on to count.",
      footer = {"", "Example:", "  cinch cell key turn cell.json"})
  static final class Turn extends Step {
    Turn(Io io) {
      super(io, CellKey::turned, ", make new passes, then cinch cell key drop");
    }
  }

  /** The third. */
  @Command(
      name = "drop",
      description =
          "Drop all keys but the one that signs. Passes that were made of the others count no more.",
      footer = {"", "Example:", "  cinch cell key drop cell.json"})
  static final class Drop extends Step {
    Drop(Io io) {
      super(io, CellKey::alone, "");
    }
  }

  /** Makes what a client has in place of the cell's key. */
  @Command(
      name = "pass",
      sortOptions = false,
      description = {
        "Make a pass: what a client that proposes has in the place of the cell's key.",
        "It permits leases whose names begin with some prefixes, and ends. Nodes need not be told."
            + " Put it where the client's cell.json names the key. It can't be taken back before"
            + " its end, but by another key of the cell: cinch cell key."
      },
      footer = {
        "",
        "Example:",
        "  cinch cell pass cell.json --name ci --right acquire:ci/ --for 90d --out ci.key"
      })
  @SuppressWarnings("NullAway.Init") // picocli sets the fields
  static final class Pass implements Callable<Integer> {
    private final Io io;

    @Parameters(paramLabel = "CELL-FILE", description = "The cell's; its key stands beside it.")
    Path file;

    @Option(
        names = "--name",
        required = true,
        paramLabel = "NAME",
        description = "Whose it is, as nodes log it: 1 to 40 letters, digits, dots or hyphens.")
    String name;

    @Option(
        names = "--right",
        required = true,
        paramLabel = "acquire[:PREFIX]",
        description = "On leases whose names begin so; may be repeated.")
    List<Permission> rights;

    @Option(
        names = "--for",
        required = true,
        paramLabel = "DURATION",
        description = "How long it counts, by nodes' clocks.")
    Duration lasting;

    @Option(
        names = "--out",
        required = true,
        paramLabel = "FILE",
        description = "Where to write it, with mode 0600; a file that is not there yet.")
    Path out;

    @Mixin JsonOption json;

    Pass(Io io) {
      this.io = io;
    }

    @Override
    public Integer call() throws IOException {
      if (lasting.toSeconds() < 1) {
        throw new Misuse("--for is 1s or longer");
      }
      CellKey key = CellKey.loadWhole(CellFile.read(file).keyFile());
      Instant end = Instant.now().plus(lasting).truncatedTo(ChronoUnit.SECONDS);
      try {
        key.pass(new CellPass(name, end, rights)).write(out);
      } catch (IllegalArgumentException e) {
        throw new Misuse(String.valueOf(e.getMessage()), e);
      } catch (FileAlreadyExistsException e) {
        throw new Failure.Refusal(out + " is there already: name another file");
      }
      try (Output to = io.output()) {
        json.print(
            to,
            out + ": a pass until " + end,
            line ->
                line.text("keyFile", out.toString())
                    .time("expires", ChronoUnit.NANOS.between(Instant.EPOCH, end)));
      }
      return ExitCode.GOOD;
    }
  }
}
