package dev.cinch.cli;

import dev.cinch.lease.TimeBound;
import dev.cinch.lease.time.Agreement;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.time.TimeSource;
import dev.cinch.lease.time.roughtime.MalfeasanceReport;
import dev.cinch.lease.time.roughtime.RoughtimeChain;
import dev.cinch.lease.time.roughtime.RoughtimeException;
import dev.cinch.lease.time.roughtime.RoughtimeReply;
import dev.cinch.lease.time.roughtime.ServerKeys;
import dev.cinch.lease.time.udp.RoughtimeClient;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Asks Roughtime servers what time it is. */
@Command(
    name = "time",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Ask Roughtime servers what time it is, and say how far this machine's clock is off.",
      "They speak draft-ietf-ntp-roughtime-19 over UDP; cinch serve --roughtime is such a server.",
      "Several are asked one after the other, twice, each with a nonce made of the answer before.",
      "So two answers that contradict each other prove that a server is wrong.",
      "Exit code 1 if a server is wrong, 3 if this machine's clock is, 4 if one does not answer."
    },
    footer = {
      "",
      "Examples:",
      "  cinch time localhost:2002=2O3mkkheDExCuhG+ZNIoWmO/IdCdLzADgUn8SnC4hME=",
      "  cinch time --report proof.json a.example.com:2002=KEY b.example.com:2002=KEY",
      "  cinch time --check proof.json"
    })
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class TimeCommand implements Callable<Integer> {
  private static final long SECOND = 1_000_000_000L;

  private final Io io;

  @Spec CommandSpec spec;

  @Parameters(
      paramLabel = "HOST:PORT=KEY",
      arity = "0..*",
      description = "A server and its public key, in base64 or as 64 hexadecimal digits.")
  List<String> named = List.of();

  @Option(
      names = "--timeout",
      paramLabel = "DURATION",
      defaultValue = "5s",
      description = "How long a server may take to answer; 5s.")
  Duration timeout;

  @Option(
      names = "--report",
      paramLabel = "FILE",
      description = "Where all requests and answers go: a report that proves what was said.")
  @Nullable Path report;

  @Option(
      names = "--check",
      paramLabel = "FILE",
      description = "Ask nobody: check such a report, from anybody, and say what it proves.")
  @Nullable Path check;

  @Option(
      names = "--clock-offset",
      hidden = true,
      paramLabel = "DURATION",
      defaultValue = "0s",
      description = "For demonstrations: play a machine whose wall clock is off by so much.")
  Duration clockOffset;

  @Mixin JsonOption json;

  private List<RoughtimeClient.Server> servers = List.of();

  TimeCommand(Io io) {
    this.io = io;
  }

  /** An answer of a server, and the server. */
  private record Heard(String server, RoughtimeClient.Answer answer) {}

  @Override
  public Integer call() throws IOException {
    if (named.isEmpty() == (check == null)) {
      throw new ParameterException(
          spec.commandLine(), "name servers, HOST:PORT=KEY, or a report with --check");
    }
    if (timeout.isNegative() || timeout.isZero()) {
      throw new ParameterException(spec.commandLine(), "--timeout is above 0");
    }
    try {
      servers = named.stream().map(RoughtimeServers::parse).toList();
    } catch (IllegalArgumentException e) {
      throw new ParameterException(spec.commandLine(), String.valueOf(e.getMessage()), e);
    }
    try (Output out = io.output()) {
      return check != null ? check(out, check) : ask(out);
    }
  }

  private int check(Output out, Path file) throws IOException {
    RoughtimeChain chain;
    try {
      chain = MalfeasanceReport.read(Files.readAllBytes(file));
    } catch (RoughtimeException e) {
      throw new Failure.Refusal(file + " proves nothing: " + e.getMessage());
    }
    List<String> names = chain.servers().stream().map(ServerKeys::text).toList();
    for (int i = 0; i < names.size(); i++) {
      print(out, names.get(i), names.get(i), chain.replies().get(i), -1);
    }
    int code = conflicts(out, chain, names);
    if (json.json) {
      var line = new JsonLines(out);
      line.object().text("type", "summary").number("answers", names.size());
      line.number("conflicts", chain.conflicts().size()).end();
    } else if (code == ExitCode.GOOD) {
      out.line("no answer contradicts another");
    }
    return code;
  }

  private int ask(Output out) throws IOException {
    var time = new SystemTime(clockOffset.toNanos());
    var client = new RoughtimeClient(time, timeout);
    var chain = new RoughtimeChain();
    var heard = new ArrayList<Heard>();
    int code = ExitCode.GOOD;
    // Twice: a server that is ahead contradicts only those that are asked after it.
    int rounds = servers.size() > 1 ? 2 : 1;
    var silent = new ArrayList<RoughtimeClient.Server>();
    for (int round = 0; round < rounds; round++) {
      for (RoughtimeClient.Server server : servers) {
        if (silent.contains(server)) {
          continue;
        }
        try {
          RoughtimeClient.Answer answer = client.ask(server, chain);
          heard.add(new Heard(server.address(), answer));
          String key = ServerKeys.text(server.key());
          print(out, server.address(), key, answer.reply(), answer.roundTripNanos());
        } catch (IOException e) {
          silent.add(server);
          Commands.say(io, "cinch time", server.address() + ": " + e.getMessage());
          code = ExitCode.UNAVAILABLE;
        }
      }
    }
    if (report != null && !heard.isEmpty()) {
      Files.write(report, MalfeasanceReport.write(chain));
    }
    code = ExitCode.worse(code, conflicts(out, chain, names(heard)));
    return heard.isEmpty() ? code : ExitCode.worse(code, compare(out, heard, chain, time));
  }

  private static List<String> names(List<Heard> heard) {
    return heard.stream().map(Heard::server).toList();
  }

  private void print(
      Output out, String server, String key, RoughtimeReply reply, long roundTripNanos)
      throws IOException {
    long midpoint = reply.midpointSeconds() * SECOND;
    String took =
        roundTripNanos < 0 ? "" : ", in " + TimeUnit.NANOSECONDS.toMillis(roundTripNanos) + " ms";
    String at = Converters.Moment.text(midpoint) + " ±" + reply.radiusSeconds() + " s";
    json.print(
        out,
        server + "  " + at + took,
        line -> {
          line.text("type", "answer").text("server", server).text("publicKey", key);
          line.time("midpoint", midpoint).number("radiusMs", reply.radiusSeconds() * 1_000);
          line.number("version", Integer.toUnsignedLong(reply.version()));
          if (roundTripNanos >= 0) {
            line.number("roundTripMs", TimeUnit.NANOSECONDS.toMillis(roundTripNanos));
          }
        });
  }

  private int conflicts(Output out, RoughtimeChain chain, List<String> names) throws IOException {
    List<RoughtimeChain.Conflict> conflicts = chain.conflicts();
    // Of two servers that were asked twice, one line says it.
    var told = new HashSet<String>();
    for (RoughtimeChain.Conflict c : conflicts) {
      String earlier = names.get(c.earlier());
      String later = names.get(c.later());
      if (told.add(earlier + " " + later)) {
        json.print(
            out,
            "contradiction: %s was asked after %s and says that it was at least %d s before"
                .formatted(later, earlier, c.seconds()),
            line ->
                line.text("type", "conflict")
                    .text("server", later)
                    .text("before", earlier)
                    .number("byMs", c.seconds() * 1_000));
      }
    }
    if (conflicts.isEmpty()) {
      return ExitCode.GOOD;
    }
    if (json.json) {
      var line = new JsonLines(out);
      line.object().text("type", "report");
      line.written("report", MalfeasanceReport.line(chain)).end();
    } else if (report == null && check == null) {
      Commands.say(io, "cinch time", "--report FILE keeps the proof");
    }
    return ExitCode.DAMAGE;
  }

  /** What the servers say together, and this machine's clock beside it. */
  private int compare(Output out, List<Heard> heard, RoughtimeChain chain, TimeSource time)
      throws IOException {
    long monotonic = time.monotonicNanos();
    long wall = time.wallNanos();
    var last = new ArrayList<Heard>();
    for (Heard one : heard) {
      last.removeIf(other -> other.server().equals(one.server()));
      last.add(one);
    }
    List<TimeBound> bounds =
        last.stream()
            .map(h -> h.answer().bound().later(monotonic - h.answer().monotonic()))
            .toList();
    Agreement agreed = Agreement.of(bounds);
    boolean decided = agreed.byMajority(last.size());
    List<String> wrong =
        decided ? agreed.outside().stream().map(i -> last.get(i).server()).toList() : List.of();
    long offset = wall - agreed.bound().midpoint();
    int servers = last.size() - agreed.outside().size();
    int code =
        !decided || !wrong.isEmpty()
            ? ExitCode.DAMAGE
            : agreed.bound().contains(wall) ? ExitCode.GOOD : ExitCode.REFUSED;
    if (json.json) {
      var line = new JsonLines(out);
      line.object().text("type", "summary").number("answers", heard.size());
      line.number("conflicts", chain.conflicts().size()).texts("wrong", wrong);
      if (decided) {
        line.time("earliest", agreed.bound().earliest()).time("latest", agreed.bound().latest());
        line.number("clockOffsetMs", TimeUnit.NANOSECONDS.toMillis(offset));
      }
      line.end();
      return code;
    }
    for (String server : wrong) {
      out.line("wrong: " + server + ", by " + Words.count(servers) + " of " + last.size());
    }
    if (!decided) {
      out.line("no time that most of them allow; ask a third server");
      return code;
    }
    out.line("this machine's clock is " + verdict(offset, wall, agreed.bound()));
    return code;
  }

  private static String verdict(long offset, long wall, TimeBound bound) {
    String radius = TimeUnit.NANOSECONDS.toMillis(bound.radius()) + " ms";
    if (bound.contains(wall)) {
      return "right, as far as that tells: within ±" + radius;
    }
    return Words.span(offset) + (offset > 0 ? " ahead" : " behind") + ", ±" + radius;
  }
}
