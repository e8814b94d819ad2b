package dev.cinch.lease.http;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.cinch.lease.Grant;
import dev.cinch.lease.IsoTime;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.Revocation;
import dev.cinch.lease.ServiceInfo;
import dev.cinch.lease.ShardServers;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.TimeBound;
import dev.cinch.lease.Witness;
import java.util.Base64;
import java.util.List;
import java.util.function.Function;

/**
 * What the API answers, as JSON, also for programs that print it. Fields without a value are left
 * out.
 */
public final class LeaseDocuments {
  private LeaseDocuments() {}

  static byte[] bytes(JsonNode node) {
    return JsonFields.JSON.write(node);
  }

  /** A grant with what its witnesses say, for people. */
  public static ObjectNode grant(Grant grant) {
    ObjectNode out = object().put("id", grant.id().toString());
    ArrayNode witnesses = out.putArray("witnesses");
    for (SignedWitness each : grant.witnesses()) {
      witnesses
          .addObject()
          .put("signed", base64(each.bytes()))
          .set("witness", witness(each.witness()));
    }
    return out;
  }

  /** As {@code GET /v1/leases/NAME} is answered. */
  public static ObjectNode info(LeaseInfo info) {
    ObjectNode out = object().put("state", info.state().name());
    out.set("witness", witness(info.witness()));
    out.set("recent", metadata(info.recent()));
    return out;
  }

  /** As a revoke request is answered. */
  public static ObjectNode revoked(Outcome.Revoked revoked) {
    Revocation r = revoked.revocation();
    ObjectNode out =
        object()
            .put("name", r.name().value())
            .put("holder", r.holder())
            .put("correlation", r.correlation().toString())
            .put("instance", r.instance())
            .put("reason", r.reason());
    time(out, "revokedAt", r.revokedAt());
    return time(out, "expiry", revoked.expiry());
  }

  /** As {@code GET /v1/leases/NAME?detail=true} is answered. */
  public static ObjectNode detail(LeaseDetail detail) {
    ObjectNode out = info(detail.info());
    time(out, "since", detail.since());
    if (detail.waitingCount().isPresent()) {
      ArrayNode waiting = out.putArray("waiting");
      for (LeaseDetail.Waiter each : detail.waiting()) {
        time(waiting.addObject().put("holder", each.holder()), "since", each.since());
      }
      out.put("waitingCount", detail.waitingCount().getAsInt());
    }
    return out;
  }

  static ObjectNode infos(List<LeaseInfo> infos, Function<LeaseInfo, ObjectNode> entry) {
    ObjectNode out = object();
    ArrayNode leases = out.putArray("leases");
    infos.forEach(info -> leases.add(entry.apply(info)));
    return out;
  }

  static ObjectNode service(ServiceInfo info) {
    ObjectNode out =
        object()
            .put("instance", info.instance())
            .put("publicKey", info.publicKey())
            .put("longestLeaseMs", info.longestLeaseMs());
    time(out, "now", info.now())
        .put("quarantineLeftMs", info.quarantineLeftMs())
        .put("clockBehindMs", info.clockBehindMs())
        .put("ceilings", info.ceilings());
    info.ceiling().ifPresent(c -> time(out, "ceiling", c));
    out.put("superseded", info.superseded());
    if (info.time().isPresent()) {
      ObjectNode time = bound(out, info.time().get());
      if (!info.timeProblems().isEmpty()) {
        info.timeProblems().forEach(time.putArray("problems")::add);
      }
    }
    return out;
  }

  static ObjectNode health(Health health) {
    ObjectNode out = object().put("live", true);
    health.instance().ifPresent(i -> out.put("instance", i));
    return health.store().isEmpty() ? out : out.put("store", health.store());
  }

  static ObjectNode shards(ShardServers shards) {
    ObjectNode out = object().put("map", shards.map().number()).put("shards", shards.map().count());
    ArrayNode servers = out.putArray("servers");
    for (ShardServers.Server server : shards.servers()) {
      ObjectNode each =
          servers.addObject().put("shard", server.shard()).put("instance", server.instance());
      if (!server.address().isEmpty()) {
        each.put("address", server.address()).put("machine", server.machine());
      }
    }
    return out;
  }

  static ObjectNode now(long now) {
    return time(object(), "now", now);
  }

  static ObjectNode error(String error, String message, long retryAfterMs) {
    return object().put("error", error).put("message", message).put("retryAfterMs", retryAfterMs);
  }

  static ObjectNode object() {
    return JsonNodeFactory.instance.objectNode();
  }

  private static ObjectNode witness(Witness w) {
    ObjectNode out =
        object()
            .put("name", w.name().value())
            .put("holder", w.holder())
            .put("instance", w.instance())
            .put("generation", w.generation())
            .put("tentative", w.tentative());
    out.set("logs", logs(w.logs()));
    time(out, "expiry", w.expiry());
    time(out, "issuedAt", w.issuedAt()).put("correlation", w.correlation().toString());
    w.previous().ifPresent(p -> out.put("previous", p.toString()));
    out.put("previousEnding", w.previousEnding().name());
    if (w.previousEndedAt() != Long.MIN_VALUE) {
      time(out, "previousEndedAt", w.previousEndedAt());
    }
    if (w.watermark().timestamp() != Long.MIN_VALUE) {
      ObjectNode watermark = out.putObject("watermark");
      time(watermark, "timestamp", w.watermark().timestamp());
      time(watermark, "signedTime", w.watermark().signedTime());
      if (w.watermark().latest() != Long.MIN_VALUE) {
        time(watermark, "latest", w.watermark().latest());
      }
    }
    if (!w.fence().isNone()) {
      time(out.putObject("fence"), "upTo", w.fence().upTo()).set("logs", logs(w.fence().logs()));
    }
    bound(out, w.time());
    return w.resumed() ? out.put("resumed", true) : out;
  }

  @CanIgnoreReturnValue
  private static ObjectNode bound(ObjectNode out, TimeBound bound) {
    ObjectNode time = out.putObject("time").put("kind", bound.kind().name());
    return time(time(time, "earliest", bound.earliest()), "latest", bound.latest());
  }

  static ArrayNode metadata(List<LeaseReport.Metadata> all) {
    ArrayNode out = JsonNodeFactory.instance.arrayNode();
    for (LeaseReport.Metadata m : all) {
      time(out.addObject().put("log", m.log().toString()), "bucketStart", m.bucketStart())
          .put("dataFile", m.dataFile());
    }
    return out;
  }

  /** A time as text: as a number many readers round nanoseconds. */
  static ObjectNode time(ObjectNode out, String name, long nanos) {
    return out.put(name, IsoTime.text(nanos));
  }

  /** Bytes as text. */
  static String base64(byte[] bytes) {
    return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
  }

  static JsonNode logs(LogSet logs) {
    if (logs.all()) {
      return JsonNodeFactory.instance.textNode("all");
    }
    ArrayNode out = JsonNodeFactory.instance.arrayNode();
    logs.ids().forEach(id -> out.add(id.toString()));
    return out;
  }
}
