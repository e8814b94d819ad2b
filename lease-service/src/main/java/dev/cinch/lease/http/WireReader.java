package dev.cinch.lease.http;

import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.OneLine;
import dev.cinch.lease.ServiceInfo;
import dev.cinch.lease.ShardMap;
import dev.cinch.lease.ShardServers;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.TimeBound;
import dev.cinch.lease.Watermark;
import dev.cinch.lease.Witness;
import dev.cinch.lease.http.Endpoints.Sent;
import dev.cinch.lease.witness.WitnessException;
import dev.cinch.lease.witness.WitnessVerifier;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.function.Function;

/** JSON to values. Every method reads its object completely and refuses unknown fields. */
final class WireReader {
  private WireReader() {}

  static Grant grant(JsonFields in) throws WireException {
    var grant = new Grant(in.id("id"), witnesses(in));
    in.noOthers();
    if (grant.witnesses().isEmpty()) {
      throw new WireException("a grant without witnesses");
    }
    return grant;
  }

  static List<SignedWitness> witnesses(JsonFields in) throws WireException {
    var witnesses = new ArrayList<SignedWitness>();
    for (byte[] each : in.allBytes("witnesses")) {
      try {
        witnesses.add(WitnessVerifier.decode(each));
      } catch (WitnessException e) {
        throw new WireException(String.valueOf(e.getMessage()));
      }
    }
    return witnesses;
  }

  static LeaseInfo info(JsonFields in) throws WireException {
    LeaseInfo info = begunInfo(in);
    in.noOthers();
    return info;
  }

  private static LeaseInfo begunInfo(JsonFields in) throws WireException {
    return new LeaseInfo(
        witness(in.object("witness")),
        parsed(in, "state", LeaseInfo.State::valueOf, "a state"),
        metadata(in, "recent"));
  }

  /** Of a version that may say more. */
  static LeaseDetail detail(JsonFields in) throws WireException {
    LeaseInfo info = begunInfo(in);
    var waiting = new ArrayList<LeaseDetail.Waiter>();
    for (JsonFields each : in.objects("waiting")) {
      waiting.add(new LeaseDetail.Waiter(each.text("holder"), each.time("since")));
    }
    long count = in.integer("waitingCount");
    if (count < waiting.size() || count > Integer.MAX_VALUE) {
      throw in.wrong("waitingCount", "how many wait");
    }
    return new LeaseDetail(info, waiting, OptionalInt.of((int) count));
  }

  static <T> List<T> infos(JsonFields in, Sent.Reader<T> entry) throws WireException {
    var found = new ArrayList<T>();
    for (JsonFields each : in.objects("leases")) {
      found.add(entry.read(each));
    }
    in.noOthers();
    return found;
  }

  /** Of a version that may say more. */
  static ServiceInfo service(JsonFields in) throws WireException {
    Optional<TimeBound> time = Optional.empty();
    List<String> problems = List.of();
    if (in.has("time")) {
      JsonFields bound = in.object("time");
      time = Optional.of(bound(bound));
      problems = bound.has("problems") ? bound.texts("problems") : problems;
    }
    return new ServiceInfo(
        in.integer("instance"),
        in.text("publicKey"),
        in.integer("longestLeaseMs"),
        in.time("now"),
        in.integer("quarantineLeftMs"),
        in.integer("clockBehindMs"),
        in.flag("ceilings"),
        in.has("ceiling") ? OptionalLong.of(in.time("ceiling")) : OptionalLong.empty(),
        in.flag("superseded"),
        time,
        problems);
  }

  private static TimeBound bound(JsonFields in) throws WireException {
    long earliest = in.time("earliest");
    long latest = in.time("latest");
    if (earliest > latest) {
      throw new WireException("a bound of time ends before it begins");
    }
    boolean measured = in.text("kind").equals(TimeBound.Kind.MEASURED.name());
    return new TimeBound(
        earliest, latest, measured ? TimeBound.Kind.MEASURED : TimeBound.Kind.ASSUMED);
  }

  /** Of a version that may say more. */
  static Health health(JsonFields in) throws WireException {
    if (!in.flag("live")) {
      throw in.wrong("live", "true");
    }
    return new Health(
        in.has("instance") ? OptionalLong.of(in.integer("instance")) : OptionalLong.empty(),
        in.has("store") ? in.text("store") : "",
        Optional.empty());
  }

  /** That leases are granted; of a version that may say more. */
  static boolean ready(JsonFields in) throws WireException {
    if (!in.flag("ready")) {
      throw in.wrong("ready", "true");
    }
    return true;
  }

  /** Of a version that may say more. */
  static ShardServers shards(JsonFields in) throws WireException {
    long count = in.integer("shards");
    var servers = new ArrayList<ShardServers.Server>();
    try {
      var map = new ShardMap(in.integer("map"), Math.toIntExact(count));
      for (JsonFields each : in.objects("servers")) {
        boolean known = each.has("address");
        servers.add(
            new ShardServers.Server(
                Math.toIntExact(each.integer("shard")),
                each.integer("instance"),
                known ? each.text("address") : "",
                known ? each.text("machine") : ""));
      }
      return new ShardServers(map, servers);
    } catch (IllegalArgumentException | ArithmeticException e) {
      throw new WireException("no map of shards: " + e.getMessage());
    }
  }

  static long now(JsonFields in) throws WireException {
    long now = in.time("now");
    in.noOthers();
    return now;
  }

  /**
   * An error's body.
   *
   * @param error its kind
   * @param message one line
   */
  record Failure(String error, String message, long retryAfterMs) {
    /** The refusal that it stands for, if it does. */
    Optional<LeaseRefusedException> refusal() {
      for (Reason reason : Reason.values()) {
        if (reason.name().equals(error)) {
          return Optional.of(new LeaseRefusedException(reason, message, retryAfterMs));
        }
      }
      return Optional.empty();
    }
  }

  static Failure failure(JsonFields in) throws WireException {
    String message = OneLine.of(in.text("message"), Answer.MAX_MESSAGE);
    var failure = new Failure(in.text("error"), message, in.integer("retryAfterMs"));
    in.noOthers();
    return failure;
  }

  static LeaseName name(String text) throws WireException {
    try {
      return new LeaseName(text);
    } catch (IllegalArgumentException e) {
      throw new WireException(String.valueOf(e.getMessage()));
    }
  }

  private static Witness witness(JsonFields in) throws WireException {
    var watermark = Watermark.NONE;
    if (in.has("watermark")) {
      JsonFields w = in.object("watermark");
      watermark =
          new Watermark(
              w.time("timestamp"),
              w.time("signedTime"),
              w.has("latest") ? w.time("latest") : Long.MIN_VALUE);
      w.noOthers();
    }
    var fence = Fence.NONE;
    if (in.has("fence")) {
      JsonFields f = in.object("fence");
      fence = new Fence(f.time("upTo"), logs(f, "logs"));
      f.noOthers();
    }
    var witness =
        new Witness(
            name(in.text("name")),
            in.text("holder"),
            in.integer("instance"),
            in.integer("generation"),
            in.flag("tentative"),
            logs(in, "logs"),
            in.time("expiry"),
            in.time("issuedAt"),
            in.id("correlation"),
            in.has("previous") ? Optional.of(in.id("previous")) : Optional.empty(),
            parsed(in, "previousEnding", Ending::valueOf, "an ending"),
            in.has("previousEndedAt") ? in.time("previousEndedAt") : Long.MIN_VALUE,
            watermark,
            fence,
            in.has("resumed") && in.flag("resumed"),
            bound(in.object("time")));
    in.noOthers();
    return witness;
  }

  static List<LeaseReport.Metadata> metadata(JsonFields in, String name) throws WireException {
    var found = new ArrayList<LeaseReport.Metadata>();
    for (JsonFields each : in.objects(name)) {
      found.add(
          new LeaseReport.Metadata(
              each.id("log"), each.time("bucketStart"), each.text("dataFile")));
      each.noOthers();
    }
    return found;
  }

  static LogSet logs(JsonFields in, String name) throws WireException {
    if (in.isText(name)) {
      if (in.text(name).equals("all")) {
        return LogSet.ALL;
      }
      throw in.wrong(name, "\"all\" or an array of log ids");
    }
    return LogSet.of(in.ids(name));
  }

  private static <T> T parsed(JsonFields in, String name, Function<String, T> parser, String what)
      throws WireException {
    try {
      return parser.apply(in.text(name));
    } catch (IllegalArgumentException e) {
      throw in.wrong(name, what);
    }
  }
}
