package dev.cinch.lease.wire;

import static dev.cinch.lease.wire.Fields.FLAG;
import static dev.cinch.lease.wire.Fields.ID;
import static dev.cinch.lease.wire.Fields.INTEGER;
import static dev.cinch.lease.wire.Fields.LOGS;
import static dev.cinch.lease.wire.Fields.NAME;
import static dev.cinch.lease.wire.Fields.NAMES;
import static dev.cinch.lease.wire.Fields.TEXT;
import static dev.cinch.lease.wire.Fields.TIME;
import static dev.cinch.lease.wire.Fields.WITNESSES;
import static dev.cinch.lease.wire.Fields.an;
import static dev.cinch.lease.wire.Fields.list;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.OneLine;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Operations, and what became of them, as bodies: alone or in batches. */
public final class OperationCodec {
  private static final List<Class<? extends Operation>> KINDS =
      List.of(
          Operation.Acquire.class,
          Operation.Renew.class,
          Operation.Resume.class,
          Operation.Upgrade.class,
          Operation.Release.class,
          Operation.Revoke.class);

  /** What they are called as a path's last part, in a batch, and by metrics. */
  public static final List<String> VERBS =
      KINDS.stream().map(kind -> kind.getSimpleName().toLowerCase(Locale.ROOT)).toList();

  private OperationCodec() {}

  /** The place of an operation's name among {@link #VERBS}. */
  public static int kind(Operation operation) {
    return KINDS.indexOf(operation.getClass());
  }

  public static String verb(Operation operation) {
    return VERBS.get(kind(operation));
  }

  /** Whether leases may be lost without it. */
  public static boolean keeps(Operation operation) {
    return !(operation instanceof Operation.Acquire || operation instanceof Operation.Revoke);
  }

  /** Whether it may be part of a batch. */
  public static boolean isBatched(Operation operation) {
    return !(operation instanceof Operation.Revoke);
  }

  /**
   * Reads an operation.
   *
   * @param alone whether it is all of a request: then it may be any of {@link #VERBS}, and wait
   */
  public static Operation read(String verb, JsonFields in, boolean alone) throws WireException {
    Operation operation;
    try {
      operation =
          switch (verb) {
            case "acquire" -> Fields.<Operation.Acquire>readSome(f -> acquire(f, alone), in);
            case "renew" -> Fields.readSome(OperationCodec::renew, in);
            case "resume" -> Fields.readSome(OperationCodec::resume, in);
            case "upgrade" -> Fields.readSome(OperationCodec::upgrade, in);
            case "release" -> Fields.readSome(OperationCodec::release, in);
            default -> {
              if (!alone || !verb.equals("revoke")) {
                throw new WireException("no operation: \"" + OneLine.of(verb, 40) + "\"");
              }
              yield Fields.readSome(OperationCodec::revoke, in);
            }
          };
    } catch (IllegalArgumentException e) { // well-formed, and no request may have it
      in.noOthers();
      throw new WireException(Reason.INVALID.name(), String.valueOf(e.getMessage()));
    }
    in.noOthers();
    return operation;
  }

  public static ObjectNode write(Operation operation) {
    return write(operation, true);
  }

  private static ObjectNode write(Operation operation, boolean alone) {
    if (operation instanceof Operation.Acquire acquire) {
      return Fields.write(f -> acquire(f, alone), acquire);
    } else if (operation instanceof Operation.Renew renew) {
      return Fields.write(OperationCodec::renew, renew);
    } else if (operation instanceof Operation.Resume resume) {
      return Fields.write(OperationCodec::resume, resume);
    } else if (operation instanceof Operation.Upgrade upgrade) {
      return Fields.write(OperationCodec::upgrade, upgrade);
    } else if (operation instanceof Operation.Release release) {
      return Fields.write(OperationCodec::release, release);
    }
    return Fields.write(OperationCodec::revoke, (Operation.Revoke) operation);
  }

  /** In a batch nothing waits. */
  private static Operation.Acquire acquire(Fields<Operation.Acquire> f, boolean alone)
      throws WireException {
    return new Operation.Acquire(
        f.get("id", Operation.Acquire::id, ID),
        f.get("names", Operation.Acquire::names, NAMES),
        f.get("holder", Operation.Acquire::holder, TEXT),
        f.get("durationMs", Operation.Acquire::durationMs, INTEGER),
        f.get("logs", Operation.Acquire::logs, LOGS, LogSet.ALL),
        f.get("tentative", Operation.Acquire::tentative, FLAG, false),
        alone ? f.get("waitMs", Operation.Acquire::waitMs, INTEGER, 0L) : 0);
  }

  private static Operation.Renew renew(Fields<Operation.Renew> f) throws WireException {
    return new Operation.Renew(
        f.get("id", Operation.Renew::id, ID),
        f.get("durationMs", Operation.Renew::durationMs, INTEGER),
        f.get("addLogs", Operation.Renew::addLogs, LOGS, LogSet.NONE),
        f.get("report", Operation.Renew::report, an(OperationCodec::report), LeaseReport.NOTHING));
  }

  private static Operation.Resume resume(Fields<Operation.Resume> f) throws WireException {
    return new Operation.Resume(
        f.get("id", Operation.Resume::id, ID),
        f.get("witnesses", Operation.Resume::witnesses, WITNESSES),
        f.get("durationMs", Operation.Resume::durationMs, INTEGER));
  }

  private static Operation.Upgrade upgrade(Fields<Operation.Upgrade> f) throws WireException {
    return new Operation.Upgrade(
        f.get("id", Operation.Upgrade::id, ID),
        f.get("durationMs", Operation.Upgrade::durationMs, INTEGER));
  }

  private static Operation.Release release(Fields<Operation.Release> f) throws WireException {
    return new Operation.Release(
        f.get("id", Operation.Release::id, ID),
        f.get(
            "report", Operation.Release::report, an(OperationCodec::report), LeaseReport.NOTHING));
  }

  private static Operation.Revoke revoke(Fields<Operation.Revoke> f) throws WireException {
    return new Operation.Revoke(
        f.get("name", Operation.Revoke::name, NAME),
        f.get("reason", Operation.Revoke::reason, TEXT),
        f.find("correlation", Operation.Revoke::correlation, ID));
  }

  private static LeaseReport report(Fields<LeaseReport> f) throws WireException {
    return new LeaseReport(
        f.findLong("watermark", LeaseReport::watermark, TIME),
        f.get("fenced", LeaseReport::fenced, FLAG, false),
        f.get("metadata", LeaseReport::metadata, list(LeaseDocuments::metadata), List.of()),
        f.findLong("instance", LeaseReport::instance, INTEGER));
  }

  /** What the only operation of a request came to, where it was not refused. */
  public static Outcome readOutcome(Operation of, JsonFields in) throws WireException {
    if (of instanceof Operation.Release) {
      in.noOthers();
      return Outcome.RELEASED;
    }
    if (of instanceof Operation.Revoke) {
      return Fields.read(LeaseDocuments::revoked, in);
    }
    return new Outcome.Granted(Fields.read(LeaseDocuments::grant, in));
  }

  /** The answer to a request for one operation. */
  public static Answer answer(Outcome outcome) {
    if (outcome instanceof Outcome.Refused refused) {
      return Answer.refusal(refused.refusal());
    } else if (outcome instanceof Outcome.Granted granted) {
      return Answer.ok(Fields.write(LeaseDocuments::grant, granted.grant()));
    } else if (outcome instanceof Outcome.Revoked revoked) {
      return Answer.ok(LeaseDocuments.json(revoked));
    }
    return Answer.ok(LeaseDocuments.object());
  }

  /** A batch: several operations, each an object with its verb as the only field. */
  public static List<Operation> readBatch(JsonFields in) throws WireException {
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
  public static ObjectNode writeBatch(List<Operation> operations) {
    ObjectNode out = LeaseDocuments.object();
    ArrayNode all = out.putArray("operations");
    for (Operation each : operations) {
      all.addObject().set(verb(each), write(each, false));
    }
    return out;
  }

  /** What became of a batch. */
  public static List<Outcome> readOutcomes(JsonFields in) throws WireException {
    var found = new ArrayList<Outcome>();
    for (JsonFields each : in.objects("outcomes")) {
      String only = each.only();
      JsonFields body = each.object(only);
      switch (only) {
        case "grant" -> found.add(new Outcome.Granted(Fields.read(LeaseDocuments::grant, body)));
        case "released" -> {
          body.noOthers();
          found.add(Outcome.RELEASED);
        }
        case "refused" -> {
          LeaseDocuments.Failure failure = Fields.read(LeaseDocuments::failure, body);
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

  public static ObjectNode writeOutcomes(List<Outcome> outcomes) {
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
  public static boolean isOf(Operation operation, Outcome outcome) {
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
