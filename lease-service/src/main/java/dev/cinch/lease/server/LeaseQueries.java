package dev.cinch.lease.server;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.lease.LeaseHost;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.access.Caller;
import dev.cinch.lease.wire.Answer;
import dev.cinch.lease.wire.Fields;
import dev.cinch.lease.wire.LeaseDetail;
import dev.cinch.lease.wire.LeaseDocuments;
import dev.cinch.lease.wire.WireException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * Answers what is asked about leases that are there. Thread-safe; may block as the service does.
 */
final class LeaseQueries {
  private static final String DETAIL = "detail";
  private static final int DEFAULT_LIMIT = 100;
  private static final int MAX_LIMIT = 10_000;

  /** Of those who wait for a name, a listing and a show have at most so many. */
  private static final int LISTED_WAITERS = 10;

  private static final int SHOWN_WAITERS = 1_000;

  private final LeaseHost service;
  private final ServerMetrics metrics;
  private final Revision revision;

  /**
   * What a request is answered with, beside the service.
   *
   * @param waiting those who wait for leases, where that may be asked for
   * @param waits how many wait
   * @param at what {@link Revision#now} was
   * @param known the tag of an answer that its reader has; null if it has none
   */
  record View(
      Map<LeaseName, List<WaitingRoom.Request>> waiting,
      int waits,
      long at,
      @Nullable String known) {
    static final View NOTHING = new View(Map.of(), 0, 0, null);
  }

  /**
   * @param metrics whose clock says when those who wait have come
   */
  LeaseQueries(LeaseHost service, ServerMetrics metrics, Revision revision) {
    this.service = service;
    this.metrics = metrics;
    this.revision = revision;
  }

  Answer show(LeaseName name, @Nullable String query, Caller caller, View view)
      throws WireException, LeaseUnavailableException {
    Map<String, String> given = parameters(query);
    boolean detailed = detailed(given.remove(DETAIL));
    noOthers(given);
    Optional<Answer> refusal = Routes.mayObserve(caller, name.value());
    if (refusal.isPresent()) {
      return refusal.get();
    }
    if (isKnown(view)) {
      return Answer.unchanged(String.valueOf(view.known()));
    }
    Optional<LeaseInfo> found = service.show(name);
    if (found.isEmpty()) {
      return Answer.error(404, Answer.UNKNOWN_NAME, "no lease on " + name + " is known");
    }
    long now = detailed || found.get().state().isHeld() ? service.now() : 0;
    return tagged(
        detailed
            ? LeaseDocuments.json(detail(found.get(), view.waiting(), now, SHOWN_WAITERS))
            : LeaseDocuments.json(found.get()),
        List.of(found.get()),
        now,
        view);
  }

  private boolean isKnown(View view) {
    return revision.isPresent(view.known()) && service.hears();
  }

  /** With a tag, if whatever changes it is heard of. */
  private Answer tagged(ObjectNode body, List<LeaseInfo> leases, long now, View view) {
    Answer answer = Answer.ok(body);
    if (!service.hears()) {
      return answer;
    }
    long left = Revision.LONGEST;
    for (LeaseInfo each : leases) {
      left = each.state().isHeld() ? Math.min(left, each.witness().expiry() - now) : left;
    }
    return answer.tagged(revision.tag(view.at(), left));
  }

  /** Whether those who wait are asked for, or so it seems. */
  static boolean isDetailed(@Nullable String query) {
    return query != null && query.contains(DETAIL);
  }

  private static boolean detailed(@Nullable String text) throws WireException {
    if (text != null && !text.equals("true") && !text.equals("false")) {
      throw new WireException("\"" + DETAIL + "\" is true or false");
    }
    return "true".equals(text);
  }

  /** Who waits came so long ago by the clock of the metrics; the answer has the service's. */
  private LeaseDetail detail(
      LeaseInfo info, Map<LeaseName, List<WaitingRoom.Request>> waiting, long now, int most) {
    List<WaitingRoom.Request> all = waiting.getOrDefault(info.witness().name(), List.of());
    long age = metrics.now();
    List<LeaseDetail.Waiter> first =
        all.stream()
            .limit(most)
            .map(w -> new LeaseDetail.Waiter(w.holder(), now - (age - w.since())))
            .toList();
    return new LeaseDetail(info, first, OptionalInt.of(all.size()));
  }

  Answer list(@Nullable String query, Caller caller, View view)
      throws WireException, LeaseUnavailableException {
    Map<String, String> given = parameters(query);
    boolean detailed = detailed(given.remove(DETAIL));
    @Nullable String prefix = given.remove("prefix");
    @Nullable String after = given.remove("after");
    @Nullable String limit = given.remove("limit");
    noOthers(given);
    int most = limit == null ? DEFAULT_LIMIT : limit(limit, MAX_LIMIT);
    Optional<LeaseName> above =
        after == null || after.isEmpty() ? Optional.empty() : Optional.of(Fields.name(after));
    String beginning = prefix == null ? "" : prefix;
    Optional<Answer> refusal = Routes.mayObserve(caller, beginning);
    if (refusal.isPresent()) {
      return refusal.get();
    }
    if (isKnown(view)) {
      return Answer.unchanged(String.valueOf(view.known()));
    }
    List<LeaseInfo> found = service.list(beginning, above, most);
    boolean anyHeld = found.stream().anyMatch(info -> info.state().isHeld());
    long now = detailed || anyHeld ? service.now() : 0;
    ObjectNode body =
        detailed
            ? Fields.write(
                LeaseDocuments::details,
                found.stream().map(i -> detail(i, view.waiting(), now, LISTED_WAITERS)).toList())
            : Fields.write(LeaseDocuments::infos, found);
    return tagged(body, found, now, view);
  }

  static void noOthers(Map<String, String> given) throws WireException {
    if (!given.isEmpty()) {
      throw new WireException("unknown parameter \"" + given.keySet().iterator().next() + "\"");
    }
  }

  static int limit(String text, int most) throws WireException {
    try {
      int limit = Integer.parseInt(text);
      if (limit >= 1 && limit <= most) {
        return limit;
      }
    } catch (NumberFormatException e) {
      // Falls through to the one message.
    }
    throw new WireException("\"limit\" is not a number from 1 to " + most);
  }

  static Map<String, String> parameters(@Nullable String query) throws WireException {
    var found = new HashMap<String, String>();
    if (query == null || query.isEmpty()) {
      return found;
    }
    for (String part : query.split("&", -1)) {
      int equals = part.indexOf('=');
      String name = Routes.decoded(equals < 0 ? part : part.substring(0, equals));
      String value = equals < 0 ? "" : Routes.decoded(part.substring(equals + 1));
      if (found.put(name, value) != null) {
        throw new WireException("the parameter \"" + name + "\" is given twice");
      }
    }
    return found;
  }
}
