package dev.cinch.cli.read;

import dev.cinch.bag.Cuts;
import dev.cinch.bag.NoSuchCutException;
import dev.cinch.bag.Store;
import dev.cinch.bag.StoreCut;
import dev.cinch.bag.StoreCut.Part;
import dev.cinch.cli.base.Converters.Moment;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.JsonLines;
import dev.cinch.cli.base.JsonOption;
import dev.cinch.cli.base.LogChoice;
import dev.cinch.cli.base.Misuse;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.StoreOptions;
import java.io.IOException;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Takes numbered instants over logs, and lists them. */
@Command(
    name = "cut",
    description = {
      "Give a number to an instant: the time through which all logs are settled now.",
      "cinch cat --cut N and cinch sql --cut N read what all of them had then: the same for"
          + " everyone, and for ever, until messages expire. Prints the number, and the time."
          + " Exit code 3 if nothing of a log is settled yet."
    },
    footer = {
      "",
      "Examples:",
      "  cinch cut",
      "  cinch cut --log 'jobs-*' --log payments --json",
      "  cinch cut --list"
    })
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class CutCommand implements Callable<Integer> {
  private final Io io;

  @Spec CommandSpec command;
  @Mixin StoreOptions store;
  @Mixin LogChoice logs;
  @Mixin JsonOption json;

  @Option(names = "--list", description = "Print the cuts that there are, and take none.")
  boolean list;

  CutCommand(Io io) {
    this.io = io;
  }

  @Override
  public Integer call() throws IOException {
    logs.check(true);
    if (list && logs.isGiven()) {
      throw new Misuse("--list has all cuts; leave it or --log out");
    }
    Store opened = store.open();
    var cuts = new Cuts(opened);
    try (Output out = io.output()) {
      out.ifClosed(ExitCode.GOOD);
      if (list) {
        return list(cuts, out);
      }
      print(cuts.take(logs.open(opened)), out);
      return ExitCode.GOOD;
    }
  }

  private int list(Cuts cuts, Output out) throws IOException {
    int code = ExitCode.GOOD;
    for (long number : cuts.numbers()) {
      try {
        print(cuts.find(number), out);
      } catch (NoSuchCutException e) {
        continue; // gc removed it meanwhile
      } catch (IOException e) {
        code = ExitCode.worse(code, io.told(command, e));
      }
    }
    return code;
  }

  private void print(StoreCut cut, Output out) throws IOException {
    String names =
        cut.logs().stream().map(part -> part.name().value()).collect(Collectors.joining(" "));
    json.print(
        out,
        "%d  %s%s".formatted(cut.number(), Moment.text(cut.time()), list ? "  " + names : ""),
        line -> write(cut, line));
  }

  private static void write(StoreCut cut, JsonLines line) throws IOException {
    line.number("cut", cut.number()).time("time", cut.time()).time("taken", cut.taken());
    line.text("by", cut.by()).list("logs");
    for (Part part : cut.logs()) {
      line.object().text("log", part.name().value()).text("id", part.log().toString());
      line.number("record", part.record()).timeIfAny("expiredBefore", part.floor());
      if (part.table() >= 0) {
        line.number("table", part.table());
      }
      line.end();
    }
    line.end();
  }
}
