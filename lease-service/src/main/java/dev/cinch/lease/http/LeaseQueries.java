package dev.cinch.lease.http;

import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.access.Caller;
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

  private final LeaseService service;
  private final ServerMetrics metrics;

  /**
   * @param metrics whose clock says when those who wait have come
   */
  LeaseQueries(LeaseService service, ServerMetrics metrics) {
    this.service = service;
    this.metrics = metrics;
  }

  Answer show(
      LeaseName name,
      @Nullable String query,
      Caller caller,
      Map<LeaseName, List<WaitingRoom.Request>> waiting)
      throws WireException, LeaseUnavailableException {
    Map<String, String> given = parameters(query);
    boolean detailed = detailed(given.remove(DETAIL));
    noOthers(given);
    Optional<Answer> refusal = Routes.mayObserve(caller, name.value());
    if (refusal.isPresent()) {
      return refusal.get();
    }
    Optional<LeaseInfo> found = service.show(name);
    if (found.isEmpty()) {
      return Answer.error(404, Answer.UNKNOWN_NAME, "no lease on " + name + " is known");
    }
    return Answer.ok(
        detailed
            ? LeaseDocuments.detail(detail(found.get(), waiting, service.now(), SHOWN_WAITERS))
            : LeaseDocuments.info(found.get()));
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

  Answer list(
      @Nullable String query, Caller caller, Map<LeaseName, List<WaitingRoom.Request>> waiting)
      throws WireException, LeaseUnavailableException {
    Map<String, String> given = parameters(query);
    boolean detailed = detailed(given.remove(DETAIL));
    @Nullable String prefix = given.remove("prefix");
    @Nullable String after = given.remove("after");
    @Nullable String limit = given.remove("limit");
    noOthers(given);
    int most = limit == null ? DEFAULT_LIMIT : limit(limit, MAX_LIMIT);
    Optional<LeaseName> above =
        after == null || after.isEmpty() ? Optional.empty() : Optional.of(WireReader.name(after));
    String beginning = prefix == null ? "" : prefix;
    Optional<Answer> refusal = Routes.mayObserve(caller, beginning);
    if (refusal.isPresent()) {
      return refusal.get();
    }
    List<LeaseInfo> found = service.list(beginning, above, most);
    if (!detailed) {
      return Answer.ok(LeaseDocuments.infos(found, LeaseDocuments::info));
    }
    long now = service.now();
    return Answer.ok(
        LeaseDocuments.infos(
            found, i -> LeaseDocuments.detail(detail(i, waiting, now, LISTED_WAITERS))));
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
