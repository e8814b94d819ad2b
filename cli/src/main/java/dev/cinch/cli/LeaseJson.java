package dev.cinch.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.cli.Converters.Moment;
import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Metadata;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import java.util.Base64;
import java.util.Locale;

/** Leases as JSON. Times are nanoseconds since the Unix epoch; {@code …At} repeats one as text. */
final class LeaseJson {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

  private LeaseJson() {}

  static ObjectNode grant(Grant grant) {
    ObjectNode node = JSON.objectNode().put("id", grant.id().toString());
    node.put("expiry", grant.expiry()).put("expiryAt", Moment.text(grant.expiry()));
    ArrayNode witnesses = node.putArray("witnesses");
    for (SignedWitness s : grant.witnesses()) {
      ObjectNode w = witness(s.witness());
      w.put("signed", Base64.getEncoder().encodeToString(s.bytes()));
      witnesses.add(w);
    }
    return node;
  }

  static ObjectNode info(LeaseInfo info) {
    ObjectNode node = witness(info.witness());
    node.put("state", lower(info.state()));
    ArrayNode recent = node.putArray("recent");
    for (Metadata m : info.recent()) {
      recent
          .addObject()
          .put("log", m.log().toString())
          .put("bucketStart", m.bucketStart())
          .put("dataFile", m.dataFile());
    }
    return node;
  }

  private static ObjectNode witness(Witness w) {
    ObjectNode node = JSON.objectNode();
    node.put("name", w.name().value()).put("holder", w.holder());
    node.put("instance", w.instance()).put("generation", w.generation());
    node.put("tentative", w.tentative());
    logs(node, "logs", w.logs());
    node.put("expiry", w.expiry()).put("expiryAt", Moment.text(w.expiry()));
    node.put("issued", w.issuedAt()).put("issuedAt", Moment.text(w.issuedAt()));
    node.put("correlation", w.correlation().toString());
    w.previous().ifPresent(p -> node.put("previous", p.toString()));
    node.put("previousEnding", lower(w.previousEnding()));
    time(node, "previousEnded", w.previousEndedAt());
    time(node, "watermark", w.watermark().timestamp());
    time(node, "fenceUpTo", w.fence().upTo());
    if (!w.fence().isNone()) {
      logs(node, "fenceLogs", w.fence().logs());
    }
    return node;
  }

  private static void time(ObjectNode node, String name, long nanos) {
    if (nanos != Long.MIN_VALUE) { // which stands for "never"
      node.put(name, nanos);
    }
  }

  private static void logs(ObjectNode node, String name, LogSet logs) {
    if (logs.all()) {
      node.put(name, "all");
    } else {
      ArrayNode array = node.putArray(name);
      logs.ids().forEach(id -> array.add(id.toString()));
    }
  }

  private static String lower(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }
}
