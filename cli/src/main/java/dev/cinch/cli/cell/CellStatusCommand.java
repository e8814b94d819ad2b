package dev.cinch.cli.cell;

import dev.cinch.bag.model.Words;
import dev.cinch.cli.base.CredentialOptions;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.JsonLines;
import dev.cinch.cli.base.JsonOption;
import dev.cinch.cli.base.Misuse;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.Progress;
import dev.cinch.cli.base.Table;
import dev.cinch.lease.cell.net.CellFile;
import dev.cinch.lease.client.Credentials;
import dev.cinch.lease.time.SystemTime;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Asks all nodes of a cell how they are. */
@Command(
    name = "status",
    description = {
      "Ask each node of a cell how it is, at its address for clients, all at the same time.",
      "A node that started a moment ago is quarantined: it votes for nobody until every lease is"
          + " over that it may have forgotten. One that too few others answer is cut off, and does"
          + " not count. One that votes may grant nothing yet: it says why, and until when. Exit code"
          + " 0 if a majority votes and grants, and no clock is further ahead of another than the cell"
          + " allows; else 3. With --wait 0 only if all nodes do, and 3 if they don't in that time."
    },
    footer = {
      "",
      "LEASES are those that the node holds in the cell or tries to get, ROWS the names of which it"
          + " knows something as a voter, BALLOT the last that it gave. SENT, RECEIVED and DROPPED"
          + " count datagrams since it started.",
      "",
      "Example:",
      "  cinch cell status cell.json",
      "  systemctl restart cinch-node && cinch cell status --wait 3m cell.json"
    })
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class CellStatusCommand implements Callable<Integer> {
  private static final List<String> HEAD =
      List.of(
          "NODE",
          "ADDRESS",
          "STATE",
          "BOOT",
          "LEASES",
          "ATTEMPTS",
          "ROWS",
          "BALLOT",
          "SENT",
          "RECEIVED",
          "DROPPED");
  private static final int LEFT = 3;

  private final Io io;

  @Mixin CredentialOptions shown;
  @Mixin JsonOption json;

  @Parameters(paramLabel = "CELL-FILE", description = "The cell's file.")
  Path file;

  @Option(
      names = "--timeout",
      paramLabel = "DURATION",
      defaultValue = "2s",
      description = "How long a node may take to answer.")
  Duration timeout;

  @Option(
      names = "--wait",
      paramLabel = "DURATION",
      defaultValue = "0s",
      description =
          "How long to wait until all nodes vote and grant: between the restarts of two of them. A restart"
              + " takes as long as the longest lease, and a little more.")
  Duration wait;

  CellStatusCommand(Io io) {
    this.io = io;
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    if (timeout.isNegative() || timeout.isZero()) {
      throw new Misuse("--timeout is longer than 0s");
    }
    if (wait.isNegative()) {
      throw new Misuse("--wait is not negative");
    }
    CellFile cell = CellFile.read(file);
    Credentials credentials = shown.get();
    List<CellNodeLook> nodes =
        new CellWait(SystemTime.INSTANCE, new Progress(io))
            .untilAllVote(wait, () -> CellNodeLook.askAll(cell, credentials, timeout));
    var problems = new ArrayList<String>();
    nodes.forEach(node -> problems.addAll(node.wrongClocks(cell.algorithm())));
    int needed = wait.isZero() ? cell.majority() : nodes.size();
    boolean good = granting(nodes) >= needed && problems.isEmpty();
    nodes.forEach(node -> problems.addAll(node.notes()));
    int code = good ? ExitCode.GOOD : ExitCode.REFUSED;
    try (Output out = io.output()) {
      out.ifClosed(code);
      if (json.json) {
        print(cell, nodes, problems, new JsonLines(out));
      } else {
        print(cell, nodes, problems, out);
      }
    }
    if (granting(nodes) < needed && !wait.isZero()) {
      io.say(
          "cinch cell status",
          "waited %s for all nodes to vote and grant, and %d of %d do; see why above"
              .formatted(Words.span(wait.toNanos()), granting(nodes), nodes.size()));
    }
    return code;
  }

  private static long voting(List<CellNodeLook> nodes) {
    return nodes.stream().filter(CellNodeLook::votes).count();
  }

  private static long granting(List<CellNodeLook> nodes) {
    return nodes.stream().filter(CellNodeLook::grants).count();
  }

  private static String inWords(CellFile cell, List<CellNodeLook> nodes) {
    if (voting(nodes) < cell.majority()) {
      return ", and " + cell.majority() + " have to: nothing is granted or prolonged";
    }
    return granting(nodes) >= cell.majority()
        ? ": leases are granted"
        : nodes.stream()
            .filter(node -> node.votes() && !node.grants())
            .map(node -> ", and nothing is granted: " + node.why())
            .findFirst()
            .orElseThrow();
  }

  private static void print(
      CellFile cell, List<CellNodeLook> nodes, List<String> problems, Output out)
      throws IOException {
    out.line(
        "instance %d%s: %s, leases of at most %s"
            .formatted(
                cell.instance(),
                cell.store().map(id -> " of store " + id).orElse(""),
                cell.algorithm().name(),
                Words.span(cell.algorithm().longest())));
    var rows = new ArrayList<List<String>>();
    rows.add(HEAD);
    nodes.forEach(node -> rows.add(node.row()));
    for (String line : new Table(HEAD.size(), LEFT).lines(rows)) {
      out.line(line);
    }
    for (CellNodeLook node : nodes) {
      for (String line : node.clocks()) {
        out.line(line);
      }
    }
    for (String problem : problems) {
      out.line(problem);
    }
    long voting = voting(nodes);
    out.line(
        voting
            + " of "
            + nodes.size()
            + (voting == 1 ? " node votes" : " nodes vote")
            + inWords(cell, nodes));
  }

  private static void print(
      CellFile cell, List<CellNodeLook> nodes, List<String> problems, JsonLines line)
      throws IOException {
    line.object().number("instance", cell.instance());
    if (cell.store().isPresent()) {
      line.text("store", cell.store().get().toString());
    }
    line.text("algorithm", cell.algorithm().name());
    line.flag("majority", voting(nodes) >= cell.majority());
    line.flag("all", voting(nodes) == nodes.size());
    line.flag("granting", granting(nodes) >= cell.majority());
    line.texts("problems", problems);
    line.list("nodes");
    for (CellNodeLook node : nodes) {
      node.write(line);
    }
    line.end().end();
  }
}
