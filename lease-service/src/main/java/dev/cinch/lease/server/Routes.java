package dev.cinch.lease.server;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.lease.LeaseHost;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.Revocation;
import dev.cinch.lease.ServiceInfo;
import dev.cinch.lease.access.Caller;
import dev.cinch.lease.access.Permission.Right;
import dev.cinch.lease.wire.Answer;
import dev.cinch.lease.wire.Fields;
import dev.cinch.lease.wire.Health;
import dev.cinch.lease.wire.JsonFields;
import dev.cinch.lease.wire.LeaseDocuments;
import dev.cinch.lease.wire.OperationCodec;
import dev.cinch.lease.wire.WireException;
import java.net.URLDecoder;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which request means which call, without any network. Thread-safe; {@link #answer} may block as
 * long as the service does.
 */
public final class Routes {
  private static final String LEASES = "/v1/leases";
  private static final String BATCH = "batch";
  private static final String SHARDS = "/v1/shards";
  static final String CELL = "/v1/cell";
  static final String METRICS = "/metrics";
  private static final String HEALTHZ = "/healthz";
  private static final String READYZ = "/readyz";

  /** What a path that is read takes; Jetty leaves the body of an answer to HEAD out. */
  static final String GET = "GET, HEAD";

  private static final int RETRY_MS = 1_000;

  /** Renewals and acquires of a few names have less. */
  private static final int LARGE_BODY_BYTES = 16 << 10;

  private static final Logger log = LoggerFactory.getLogger(Routes.class);

  private final LeaseHost service;
  private final Supplier<ServiceInfo> info;
  private final Supplier<Health> health;
  private final @Nullable Supplier<Optional<ObjectNode>> cell;
  private final ServerMetrics metrics;
  private final LeaseQueries queries;
  private final Revision revision;
  private final Trail trail;
  private final Lately lately;

  /**
   * @param health asked on a thread that must not wait
   * @param cell how the node of a cell is; null if it is none
   * @param wall the machine's clock, for the trail; nanoseconds since the Unix epoch
   */
  Routes(
      LeaseHost service,
      Supplier<ServiceInfo> info,
      Supplier<Health> health,
      @Nullable Supplier<Optional<ObjectNode>> cell,
      ServerMetrics metrics,
      LongSupplier wall) {
    this.metrics = metrics;
    revision = new Revision(metrics::now);
    lately = new Lately(service, metrics::now);
    trail = new Trail(wall, lately);
    this.service = service;
    this.info = info;
    this.health = health;
    this.cell = cell;
    queries = new LeaseQueries(service, metrics, revision);
  }

  /**
   * Carries out a request; throws nothing.
   *
   * @param path as sent, still encoded
   * @param query as sent, null if there is none
   * @param caller who has sent it
   */
  Answer answer(String method, String path, @Nullable String query, byte[] body, Caller caller) {
    return answer(method, path, query, body, caller, LeaseQueries.View.NOTHING);
  }

  /**
   * Likewise.
   *
   * @param view what the answer may have beside what the service says
   */
  Answer answer(
      String method,
      String path,
      @Nullable String query,
      byte[] body,
      Caller caller,
      LeaseQueries.View view) {
    try {
      return route(method, path, query, body, caller, view);
    } catch (WireException e) {
      return malformed(e);
    } catch (LeaseUnavailableException e) {
      return unavailable(e);
    } catch (RuntimeException e) {
      return failed(method, path, e);
    }
  }

  LeaseHost service() {
    return service;
  }

  Revision revision() {
    return revision;
  }

  Trail trail() {
    return trail;
  }

  static Answer unavailable(LeaseUnavailableException e) {
    if (e.getCause() instanceof LeaseRefusedException refused) {
      return Answer.refusal(refused); // too few of its machines answer, say
    }
    return Answer.error(502, Answer.UNAVAILABLE, String.valueOf(e.getMessage()), 1_000);
  }

  static Answer malformed(WireException e) {
    return Answer.error(400, e.error(), String.valueOf(e.getMessage()));
  }

  static Answer failed(String method, String path, Throwable e) {
    log.error("{} {} failed", method, path, e);
    return Answer.error(500, Answer.INTERNAL, "the lease service failed; see its log");
  }

  /** Why a caller may not see leases whose names begin so; empty if it may. */
  static Optional<Answer> mayObserve(Caller caller, String beginning) {
    return caller.refusal(Right.OBSERVE, beginning).map(Answer::refusal);
  }

  /** Whether a request waits for nothing: answered while all workers do. */
  static boolean isHealth(String path) {
    return path.equals(HEALTHZ) || path.equals(READYZ);
  }

  private Answer healthz() {
    return Answer.ok(Fields.write(LeaseDocuments::health, health.get()));
  }

  private Answer readyz() {
    return health
        .get()
        .obstacle()
        .map(
            e ->
                Answer.error(
                    503, e.reason().name(), String.valueOf(e.getMessage()), e.retryAfterMs()))
        .orElseGet(() -> Answer.ok(Fields.write(LeaseDocuments::ready, true)));
  }

  /**
   * Operations that a request asks for.
   *
   * @param operations those that its sender has a right to
   * @param refused the others, by their places among all
   * @param batch whether they came as a batch, and are answered as one
   * @param since when it was read, by the clock of the metrics
   */
  record Asked(
      List<Operation> operations,
      SortedMap<Integer, Outcome> refused,
      boolean batch,
      Caller caller,
      long since) {
    /** What became of all, in their order. */
    List<Outcome> whole(List<Outcome> permitted) {
      if (refused.isEmpty()) {
        return permitted;
      }
      var all = new ArrayList<>(permitted);
      refused.forEach(all::add);
      return all;
    }

    /** Whether it may wait while others have the leases. */
    boolean waits() {
      return operations.size() == 1
          && operations.get(0) instanceof Operation.Acquire acquire
          && acquire.waitMs() > 0;
    }

    /** Who is to carry them out where they have to wait. */
    Workers.Lane lane() {
      return operations.stream().allMatch(OperationCodec::keeps)
          ? Workers.Lane.HOLDERS
          : Workers.Lane.OTHERS;
    }
  }

  /** Who is to carry out a request that can't be carried out at once. */
  static Workers.Lane lane(String path, int bodyBytes) {
    return isLarge(bodyBytes) || path.equals(LEASES) ? Workers.Lane.LARGE : Workers.Lane.OTHERS;
  }

  /**
   * Whether reading a body takes so long that the thread which reads all connections should not.
   */
  static boolean isLarge(int bodyBytes) {
    return bodyBytes > LARGE_BODY_BYTES;
  }

  /**
   * The operations that a request asks for; empty for one of another kind.
   *
   * @throws WireException if it is malformed
   */
  Optional<Asked> asked(
      String method, String path, @Nullable String query, byte[] body, Caller caller)
      throws WireException {
    if (!method.equals("POST") || !path.startsWith(LEASES + "/")) {
      return Optional.empty();
    }
    String what = path.substring(LEASES.length() + 1);
    boolean batch = what.equals(BATCH);
    if (!batch && !OperationCodec.VERBS.contains(what)) {
      return Optional.empty();
    }
    noQuery(query);
    long since = metrics.now();
    JsonFields fields = JsonFields.parse(body);
    List<Operation> operations =
        batch ? OperationCodec.readBatch(fields) : List.of(OperationCodec.read(what, fields, true));
    operations = operations.stream().map(o -> o.within(caller.scope())).toList();
    return Optional.of(permitted(operations, batch, caller, since));
  }

  private Asked permitted(List<Operation> all, boolean batch, Caller caller, long since) {
    var refused = new TreeMap<Integer, Outcome>();
    for (int i = 0; i < all.size(); i++) {
      Optional<LeaseRefusedException> refusal = caller.refusal(all.get(i));
      if (refusal.isPresent()) {
        refused.put(i, new Outcome.Refused(refusal.get()));
        trail.refused(all.get(i), refusal.get(), caller);
      }
    }
    List<Operation> rest = all;
    if (!refused.isEmpty()) {
      rest = new ArrayList<>(all);
      for (int place : refused.descendingKeySet()) {
        Operation unused = rest.remove(place);
      }
    }
    return new Asked(rest, refused, batch, caller, since);
  }

  /** The answer to what was asked for, once it is known what became of each operation. */
  Answer answer(Asked asked, List<Outcome> permitted) {
    metrics.ended(asked, permitted);
    trail.told(asked, permitted);
    List<Outcome> outcomes = asked.whole(permitted);
    tell(asked, outcomes);
    return asked.batch()
        ? Answer.ok(OperationCodec.writeOutcomes(outcomes))
        : OperationCodec.answer(outcomes.get(0));
  }

  /** Logs whose leases were revoked, and by whom. */
  private static void tell(Asked asked, List<Outcome> outcomes) {
    if (!outcomes.isEmpty()
        && outcomes.get(0) instanceof Outcome.Revoked revoked) { // never one of several
      Revocation r = revoked.revocation();
      log.warn("{} of \"{}\" revoked by {}: {}", r.name(), r.holder(), asked.caller(), r.reason());
    } else if (!asked.refused().isEmpty()) {
      log.debug("refused to {}: {}", asked.caller(), asked.refused().values());
    }
  }

  /** Carries out what is asked for, and answers it; may wait. */
  Answer carryOut(Asked asked) {
    try {
      return answer(asked, service.carryOut(asked.operations()));
    } catch (LeaseUnavailableException | RuntimeException e) {
      return unanswered(asked, e);
    }
  }

  /** The answer where it is not known what became of the operations. */
  Answer unanswered(Asked asked, Throwable why) {
    metrics.unavailable(asked);
    return unanswered(why);
  }

  /** Likewise, of an operation that is tried again and again. */
  static Answer unanswered(Throwable why) {
    return why instanceof LeaseUnavailableException unavailable
        ? unavailable(unavailable)
        : failed("POST", LEASES, why);
  }

  private Answer route(
      String method,
      String path,
      @Nullable String query,
      byte[] body,
      Caller caller,
      LeaseQueries.View view)
      throws WireException, LeaseUnavailableException {
    Optional<Asked> asked = asked(method, path, query, body, caller);
    if (asked.isPresent()) {
      return carryOut(asked.get());
    }
    if (method.equals("GET")) {
      if (path.equals("/v1/time")) {
        noQuery(query);
        return Answer.ok(Fields.write(LeaseDocuments::now, service.now()));
      }
      if (path.equals(HEALTHZ)) {
        return healthz();
      }
      if (path.equals(READYZ)) {
        return readyz();
      }
      if (path.equals("/v1/service")) {
        noQuery(query);
        return Answer.ok(Fields.write(LeaseDocuments::service, info.get()));
      }
      if (path.equals(SHARDS)) {
        noQuery(query);
        return Answer.ok(Fields.write(LeaseDocuments::shards, service.shards()));
      }
      if (path.equals(CELL) && cell != null) {
        noQuery(query);
        return cell(cell);
      }
      if (path.equals(Lately.PATH)) {
        return lately.answer(query, caller, view.waits(), view.known());
      }
      if (path.equals(LEASES)) {
        return queries.list(query, caller, view);
      }
      if (path.startsWith(LEASES + "/")) {
        LeaseName name = Fields.name(decoded(path.substring(LEASES.length() + 1)));
        return queries.show(name, query, caller, view);
      }
    }
    return elsewhere(method, path);
  }

  private static void noQuery(@Nullable String query) throws WireException {
    if (query != null && !query.isEmpty()) {
      throw new WireException("this path takes no parameters");
    }
  }

  static String decoded(String text) throws WireException {
    try {
      // A plus sign stands for itself here: only forms make a blank of it. As Latin-1 each escape
      // stays the byte that it is: the decoder would put something for what is not UTF-8.
      String bytes = URLDecoder.decode(text.replace("+", "%2B"), ISO_8859_1);
      return UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes.getBytes(ISO_8859_1))).toString();
    } catch (IllegalArgumentException | CharacterCodingException e) {
      throw new WireException("not percent-encoded UTF-8: " + text);
    }
  }

  /** How the server is, in numbers; may wait for the node of a cell. */
  byte[] metrics(int waiting, int names) {
    var now = new ServerMetrics.Now(waiting, names, trail.expired(), service.counts());
    return metrics.text(health.get(), now, cell == null ? Optional.empty() : cell.get());
  }

  private static Answer cell(Supplier<Optional<ObjectNode>> cell) {
    return cell.get()
        .map(Answer::ok)
        .orElseGet(
            () ->
                Answer.error(
                    503,
                    LeaseRefusedException.Reason.NOT_YET.name(),
                    "the cell's node is starting, or does not answer",
                    RETRY_MS));
  }

  private Answer elsewhere(String method, String path) {
    String allowed = "";
    if (path.equals("/v1/time")
        || path.equals("/v1/service")
        || path.equals(SHARDS)
        || path.equals(LEASES)
        || path.equals(METRICS)
        || path.equals(Lately.PATH)
        || (path.equals(CELL) && cell != null)
        || isHealth(path)) {
      allowed = GET;
    } else if (path.startsWith(LEASES + "/")) {
      String what = path.substring(LEASES.length() + 1);
      boolean posted = what.equals(BATCH) || OperationCodec.VERBS.contains(what);
      allowed = posted ? GET + ", POST" : GET; // a lease may be named so
    }
    return allowed.isEmpty()
        ? Answer.error(404, Answer.NO_SUCH_PATH, "no such path: " + path)
        : Answer.otherMethod(path, method, allowed);
  }
}
