package dev.cinch.cli;

import dev.cinch.bag.Store;
import dev.cinch.bag.fs.InWords;
import dev.cinch.bag.store.StoreTimeSource;
import dev.cinch.lease.OneLine;
import dev.cinch.lease.TimeBound;
import dev.cinch.lease.time.BoundSource;
import dev.cinch.lease.time.ChronySource;
import dev.cinch.lease.time.MeasuredTime;
import dev.cinch.lease.time.TimeBounds;
import dev.cinch.lease.time.TimeSource;
import dev.cinch.lease.time.roughtime.ServerKeys;
import dev.cinch.lease.time.udp.RoughtimeClient;
import dev.cinch.lease.time.udp.RoughtimeServer;
import dev.cinch.lease.time.udp.RoughtimeSource;
import dev.cinch.lease.witness.SigningKey;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** What {@code cinch serve} tells others about the time. */
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class ServeTime {
  private static final Pattern PLACE =
      Pattern.compile(
          "(?:(?:\\[[0-9a-fA-F:.]+\\]|[^\\[\\]:]{1,253}):)?"
              + "(?:[0-5]?\\d{1,4}|6[0-4]\\d{3}|65[0-4]\\d{2}|655[0-2]\\d|6553[0-5])");

  private static final String CHRONY = "chrony";
  private static final String STORE = "store";
  private static final String ROUGHTIME = "roughtime:";

  /** How often the sources are asked, nanoseconds. */
  private static final long EVERY = 16_000_000_000L;

  private static final Duration PATIENCE = Duration.ofSeconds(3);

  private List<RoughtimeClient.Server> servers = List.of();

  @Spec(Spec.Target.MIXEE)
  CommandSpec command;

  @Option(
      names = "--roughtime",
      paramLabel = "[ADDRESS:]PORT",
      description = {
        "Answer Roughtime (draft-ietf-ntp-roughtime-19) on this UDP port, 0 for any that is free;",
        "at the address of --host unless another is given."
      })
  @Nullable String roughtime;

  @Option(
      names = "--roughtime-key",
      paramLabel = "FILE",
      description =
          "Its long-term key, made if there is none; the signing key of --key unless given.")
  @Nullable Path roughtimeKey;

  @Option(
      names = "--time-source",
      paramLabel = "SOURCE",
      description = {
        "Whom to ask for the time and how far off it may be: chrony (this machine's NTP daemon),",
        "store (the clock of its filesystem), or roughtime:HOST:PORT=KEY. May be repeated.",
        "Without any, this machine's clock is assumed to be right within a second."
      })
  List<String> named = List.of();

  void check(boolean hasStore) {
    try {
      servers =
          named.stream()
              .filter(name -> name.startsWith(ROUGHTIME))
              .map(name -> RoughtimeServers.parse(name.substring(ROUGHTIME.length())))
              .toList();
    } catch (IllegalArgumentException e) {
      throw new ParameterException(command.commandLine(), String.valueOf(e.getMessage()), e);
    }
    for (String name : named) {
      if (!name.equals(CHRONY) && !name.equals(STORE) && !name.startsWith(ROUGHTIME)) {
        throw new ParameterException(
            command.commandLine(),
            "--time-source is chrony, store, or roughtime:HOST:PORT=KEY, not "
                + OneLine.of(name, 80));
      }
    }
    if (named.contains(STORE) && !hasStore) {
      throw new ParameterException(command.commandLine(), "--time-source store goes with --store");
    }
    if (roughtime == null && roughtimeKey != null) {
      throw new ParameterException(
          command.commandLine(), "--roughtime-key goes with --roughtime PORT");
    }
    if (roughtime != null && !PLACE.matcher(roughtime).matches()) {
      throw new ParameterException(
          command.commandLine(),
          "--roughtime is a port, 0 to 65535, or ADDRESS:PORT, not " + OneLine.of(roughtime, 80));
    }
  }

  /**
   * Asks the sources, and goes on asking them in a thread.
   *
   * @param store null without one
   * @throws Failure.Refusal if this machine's clock is not what they say
   */
  TimeBounds bounds(Io io, TimeSource time, @Nullable Store store) throws IOException {
    if (named.isEmpty()) {
      return TimeBounds.assumed(time);
    }
    var sources = new ArrayList<BoundSource>();
    if (named.contains(CHRONY)) {
      sources.add(new ChronySource(time));
    }
    if (named.contains(STORE) && store != null) {
      sources.add(new StoreTimeSource(store.context()));
    }
    var client = new RoughtimeClient(time, PATIENCE);
    servers.forEach(server -> sources.add(new RoughtimeSource(client, server)));
    var measured = new MeasuredTime(time, sources);
    measured.refresh();
    requireClock(measured.view().bound(), time.wallNanos());
    for (String problem : measured.problems()) {
      Commands.say(io, "cinch serve", "time source: " + problem);
    }
    var thread = new Thread(() -> refresh(measured, time), "cinch-time-sources");
    thread.setDaemon(true);
    thread.start();
    return measured;
  }

  private static void requireClock(TimeBound bound, long wall) throws Failure.Refusal {
    TimeBound allowed = bound.wider(TimeBounds.ASSUMED_NANOS);
    if (bound.kind() == TimeBound.Kind.MEASURED && !allowed.contains(wall)) {
      long off = wall - bound.midpoint();
      throw new Failure.Refusal(
          "this machine's clock is "
              + Words.span(off)
              + (off > 0 ? " ahead of" : " behind")
              + " its time sources: set the clock (NTP)");
    }
  }

  private static void refresh(MeasuredTime measured, TimeSource time) {
    try {
      while (true) {
        time.sleepNanos(EVERY);
        measured.refresh();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Starts to answer; null if nobody asked for that.
   *
   * @param key the signing key
   * @param bounds the time to vouch for
   */
  @Nullable RoughtimeServer start(Io io, String host, SigningKey key, TimeBounds bounds)
      throws IOException {
    if (roughtime == null) {
      return null;
    }
    SigningKey longTerm =
        roughtimeKey == null ? key : KeygenCommand.load(roughtimeKey, io, "cinch serve");
    String at = address(host);
    int port = Integer.parseInt(roughtime.substring(roughtime.lastIndexOf(':') + 1));
    try {
      var place = new InetSocketAddress(InetAddress.getByName(at), port);
      return RoughtimeServer.start(place, longTerm, bounds);
    } catch (UnknownHostException e) {
      throw new IOException("no such host: " + at, e);
    } catch (IOException e) {
      throw new IOException(
          "can't listen on UDP port " + port + " of " + at + ": " + InWords.reason(e), e);
    }
  }

  private String address(String host) {
    String given = roughtime == null ? "" : roughtime;
    int colon = given.lastIndexOf(':');
    String at = colon < 0 ? host : given.substring(0, colon);
    return at.startsWith("[") ? at.substring(1, at.length() - 1) : at;
  }

  /** What clients need to ask it. */
  String line(String host, RoughtimeServer server) {
    String at = address(host);
    String name = at.indexOf(':') < 0 ? at : "[" + at + "]";
    return "answering Roughtime on "
        + name
        + ":"
        + server.port()
        + "="
        + ServerKeys.text(server.publicKey());
  }
}
