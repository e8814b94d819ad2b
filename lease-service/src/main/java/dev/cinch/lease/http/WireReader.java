package dev.cinch.lease.http;

import dev.cinch.lease.AcquireRequest;
import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Metadata;
import dev.cinch.lease.OneLine;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.ResumeRequest;
import dev.cinch.lease.Revocation;
import dev.cinch.lease.RevokeRequest;
import dev.cinch.lease.Revoked;
import dev.cinch.lease.ServiceInfo;
import dev.cinch.lease.ShardMap;
import dev.cinch.lease.ShardServers;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.TimeBound;
import dev.cinch.lease.Watermark;
import dev.cinch.lease.Witness;
import dev.cinch.lease.witness.WitnessException;
import dev.cinch.lease.witness.WitnessVerifier;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;

/** JSON to values. Every method reads its object completely and refuses unknown fields. */
final class WireReader {
  private WireReader() {}

  /** Several operations, each an object with its kind as the only field. */
  static List<Operation> operations(Fields in) throws WireException {
    var found = new ArrayList<Operation>();
    for (Fields each : in.objects("operations")) {
      if (found.size() == LeaseService.MAX_OPERATIONS) {
        throw new WireException("more than " + LeaseService.MAX_OPERATIONS + " operations");
      }
      String kind = each.only();
      Fields body = each.object(kind);
      found.add(
          OperationKind.of(kind)
              .orElseThrow(
                  () -> new WireException("no operation: \"" + OneLine.of(kind, 40) + "\""))
              .read(body));
    }
    in.noOthers();
    return found;
  }

  /** What became of them. */
  static List<Outcome> outcomes(Fields in) throws WireException {
    var found = new ArrayList<Outcome>();
    for (Fields each : in.objects("outcomes")) {
      switch (each.only()) {
        case "grant" -> found.add(new Outcome.Granted(grant(each.object("grant"))));
        case "released" -> {
          boolean unused = nothing(each.object("released"));
          found.add(Outcome.RELEASED);
        }
        case "refused" -> {
          Failure failure = failure(each.object("refused"));
          found.add(
              new Outcome.Refused(
                  failure
                      .refusal()
                      .orElseThrow(() -> new WireException("no refusal: " + failure.error()))));
        }
        default -> throw new WireException("no outcome of the API");
      }
    }
    in.noOthers();
    return found;
  }

  /** How long an acquire waits; 0 if it does not say. */
  static long waitMs(Fields in) throws WireException {
    long waitMs = in.has(WireWriter.WAIT) ? in.integer(WireWriter.WAIT) : 0;
    if (waitMs < 0 || waitMs > LeaseService.MAX_WAIT_MS) {
      throw new WireException(
          Reason.INVALID.name(),
          "a request waits 0 to " + LeaseService.MAX_WAIT_MS + " ms, not " + waitMs);
    }
    return waitMs;
  }

  static Operation acquire(Fields in) throws WireException {
    var names = new ArrayList<LeaseName>();
    for (String name : in.texts("names")) {
      names.add(name(name));
    }
    Id id = in.id("id");
    String holder = in.text("holder");
    long durationMs = in.integer("durationMs");
    LogSet logs = in.has("logs") ? logs(in, "logs") : LogSet.ALL;
    boolean tentative = in.has("tentative") && in.flag("tentative");
    in.noOthers();
    try {
      return new Operation.Acquire(
          new AcquireRequest(id, names, holder, durationMs, logs, tentative));
    } catch (IllegalArgumentException e) {
      throw invalid(e);
    }
  }

  static Operation renew(Fields in) throws WireException {
    var renew =
        new Operation.Renew(
            in.id("id"),
            in.integer("durationMs"),
            in.has("addLogs") ? logs(in, "addLogs") : LogSet.NONE,
            in.has("report") ? report(in.object("report")) : LeaseReport.NOTHING);
    in.noOthers();
    return renew;
  }

  static Operation resume(Fields in) throws WireException {
    Id id = in.id("id");
    var witnesses = new ArrayList<SignedWitness>();
    for (byte[] each : in.allBytes("witnesses")) {
      witnesses.add(signed(each));
    }
    var request = new ResumeRequest(id, witnesses, in.integer("durationMs"));
    in.noOthers();
    return new Operation.Resume(request);
  }

  static Operation upgrade(Fields in) throws WireException {
    var upgrade = new Operation.Upgrade(in.id("id"), in.integer("durationMs"));
    in.noOthers();
    return upgrade;
  }

  static Operation release(Fields in) throws WireException {
    var release =
        new Operation.Release(
            in.id("id"), in.has("report") ? report(in.object("report")) : LeaseReport.NOTHING);
    in.noOthers();
    return release;
  }

  static RevokeRequest revoke(Fields in) throws WireException {
    LeaseName name = name(in.text("name"));
    String reason = in.text("reason");
    Optional<Id> correlation =
        in.has("correlation") ? Optional.of(in.id("correlation")) : Optional.empty();
    in.noOthers();
    try {
      return new RevokeRequest(name, reason, correlation);
    } catch (IllegalArgumentException e) {
      throw invalid(e);
    }
  }

  static Revoked revoked(Fields in) throws WireException {
    var revocation =
        new Revocation(
            name(in.text("name")),
            in.text("holder"),
            in.id("correlation"),
            in.integer("instance"),
            in.time("revokedAt"),
            in.text("reason"));
    var revoked = new Revoked(revocation, in.time("expiry"));
    in.noOthers();
    return revoked;
  }

  static Grant grant(Fields in) throws WireException {
    Id id = in.id("id");
    var witnesses = new ArrayList<SignedWitness>();
    for (Fields each : in.objects("witnesses")) {
      SignedWitness signed = signed(each.bytes("signed"));
      // CBOR has the signed bytes alone.
      boolean told = each.has("witness");
      Witness shown = told ? witness(each.object("witness")) : signed.witness();
      each.noOthers();
      if (!shown.equals(signed.witness())) {
        throw new WireException("a witness's fields differ from its signed bytes");
      }
      witnesses.add(signed);
    }
    in.noOthers();
    if (witnesses.isEmpty()) {
      throw new WireException("a grant without witnesses");
    }
    return new Grant(id, witnesses);
  }

  static LeaseInfo info(Fields in) throws WireException {
    var info =
        new LeaseInfo(
            witness(in.object("witness")),
            parsed(in, "state", LeaseInfo.State::valueOf, "a state"),
            metadata(in, "recent"));
    in.noOthers();
    return info;
  }

  static List<LeaseInfo> infos(Fields in) throws WireException {
    var found = new ArrayList<LeaseInfo>();
    for (Fields each : in.objects("leases")) {
      found.add(info(each));
    }
    in.noOthers();
    return found;
  }

  /** Of a version that may say more. */
  static ServiceInfo service(Fields in) throws WireException {
    Optional<TimeBound> time = Optional.empty();
    List<String> problems = List.of();
    if (in.has("time")) {
      Fields bound = in.object("time");
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
        in.hasTime("ceiling") ? OptionalLong.of(in.time("ceiling")) : OptionalLong.empty(),
        in.flag("superseded"),
        time,
        problems);
  }

  private static TimeBound bound(Fields in) throws WireException {
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
  static Health health(Fields in) throws WireException {
    if (!in.flag("live")) {
      throw in.wrong("live", "true");
    }
    return new Health(
        in.has("instance") ? OptionalLong.of(in.integer("instance")) : OptionalLong.empty(),
        in.has("store") ? in.text("store") : "",
        Optional.empty());
  }

  /** That leases are granted; of a version that may say more. */
  static boolean ready(Fields in) throws WireException {
    if (!in.flag("ready")) {
      throw in.wrong("ready", "true");
    }
    return true;
  }

  /** Of a version that may say more. */
  static ShardServers shards(Fields in) throws WireException {
    long count = in.integer("shards");
    var servers = new ArrayList<ShardServers.Server>();
    try {
      var map = new ShardMap(in.integer("map"), Math.toIntExact(count));
      for (Fields each : in.objects("servers")) {
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

  static long now(Fields in) throws WireException {
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

  static Failure failure(Fields in) throws WireException {
    String message = OneLine.of(in.text("message"), Answer.MAX_MESSAGE);
    var failure = new Failure(in.text("error"), message, in.integer("retryAfterMs"));
    in.noOthers();
    return failure;
  }

  /** An empty object. */
  static boolean nothing(Fields in) throws WireException {
    in.noOthers();
    return true;
  }

  static LeaseName name(String text) throws WireException {
    try {
      return new LeaseName(text);
    } catch (IllegalArgumentException e) {
      throw new WireException(String.valueOf(e.getMessage()));
    }
  }

  private static SignedWitness signed(byte[] bytes) throws WireException {
    try {
      return WitnessVerifier.decode(bytes);
    } catch (WitnessException e) {
      throw new WireException(String.valueOf(e.getMessage()));
    }
  }

  private static Witness witness(Fields in) throws WireException {
    var watermark = Watermark.NONE;
    if (in.has("watermark")) {
      Fields w = in.object("watermark");
      watermark =
          new Watermark(
              w.time("timestamp"),
              w.time("signedTime"),
              w.hasTime("latest") ? w.time("latest") : Long.MIN_VALUE);
      w.noOthers();
    }
    var fence = Fence.NONE;
    if (in.has("fence")) {
      Fields f = in.object("fence");
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
            in.hasTime("previousEndedAt") ? in.time("previousEndedAt") : Long.MIN_VALUE,
            watermark,
            fence,
            in.has("resumed") && in.flag("resumed"),
            bound(in.object("time")));
    in.noOthers();
    return witness;
  }

  private static LeaseReport report(Fields in) throws WireException {
    OptionalLong watermark =
        in.hasTime("watermark") ? OptionalLong.of(in.time("watermark")) : OptionalLong.empty();
    boolean fenced = in.has("fenced") && in.flag("fenced");
    List<Metadata> metadata = in.has("metadata") ? metadata(in, "metadata") : List.of();
    OptionalLong instance =
        in.has("instance") ? OptionalLong.of(in.integer("instance")) : OptionalLong.empty();
    in.noOthers();
    try {
      return new LeaseReport(watermark, fenced, metadata, instance);
    } catch (IllegalArgumentException e) {
      throw invalid(e);
    }
  }

  /** Values that are well-formed, and that no request may have. */
  private static WireException invalid(IllegalArgumentException e) {
    return new WireException(Reason.INVALID.name(), String.valueOf(e.getMessage()));
  }

  private static List<Metadata> metadata(Fields in, String name) throws WireException {
    var found = new ArrayList<Metadata>();
    for (Fields each : in.objects(name)) {
      found.add(new Metadata(each.id("log"), each.time("bucketStart"), each.text("dataFile")));
      each.noOthers();
    }
    return found;
  }

  private static LogSet logs(Fields in, String name) throws WireException {
    if (in.isText(name)) {
      if (in.text(name).equals("all")) {
        return LogSet.ALL;
      }
      throw in.wrong(name, "\"all\" or an array of log ids");
    }
    return LogSet.of(in.ids(name));
  }

  private static <T> T parsed(Fields in, String name, Function<String, T> parser, String what)
      throws WireException {
    try {
      return parser.apply(in.text(name));
    } catch (IllegalArgumentException e) {
      throw in.wrong(name, what);
    }
  }
}
