package dev.cinch.cli.status;

import dev.cinch.bag.Store;
import dev.cinch.bag.model.Words;
import dev.cinch.bag.status.LogStatus;
import dev.cinch.cli.base.Converters.Moment;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.JsonLines;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.Table;
import dev.cinch.lease.TimeBound;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** A {@link StoreReport} as text and as JSON. */
final class StatusPrinter {
  private static final List<String> HEAD =
      List.of(
          "LOG",
          "SETTLED THROUGH",
          "LAG",
          "OPEN",
          "MESSAGES",
          "SIZE",
          "NEWEST",
          "SEGMENTS",
          "ENTRIES");

  private static final List<String> SHARD_HEAD =
      List.of("SHARD", "INSTANCE", "ADDRESS", "CEILING", "STATE");

  private StatusPrinter() {}

  static void text(Store store, StoreReport report, Output out) throws IOException {
    for (StoreReport.Attention a : report.attention()) {
      String of = a.log() == null ? "" : a.log() + ": ";
      out.line("! " + Failure.oneLine(of + a.message()));
    }
    if (report.attention().isEmpty()) {
      out.line("nothing needs attention");
    }
    out.line("");
    out.line(
        "store   " + store.context().identity().id() + " in " + store.context().layout().root());
    if (report.shards().isPresent()) {
      text(report.shards().get(), report.at(), out);
    }
    if (report.server().isPresent()) {
      LeaseServerLook.Found f = report.server().get();
      out.line(
          "leases  %s%s: %s"
              .formatted(
                  f.address(),
                  f.instance() > 0 ? " (instance " + f.instance() + ")" : "",
                  f.why().isEmpty() ? "grants" : f.why()));
      if (f.isInsecure()) {
        out.line("        without TLS: whoever is on the network reads what is sent, tokens too");
      }
      if (f.time().isPresent()) {
        out.line("time    known to the lease server: " + f.time().get().inWords());
      }
    }
    if (report.clockOffset().isPresent()) {
      long offset = report.clockOffset().getAsLong();
      out.line(
          "clock   "
              + (offset == 0
                  ? "as the filesystem's"
                  : Words.span(offset)
                      + (offset > 0 ? " ahead of" : " behind")
                      + " the filesystem's"));
    }
    if (report.free().isPresent()) {
      out.line("disk    " + Words.bytes(report.free().getAsLong()) + " free for this user");
    }
    out.line("");
    var rows = new ArrayList<List<String>>();
    rows.add(HEAD);
    for (StoreReport.LogLine line : report.logs()) {
      rows.add(row(line, report.at()));
    }
    for (String line : new Table(HEAD.size(), 2).lines(rows)) {
      out.line(line);
    }
  }

  private static void text(ShardsLook shards, long at, Output out) throws IOException {
    out.line("leases  " + shards.map().inWords());
    var rows = new ArrayList<List<String>>();
    rows.add(SHARD_HEAD);
    for (int i = 0; i < shards.servers().size(); i++) {
      LeaseServerLook.Found f = shards.servers().get(i);
      long left = f.ceiling().orElse(at) - at;
      rows.add(
          List.of(
              (i + 1) + "/" + shards.map().count(),
              f.instance() > 0 ? "" + f.instance() : "-",
              f.address().isEmpty() ? "-" : f.address(),
              f.ceiling().isEmpty()
                  ? "-"
                  : left > 0 ? "in " + Words.span(left) : Words.span(-left) + " ago",
              f.why().isEmpty() ? "grants" : f.why()));
    }
    for (String line : new Table(SHARD_HEAD.size(), SHARD_HEAD.size()).lines(rows)) {
      out.line("  " + line);
    }
  }

  private static List<String> row(StoreReport.LogLine line, long at) {
    LogStatus s = line.status();
    if (s == null) {
      return List.of(line.name().toString(), "?", "?", "?", "?", "?", "?", "?", "?");
    }
    boolean none = s.settledThrough() == Long.MIN_VALUE;
    return List.of(
        line.name().toString(),
        none ? "nothing" : Moment.text(s.settledThrough()),
        s.isIdle() ? "idle" : none ? "-" : Words.span(Math.max(0, at - s.settledThrough())),
        Words.count(s.open().size()),
        Words.count(s.messages()),
        Words.bytes(s.bytes()),
        s.newest() == Long.MIN_VALUE
            ? "-"
            : Words.span(at - s.newest()) + " ago" + (s.newestSettled() ? "" : ", open"),
        Words.count(s.segments()),
        Words.count(s.entries()));
  }

  static void json(Store store, StoreReport report, Output out) throws IOException {
    var json = new JsonLines(out);
    json.object()
        .time("at", report.at())
        .text("store", store.context().identity().id().toString())
        .list("attention");
    for (StoreReport.Attention a : report.attention()) {
      json.object().text("kind", a.kind().name());
      if (a.log() != null) {
        json.text("log", a.log().toString());
      }
      json.text("message", Failure.oneLine(a.message())).end();
    }
    json.end();
    if (report.clockOffset().isPresent()) {
      json.number("clockOffsetMs", report.clockOffset().getAsLong() / 1_000_000);
    }
    if (report.free().isPresent()) {
      json.number("freeBytes", report.free().getAsLong());
    }
    if (report.server().isPresent()) {
      json(report.server().get(), json.object("server"));
    }
    if (report.shards().isPresent()) {
      json(report.shards().get(), json);
    }
    json.list("logs");
    for (StoreReport.LogLine line : report.logs()) {
      json.object().text("log", line.name().toString()).flag("readable", line.status() != null);
      if (line.status() != null) {
        json(line.status(), report.at(), json);
      }
      json.end();
    }
    json.end().end();
  }

  /** The rest of a server's object. */
  private static void json(LeaseServerLook.Found f, JsonLines json) throws IOException {
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
      LeaseServerLook.Found f = shards.servers().get(i);
      json.object().number("shard", i + 1).timeIfAny("ceiling", f.ceiling().orElse(Long.MIN_VALUE));
      json(f, json);
    }
    json.end().list("earlier");
    for (LeaseServerLook.Found f : shards.earlier()) {
      json(f, json.object());
    }
    json.end().end();
  }

  private static void json(LogStatus s, long at, JsonLines json) throws IOException {
    json.timeIfAny("settledThrough", s.settledThrough());
    if (s.settledThrough() != Long.MIN_VALUE) {
      json.number("lagMs", Math.max(0, at - s.settledThrough()) / 1_000_000);
    }
    json.flag("idle", s.isIdle())
        .number("record", s.record())
        .number("openBuckets", s.open().size())
        .number("messages", s.messages())
        .number("bytes", s.bytes())
        .number("entries", s.entries())
        .timeIfAny("newest", s.newest());
    if (s.newest() != Long.MIN_VALUE) {
      json.flag("newestSettled", s.newestSettled());
    }
    json.number("segments", s.segments())
        .timeIfAny("coveredThrough", s.coveredThrough())
        .timeIfAny("expiredBefore", s.expiredBefore());
  }
}
