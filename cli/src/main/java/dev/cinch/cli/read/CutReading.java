package dev.cinch.cli.read;

import dev.cinch.bag.Cuts;
import dev.cinch.bag.Log;
import dev.cinch.bag.NoSuchCutException;
import dev.cinch.bag.Store;
import dev.cinch.bag.StoreCut;
import dev.cinch.bag.StoreCut.Part;
import dev.cinch.bag.model.LogName;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.LogChoice;
import dev.cinch.cli.base.Misuse;
import dev.cinch.cli.base.TimeRange;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Logs as a cut has them, in place of what is settled now. */
final class CutReading {
  static final String HELP =
      "What cinch cut saw when it took this number: the same for everyone, and for ever; last: the"
          + " newest.";

  private final Cuts cuts;
  private final StoreCut cut;

  private CutReading(Cuts cuts, StoreCut cut) {
    this.cuts = cuts;
    this.cut = cut;
  }

  /** Refuses what asks for another end, or for none. */
  static void check(TimeRange range, boolean endless, String options) {
    if (range.to != null || endless) {
      throw new Misuse("--cut has an end of its own; leave it or --to%s out".formatted(options));
    }
  }

  /** Finds a cut by its number, or the last one. */
  static CutReading of(Store store, String text) throws IOException {
    var cuts = new Cuts(store);
    long number;
    if (text.equals("last")) {
      number =
          cuts.last()
              .orElseThrow(
                  () ->
                      new Failure.Refusal("no cut was taken yet; run cinch cut, which takes one"));
    } else if (text.matches("[0-9]{1,10}") && Long.parseLong(text) > 0) {
      number = Long.parseLong(text);
    } else {
      throw new Misuse("--cut is a number, like 12, or last: not \"" + text + "\"");
    }
    return new CutReading(cuts, cuts.find(number));
  }

  /** Nothing from this time on is read; nanoseconds since the Unix epoch. */
  long time() {
    return cut.time();
  }

  /**
   * Opens those logs of the cut that are wanted. To be called once more when they were read, which
   * tells what expired meanwhile.
   */
  List<Log> open(LogChoice wanted, long from) throws IOException {
    var logs = new ArrayList<Log>();
    List<LogName> names = cut.logs().stream().map(Part::name).toList();
    for (LogName name : wanted.among(names, "cut " + cut.number())) {
      logs.add(open(name, from));
    }
    return logs;
  }

  /** As {@link #open(LogChoice, long)}, of one log. */
  Log open(LogName name, long from) throws IOException {
    Part part =
        cut.logs().stream()
            .filter(p -> p.name().equals(name))
            .findFirst()
            .orElseThrow(
                () -> new Misuse("cut %d has no log \"%s\"".formatted(cut.number(), name)));
    return cuts.open(cut, part, from);
  }

  /** Those that can be read as they were, from a time on; tells of the others. */
  List<LogName> readable(long from, Io io, String command) throws IOException {
    var names = new ArrayList<LogName>();
    for (Part part : cut.logs()) {
      try {
        names.add(cuts.open(cut, part, from).name());
      } catch (NoSuchCutException e) {
        io.say(command, "" + e.getMessage());
      }
    }
    return names;
  }

  /** Looks, when logs were read, whether something of them expired meanwhile. */
  void check(List<LogName> logs, long from) throws IOException {
    for (LogName log : logs) {
      Log unused = open(log, from);
    }
  }
}
