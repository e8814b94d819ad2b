package dev.cinch.lease.http;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.OneLine;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.Revocation;
import dev.cinch.lease.SignedWitness;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;

/** Operations, and what became of them, as bodies: alone or in batches. */
final class OperationCodec {
  private static final List<Class<? extends Operation>> KINDS =
      List.of(
          Operation.Acquire.class,
          Operation.Renew.class,
          Operation.Resume.class,
          Operation.Upgrade.class,
          Operation.Release.class,
          Operation.Revoke.class);

  /** What they are called as a path's last part, in a batch, and by metrics. */
  static final List<String> VERBS =
      KINDS.stream().map(kind -> kind.getSimpleName().toLowerCase(Locale.ROOT)).toList();

  private OperationCodec() {}

  /** The place of an operation's name among {@link #VERBS}. */
  static int kind(Operation operation) {
    return KINDS.indexOf(operation.getClass());
  }

  static String verb(Operation operation) {
    return VERBS.get(kind(operation));
  }

  /** Whether leases may be lost without it. */
  static boolean keeps(Operation operation) {
    return !(operation instanceof Operation.Acquire || operation instanceof Operation.Revoke);
  }

  /** Whether it may be part of a batch. */
  static boolean isBatched(Operation operation) {
    return !(operation instanceof Operation.Revoke);
  }

  /**
   * Reads an operation.
   *
   * @param alone whether it is all of a request: then it may be any of {@link #VERBS}, and wait
   */
  static Operation read(String verb, JsonFields in, boolean alone) throws WireException {
    Operation operation;
    try {
      operation =
          switch (verb) {
            case "acquire" -> acquire(in, alone && in.has("waitMs") ? in.integer("waitMs") : 0);
            case "renew" ->
                new Operation.Renew(
                    in.id("id"),
                    in.integer("durationMs"),
                    in.has("addLogs") ? WireReader.logs(in, "addLogs") : LogSet.NONE,
                    report(in));
            case "resume" -> resume(in);
            case "upgrade" -> new Operation.Upgrade(in.id("id"), in.integer("durationMs"));
            case "release" -> new Operation.Release(in.id("id"), report(in));
            default -> {
              if (!alone || !verb.equals("revoke")) {
                throw new WireException("no operation: \"" + OneLine.of(verb, 40) + "\"");
              }
              yield revoke(in);
            }
          };
    } catch (IllegalArgumentException e) { // well-formed, and no request may have it
      in.noOthers();
      throw new WireException(Reason.INVALID.name(), String.valueOf(e.getMessage()));
    }
    in.noOthers();
    return operation;
  }

  private static Operation acquire(JsonFields in, long waitMs) throws WireException {
    var names = new ArrayList<LeaseName>();
    for (String name : in.texts("names")) {
      names.add(WireReader.name(name));
    }
    return new Operation.Acquire(
        in.id("id"),
        names,
        in.text("holder"),
        in.integer("durationMs"),
        in.has("logs") ? WireReader.logs(in, "logs") : LogSet.ALL,
        in.has("tentative") && in.flag("tentative"),
        waitMs);
  }

  private static Operation resume(JsonFields in) throws WireException {
    return new Operation.Resume(in.id("id"), WireReader.witnesses(in), in.integer("durationMs"));
  }

  private static Operation revoke(JsonFields in) throws WireException {
    return new Operation.Revoke(
        WireReader.name(in.text("name")),
        in.text("reason"),
        in.has("correlation") ? Optional.of(in.id("correlation")) : Optional.empty());
  }

  private static LeaseReport report(JsonFields body) throws WireException {
    if (!body.has("report")) {
      return LeaseReport.NOTHING;
    }
    JsonFields in = body.object("report");
    OptionalLong watermark =
        in.has("watermark") ? OptionalLong.of(in.time("watermark")) : OptionalLong.empty();
    boolean fenced = in.has("fenced") && in.flag("fenced");
    List<LeaseReport.Metadata> metadata =
        in.has("metadata") ? WireReader.metadata(in, "metadata") : List.of();
    OptionalLong instance =
        in.has("instance") ? OptionalLong.of(in.integer("instance")) : OptionalLong.empty();
    in.noOthers();
    return new LeaseReport(watermark, fenced, metadata, instance);
  }

  static ObjectNode write(Operation operation) {
    ObjectNode out = LeaseDocuments.object();
    if (operation instanceof Operation.Secret secret) {
      out.put("id", secret.id().toString());
    }
    if (operation instanceof Operation.Acquire acquire) {
      ArrayNode names = out.putArray("names");
      acquire.names().forEach(n -> names.add(n.value()));
      out.put("holder", acquire.holder()).put("durationMs", acquire.durationMs());
      out.set("logs", LeaseDocuments.logs(acquire.logs()));
      out.put("tentative", acquire.tentative());
      return acquire.waitMs() > 0 ? out.put("waitMs", acquire.waitMs()) : out;
    } else if (operation instanceof Operation.Renew renew) {
      out.put("durationMs", renew.durationMs());
      out.set("addLogs", LeaseDocuments.logs(renew.addLogs()));
      out.set("report", report(renew.report()));
    } else if (operation instanceof Operation.Resume resume) {
      witnesses(out, resume.witnesses());
      out.put("durationMs", resume.durationMs());
    } else if (operation instanceof Operation.Upgrade upgrade) {
      out.put("durationMs", upgrade.durationMs());
    } else if (operation instanceof Operation.Release release) {
      out.set("report", report(release.report()));
    } else if (operation instanceof Operation.Revoke revoke) {
      out.put("name", revoke.name().value()).put("reason", revoke.reason());
      revoke.correlation().ifPresent(c -> out.put("correlation", c.toString()));
    }
    return out;
  }

  private static ObjectNode report(LeaseReport report) {
    ObjectNode out = LeaseDocuments.object();
    report.watermark().ifPresent(w -> LeaseDocuments.time(out, "watermark", w));
    out.put("fenced", report.fenced());
    out.set("metadata", LeaseDocuments.metadata(report.metadata()));
    report.instance().ifPresent(i -> out.put("instance", i));
    return out;
  }

  /** What the only operation of a request came to, where it was not refused. */
  static Outcome readOutcome(Operation of, JsonFields in) throws WireException {
    Outcome outcome;
    if (of instanceof Operation.Release) {
      outcome = Outcome.RELEASED;
    } else if (of instanceof Operation.Revoke) {
      var revocation =
          new Revocation(
              WireReader.name(in.text("name")),
              in.text("holder"),
              in.id("correlation"),
              in.integer("instance"),
              in.time("revokedAt"),
              in.text("reason"));
      outcome = new Outcome.Revoked(revocation, in.time("expiry"));
    } else {
      outcome = new Outcome.Granted(WireReader.grant(in));
    }
    in.noOthers();
    return outcome;
  }

  /** A grant: its witnesses are their signed bytes alone. */
  static ObjectNode grant(Grant grant) {
    ObjectNode out = LeaseDocuments.object().put("id", grant.id().toString());
    witnesses(out, grant.witnesses());
    return out;
  }

  private static void witnesses(ObjectNode out, List<SignedWitness> all) {
    ArrayNode witnesses = out.putArray("witnesses");
    all.forEach(w -> witnesses.add(LeaseDocuments.base64(w.bytes())));
  }

  /** The answer to a request for one operation. */
  static Answer answer(Outcome outcome) {
    if (outcome instanceof Outcome.Refused refused) {
      return Answer.refusal(refused.refusal());
    } else if (outcome instanceof Outcome.Granted granted) {
      return Answer.ok(grant(granted.grant()));
    } else if (outcome instanceof Outcome.Revoked revoked) {
      return Answer.ok(LeaseDocuments.revoked(revoked));
    }
    return Answer.ok(LeaseDocuments.object());
  }

  /** A batch: several operations, each an object with its verb as the only field. */
  static List<Operation> readBatch(JsonFields in) throws WireException {
    var found = new ArrayList<Operation>();
    for (JsonFields each : in.objects("operations")) {
      if (found.size() == LeaseService.MAX_OPERATIONS) {
        throw new WireException("more than " + LeaseService.MAX_OPERATIONS + " operations");
      }
      String verb = each.only();
      found.add(read(verb, each.object(verb), false));
    }
    in.noOthers();
    return found;
  }

  /** A batch of operations each of which {@link #isBatched}. */
  static ObjectNode writeBatch(List<Operation> operations) {
    ObjectNode out = LeaseDocuments.object();
    ArrayNode all = out.putArray("operations");
    for (Operation each : operations) {
      ObjectNode body = write(each);
      body.remove("waitMs"); // there, nothing waits
      all.addObject().set(verb(each), body);
    }
    return out;
  }

  /** What became of a batch. */
  static List<Outcome> readOutcomes(JsonFields in) throws WireException {
    var found = new ArrayList<Outcome>();
    for (JsonFields each : in.objects("outcomes")) {
      String only = each.only();
      JsonFields body = each.object(only);
      switch (only) {
        case "grant" -> found.add(new Outcome.Granted(WireReader.grant(body)));
        case "released" -> {
          body.noOthers();
          found.add(Outcome.RELEASED);
        }
        case "refused" -> {
          WireReader.Failure failure = WireReader.failure(body);
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

  static ObjectNode writeOutcomes(List<Outcome> outcomes) {
    ObjectNode out = LeaseDocuments.object();
    ArrayNode all = out.putArray("outcomes");
    for (Outcome each : outcomes) {
      String field =
          each instanceof Outcome.Granted
              ? "grant"
              : each instanceof Outcome.Refused ? "refused" : "released";
      all.addObject().set(field, answer(each).body());
    }
    return out;
  }

  /** Whether such an operation may have come to this. */
  static boolean isOf(Operation operation, Outcome outcome) {
    if (outcome instanceof Outcome.Granted granted) {
      return operation instanceof Operation.Secret secret
          && !(operation instanceof Operation.Release)
          && granted.grant().id().equals(secret.id());
    } else if (outcome instanceof Outcome.Released) {
      return operation instanceof Operation.Release;
    }
    return true;
  }
}
