package dev.cinch.lease.wire;

import static dev.cinch.lease.wire.Fields.FLAG;
import static dev.cinch.lease.wire.Fields.ID;
import static dev.cinch.lease.wire.Fields.INTEGER;
import static dev.cinch.lease.wire.Fields.LOGS;
import static dev.cinch.lease.wire.Fields.NAME;
import static dev.cinch.lease.wire.Fields.TEXT;
import static dev.cinch.lease.wire.Fields.TEXTS;
import static dev.cinch.lease.wire.Fields.TIME;
import static dev.cinch.lease.wire.Fields.WITNESSES;
import static dev.cinch.lease.wire.Fields.an;
import static dev.cinch.lease.wire.Fields.list;
import static dev.cinch.lease.wire.Fields.some;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.IsoTime;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.OneLine;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.Revocation;
import dev.cinch.lease.ServiceInfo;
import dev.cinch.lease.ShardMap;
import dev.cinch.lease.ShardServers;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.TimeBound;
import dev.cinch.lease.Watermark;
import dev.cinch.lease.Witness;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Function;

/**
 * What the API answers: each document once, for who writes it and who reads it. Fields without a
 * value are left out.
 */
public final class LeaseDocuments {
  private static final Fields.Kind<LeaseInfo.State> STATE =
      Fields.of(LeaseInfo.State.class, "a state");
  private static final Fields.Kind<Ending> ENDING = Fields.of(Ending.class, "an ending");
  private static final Fields.Kind<TimeBound.Kind> KIND =
      Fields.of(TimeBound.Kind.class, "a kind of bound");

  private LeaseDocuments() {}

  public static byte[] bytes(JsonNode node) {
    return JsonFields.JSON.write(node);
  }

  public static ObjectNode object() {
    return JsonNodeFactory.instance.objectNode();
  }

  /** A time as text: as a number many readers round nanoseconds. */
  public static ObjectNode time(ObjectNode out, String name, long nanos) {
    return out.put(name, IsoTime.text(nanos));
  }

  /** A grant with what its witnesses say, for people. */
  public static ObjectNode json(Grant grant) {
    ObjectNode out = object().put("id", grant.id().toString());
    ArrayNode witnesses = out.putArray("witnesses");
    for (SignedWitness each : grant.witnesses()) {
      witnesses
          .addObject()
          .put("signed", Fields.base64(each.bytes()))
          .set("witness", Fields.write(LeaseDocuments::witness, each.witness()));
    }
    return out;
  }

  /** As an acquire, a renewal and an upgrade are answered: witnesses are their signed bytes. */
  public static Grant grant(Fields<Grant> f) throws WireException {
    var grant =
        new Grant(f.get("id", Grant::id, ID), f.get("witnesses", Grant::witnesses, WITNESSES));
    f.require(!grant.witnesses().isEmpty(), "a grant without witnesses");
    return grant;
  }

  /** As {@code GET /v1/leases/NAME} is answered. */
  public static ObjectNode json(LeaseInfo info) {
    return Fields.write(LeaseDocuments::info, info);
  }

  public static LeaseInfo info(Fields<LeaseInfo> f) throws WireException {
    return info(f, info -> info);
  }

  private static <T> LeaseInfo info(Fields<T> f, Function<T, LeaseInfo> of) throws WireException {
    LeaseInfo.State state = f.get("state", v -> of.apply(v).state(), STATE);
    return new LeaseInfo(
        f.get("witness", v -> of.apply(v).witness(), an(LeaseDocuments::witness)),
        state,
        f.get("recent", v -> of.apply(v).recent(), list(LeaseDocuments::metadata)));
  }

  /** As a revoke request is answered. */
  public static ObjectNode json(Outcome.Revoked revoked) {
    return Fields.write(LeaseDocuments::revoked, revoked);
  }

  public static Outcome.Revoked revoked(Fields<Outcome.Revoked> f) throws WireException {
    LeaseName name = f.get("name", r -> r.revocation().name(), NAME);
    String holder = f.get("holder", r -> r.revocation().holder(), TEXT);
    Id correlation = f.get("correlation", r -> r.revocation().correlation(), ID);
    long instance = f.get("instance", r -> r.revocation().instance(), INTEGER);
    String reason = f.get("reason", r -> r.revocation().reason(), TEXT);
    long at = f.get("revokedAt", r -> r.revocation().revokedAt(), TIME);
    return new Outcome.Revoked(
        new Revocation(name, holder, correlation, instance, at, reason),
        f.get("expiry", Outcome.Revoked::expiry, TIME));
  }

  /** As {@code GET /v1/leases/NAME?detail=true} is answered. */
  public static ObjectNode json(LeaseDetail detail) {
    return Fields.write(LeaseDocuments::detail, detail);
  }

  public static LeaseDetail detail(Fields<LeaseDetail> f) throws WireException {
    LeaseInfo info = info(f, LeaseDetail::info);
    long unused = f.get("since", LeaseDetail::since, TIME);
    var waiting = f.get("waiting", LeaseDetail::waiting, list(LeaseDocuments::waiter));
    long count = f.get("waitingCount", d -> (long) d.waitingCount().orElse(0), INTEGER);
    f.require(
        count >= waiting.size() && count <= Integer.MAX_VALUE,
        "the body's \"waitingCount\" is not how many wait");
    return new LeaseDetail(info, waiting, OptionalInt.of((int) count));
  }

  private static LeaseDetail.Waiter waiter(Fields<LeaseDetail.Waiter> f) throws WireException {
    return new LeaseDetail.Waiter(
        f.get("holder", LeaseDetail.Waiter::holder, TEXT),
        f.get("since", LeaseDetail.Waiter::since, TIME));
  }

  public static List<LeaseInfo> infos(Fields<List<LeaseInfo>> f) throws WireException {
    return f.get("leases", all -> all, list(LeaseDocuments::info));
  }

  public static List<LeaseDetail> details(Fields<List<LeaseDetail>> f) throws WireException {
    return f.get("leases", all -> all, list(LeaseDocuments::detail));
  }

  public static ServiceInfo service(Fields<ServiceInfo> f) throws WireException {
    return new ServiceInfo(
        f.get("instance", ServiceInfo::instance, INTEGER),
        f.get("publicKey", ServiceInfo::publicKey, TEXT),
        f.get("longestLeaseMs", ServiceInfo::longestLeaseMs, INTEGER),
        f.get("now", ServiceInfo::now, TIME),
        f.get("quarantineLeftMs", ServiceInfo::quarantineLeftMs, INTEGER),
        f.get("clockBehindMs", ServiceInfo::clockBehindMs, INTEGER),
        f.get("ceilings", ServiceInfo::ceilings, FLAG),
        f.findLong("ceiling", ServiceInfo::ceiling, TIME),
        f.get("superseded", ServiceInfo::superseded, FLAG),
        f.find("time", ServiceInfo::time, some(LeaseDocuments::bound)),
        f.get("timeProblems", ServiceInfo::timeProblems, TEXTS, List.of()));
  }

  private static TimeBound bound(Fields<TimeBound> f) throws WireException {
    TimeBound.Kind kind = f.get("kind", TimeBound::kind, KIND);
    long earliest = f.get("earliest", TimeBound::earliest, TIME);
    long latest = f.get("latest", TimeBound::latest, TIME);
    f.require(earliest <= latest, "a bound of time ends before it begins");
    return new TimeBound(earliest, latest, kind);
  }

  public static Health health(Fields<Health> f) throws WireException {
    f.require(f.get("live", health -> true, FLAG), "the body's \"live\" is not true");
    return new Health(
        f.findLong("instance", Health::instance, INTEGER),
        f.get("store", Health::store, TEXT, ""),
        Optional.empty());
  }

  /** That leases are granted. */
  public static Boolean ready(Fields<Boolean> f) throws WireException {
    boolean ready = f.get("ready", r -> r, FLAG);
    f.require(ready, "the body's \"ready\" is not true");
    return ready;
  }

  public static ShardServers shards(Fields<ShardServers> f) throws WireException {
    long map = f.get("map", s -> s.map().number(), INTEGER);
    long count = f.get("shards", s -> (long) s.map().count(), INTEGER);
    var servers = f.get("servers", ShardServers::servers, list(LeaseDocuments::shardServer));
    try {
      return new ShardServers(new ShardMap(map, Math.toIntExact(count)), servers);
    } catch (IllegalArgumentException | ArithmeticException e) {
      throw new WireException("no map of shards: " + e.getMessage());
    }
  }

  private static ShardServers.Server shardServer(Fields<ShardServers.Server> f)
      throws WireException {
    long shard = f.get("shard", s -> (long) s.shard(), INTEGER);
    f.require(shard == (int) shard, "no map of shards: integer overflow");
    return new ShardServers.Server(
        (int) shard,
        f.get("instance", ShardServers.Server::instance, INTEGER),
        f.get("address", ShardServers.Server::address, TEXT, ""),
        f.get("machine", ShardServers.Server::machine, TEXT, ""));
  }

  public static Long now(Fields<Long> f) throws WireException {
    return f.get("now", now -> now, TIME);
  }

  /**
   * An error's body.
   *
   * @param error its kind
   * @param message one line
   */
  public record Failure(String error, String message, long retryAfterMs) {
    /** The refusal that it stands for, if it does. */
    public Optional<LeaseRefusedException> refusal() {
      for (Reason reason : Reason.values()) {
        if (reason.name().equals(error)) {
          return Optional.of(new LeaseRefusedException(reason, message, retryAfterMs));
        }
      }
      return Optional.empty();
    }
  }

  public static Failure failure(Fields<Failure> f) throws WireException {
    return new Failure(
        f.get("error", Failure::error, TEXT),
        OneLine.of(f.get("message", Failure::message, TEXT), Answer.MAX_MESSAGE),
        f.get("retryAfterMs", Failure::retryAfterMs, INTEGER));
  }

  private static Witness witness(Fields<Witness> f) throws WireException {
    LeaseName name = f.get("name", Witness::name, NAME);
    String holder = f.get("holder", Witness::holder, TEXT);
    long instance = f.get("instance", Witness::instance, INTEGER);
    long generation = f.get("generation", Witness::generation, INTEGER);
    boolean tentative = f.get("tentative", Witness::tentative, FLAG);
    LogSet logs = f.get("logs", Witness::logs, LOGS);
    long expiry = f.get("expiry", Witness::expiry, TIME);
    long issuedAt = f.get("issuedAt", Witness::issuedAt, TIME);
    Id correlation = f.get("correlation", Witness::correlation, ID);
    Optional<Id> previous = f.find("previous", Witness::previous, ID);
    Ending ending = f.get("previousEnding", Witness::previousEnding, ENDING);
    long endedAt = f.get("previousEndedAt", Witness::previousEndedAt, TIME, Long.MIN_VALUE);
    Watermark watermark =
        f.get("watermark", Witness::watermark, an(LeaseDocuments::watermark), Watermark.NONE);
    Fence fence = f.get("fence", Witness::fence, an(LeaseDocuments::fence), Fence.NONE);
    TimeBound time = f.get("time", Witness::time, an(LeaseDocuments::bound));
    boolean resumed = f.get("resumed", Witness::resumed, FLAG, false);
    return new Witness(
        name,
        holder,
        instance,
        generation,
        tentative,
        logs,
        expiry,
        issuedAt,
        correlation,
        previous,
        ending,
        endedAt,
        watermark,
        fence,
        resumed,
        time);
  }

  private static Watermark watermark(Fields<Watermark> f) throws WireException {
    return new Watermark(
        f.get("timestamp", Watermark::timestamp, TIME),
        f.get("signedTime", Watermark::signedTime, TIME),
        f.get("latest", Watermark::latest, TIME, Long.MIN_VALUE));
  }

  private static Fence fence(Fields<Fence> f) throws WireException {
    return new Fence(f.get("upTo", Fence::upTo, TIME), f.get("logs", Fence::logs, LOGS));
  }

  public static LeaseReport.Metadata metadata(Fields<LeaseReport.Metadata> f) throws WireException {
    return new LeaseReport.Metadata(
        f.get("log", LeaseReport.Metadata::log, ID),
        f.get("bucketStart", LeaseReport.Metadata::bucketStart, TIME),
        f.get("dataFile", LeaseReport.Metadata::dataFile, TEXT));
  }
}
