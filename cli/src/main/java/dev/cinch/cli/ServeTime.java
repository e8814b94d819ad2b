package dev.cinch.cli;

import dev.cinch.bag.fs.InWords;
import dev.cinch.lease.OneLine;
import dev.cinch.lease.time.TimeBounds;
import dev.cinch.lease.time.roughtime.ServerKeys;
import dev.cinch.lease.time.udp.RoughtimeServer;
import dev.cinch.lease.witness.SigningKey;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** What {@code cinch serve} tells others about the time. */
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class ServeTime {
  /** How far off a clock that nobody measured is taken to be, nanoseconds. */
  static final long ASSUMED = 1_000_000_000L;

  private static final Pattern PLACE =
      Pattern.compile(
          "(?:(?:\\[[0-9a-fA-F:.]+\\]|[^\\[\\]:]{1,253}):)?"
              + "(?:[0-5]?\\d{1,4}|6[0-4]\\d{3}|65[0-4]\\d{2}|655[0-2]\\d|6553[0-5])");

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

  void check() {
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
