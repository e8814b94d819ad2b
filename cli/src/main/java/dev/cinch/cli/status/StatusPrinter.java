package dev.cinch.cli.status;

import dev.cinch.bag.LogStatus;
import dev.cinch.bag.Problem;
import dev.cinch.bag.StoreStatus;
import dev.cinch.bag.StoreStatus.LogLine;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Words;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.cli.base.Converters.Moment;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.JsonLines;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.Table;
import dev.cinch.cli.status.LeaseServerLook.Found;
import dev.cinch.lease.TimeBound;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/** A {@link StoreReport} as text and as JSON. */
final class StatusPrinter {
  private static final List<String> HEAD =
      List.of("LOG|SETTLED THROUGH|LAG|OPEN|MESSAGES|SIZE|NEWEST|SEGMENTS|ENTRIES".split("[|]"));

  private static final List<String> SHARD_HEAD =
      List.of("SHARD", "INSTANCE", "ADDRESS", "CEILING", "STATE");

  private StatusPrinter() {}

  static void text(StoreReport report, Output out) throws IOException {
    StoreStatus status = report.status();
    for (Problem p : status.problems()) {
      out.line("! " + Failure.oneLine(p.log().map(log -> log + ": ").orElse("") + message(p)));
    }
    if (status.problems().isEmpty()) {
      out.line("nothing needs attention");
    }
    out.line("");
    StoreContext store = report.store().context();
    out.line("store   " + store.identity().id() + " in " + store.layout().root());
    if (report.shards().isPresent()) {
      text(report.shards().get(), status.at(), out);
    }
    if (report.server().isPresent()) {
      Found f = report.server().get();
      String instance = f.instance() > 0 ? " (instance " + f.instance() + ")" : "";
      out.line(
          "leases  " + f.address() + instance + ": " + (f.why().isEmpty() ? "grants" : f.why()));
      if (f.isInsecure()) {
        out.line("        without TLS: whoever is on the network reads what is sent, tokens too");
      }
      if (f.time().isPresent()) {
        out.line("time    known to the lease server: " + f.time().get().inWords());
      }
    }
    if (status.clockOffset().isPresent()) {
      long offset = status.clockOffset().getAsLong();
      String side = offset > 0 ? " ahead of" : " behind";
      out.line("clock   " + (offset == 0 ? "as" : Words.span(offset) + side) + " the storage's");
    }
    if (status.free().isPresent()) {
      out.line("disk    " + Words.bytes(status.free().getAsLong()) + " free for this user");
    }
    out.line("");
    var rows = new ArrayList<List<String>>();
    rows.add(HEAD);
    for (LogLine line : status.logs()) {
      rows.add(
          line.status()
              .map(s -> row(line.name(), s, status.at()))
              .orElse(List.of("" + line.name(), "?", "?", "?", "?", "?", "?", "?", "?")));
    }
    for (String line : new Table(HEAD.size(), 2).lines(rows)) {
      out.line(line);
    }
  }

  /** Of an error it says also who may do what was denied. */
  private static String message(Problem p) {
    return p.cause().map(e -> Failure.of(e).line()).orElse(p.message());
  }

  private static void text(ShardsLook shards, long at, Output out) throws IOException {
    out.line("leases  " + shards.map().inWords());
    var rows = new ArrayList<List<String>>();
    rows.add(SHARD_HEAD);
    for (int i = 0; i < shards.servers().size(); i++) {
      Found f = shards.servers().get(i);
      boolean granted = f.ceiling() != Long.MIN_VALUE;
      long left = granted ? f.ceiling() - at : 0;
      rows.add(
          List.of(
              (i + 1) + "/" + shards.map().count(),
              f.instance() > 0 ? "" + f.instance() : "-",
              f.address().isEmpty() ? "-" : f.address(),
              !granted ? "-" : left > 0 ? "in " + Words.span(left) : Words.span(-left) + " ago",
              f.why().isEmpty() ? "grants" : f.why()));
    }
    for (String line : new Table(SHARD_HEAD.size(), SHARD_HEAD.size()).lines(rows)) {
      out.line("  " + line);
    }
  }

  private static List<String> row(LogName log, LogStatus s, long at) {
    OptionalLong lag = s.lag(at);
    return List.of(
        log.toString(),
        lag.isEmpty() ? "nothing" : Moment.text(s.settledThrough()),
        s.isIdle() ? "idle" : lag.isEmpty() ? "-" : Words.span(lag.getAsLong()),
        Words.count(s.open().size()),
        Words.count(s.messages()),
        Words.bytes(s.bytes()),
        s.newest() == Long.MIN_VALUE
            ? "-"
            : Words.span(at - s.newest()) + " ago" + (s.newestSettled() ? "" : ", open"),
        Words.count(s.segments()),
        Words.count(s.entries()));
  }

  /**
   * @param most so many logs at most
   */
  static void json(StoreReport report, int most, Output out) throws IOException {
    StoreStatus status = report.status();
    var json = new JsonLines(out);
    json.object()
        .time("at", status.at())
        .text("store", report.store().context().identity().id().toString())
        .list("attention");
    for (Problem p : status.problems()) {
      json.object().text("kind", p.kind().name());
      if (p.log().isPresent()) {
        json.text("log", p.log().get().toString());
      }
      json.text("message", Failure.oneLine(message(p))).end();
    }
    json.end();
    if (status.clockOffset().isPresent()) {
      json.number("clockOffsetMs", status.clockOffset().getAsLong() / 1_000_000);
    }
    if (status.free().isPresent()) {
      json.number("freeBytes", status.free().getAsLong());
    }
    if (report.server().isPresent()) {
      json(report.server().get(), json.object("server"));
    }
    if (report.shards().isPresent()) {
      json(report.shards().get(), json);
    }
    json.list("logs");
    for (LogLine line : status.logs().subList(0, Math.min(most, status.logs().size()))) {
      json.object().text("log", line.name().toString());
      json.flag("readable", line.status().isPresent());
      if (line.status().isPresent()) {
        json(line.status().get(), status.at(), json);
      }
      json.end();
    }
    json.end().end();
  }

  /** The rest of a server's object. */
  private static void json(Found f, JsonLines json) throws IOException {
    json.text("state", f.state().name());
    if (!f.address().isEmpty()) {
      json.text("address", f.address());
    }
    if (f.instance() > 0) {
      json.number("instance", f.instance());
    }
    if (!f.why().isEmpty()) {
      json.text("message", f.why());
    }
    if (f.isInsecure()) {
      json.flag("insecure", true);
    }
    if (f.time().isPresent()) {
      TimeBound bound = f.time().get();
      json.object("time").text("kind", bound.kind().name());
      json.time("earliest", bound.earliest()).time("latest", bound.latest()).end();
    }
    json.end();
  }

  private static void json(ShardsLook shards, JsonLines json) throws IOException {
    json.object("shards").number("map", shards.map().number());
    json.number("shards", shards.map().count()).list("servers");
    for (int i = 0; i < shards.servers().size(); i++) {
      Found f = shards.servers().get(i);
      json.object().number("shard", i + 1).timeIfAny("ceiling", f.ceiling());
      json(f, json);
    }
    json.end().list("earlier");
    for (Found f : shards.earlier()) {
      json(f, json.object());
    }
    json.end().end();
  }

  private static void json(LogStatus s, long at, JsonLines json) throws IOException {
    json.timeIfAny("settledThrough", s.settledThrough());
    if (s.lag(at).isPresent()) {
      json.number("lagMs", s.lag(at).getAsLong() / 1_000_000);
    }
    json.flag("idle", s.isIdle()).number("record", s.record());
    json.number("openBuckets", s.open().size()).number("messages", s.messages());
    json.number("bytes", s.bytes()).number("entries", s.entries()).timeIfAny("newest", s.newest());
    if (s.newest() != Long.MIN_VALUE) {
      json.flag("newestSettled", s.newestSettled());
    }
    json.number("segments", s.segments()).timeIfAny("coveredThrough", s.coveredThrough());
    json.timeIfAny("expiredBefore", s.expiredBefore());
  }
}
