package dev.cinch.lease.server;

import com.fasterxml.jackson.databind.JsonNode;
import dev.cinch.lease.IsoTime;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.ServiceCounts;
import dev.cinch.lease.wire.Health;
import dev.cinch.lease.wire.OperationCodec;
import io.prometheus.metrics.config.EscapingScheme;
import io.prometheus.metrics.core.datapoints.CounterDataPoint;
import io.prometheus.metrics.core.datapoints.DistributionDataPoint;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.CounterSnapshot.CounterDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot.GaugeDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * What a server has been asked for and how that ended, since it started, for {@code GET /metrics}.
 * Counting allocates nothing. Thread-safe.
 */
final class ServerMetrics {
  /** What {@link #text} returns. */
  static final String CONTENT_TYPE = PrometheusTextFormatWriter.CONTENT_TYPE;

  /** Upper ends of a histogram's buckets, seconds. */
  private static final double[] BUCKETS = {
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10
  };

  private static final double[] WAITS = {0.01, 0.1, 1, 5, 10, 30, 60, 300};
  private static final int KINDS = OperationCodec.VERBS.size();

  /** Acquires that may wait in a queue: how long these take says nothing of the server. */
  private static final int QUEUED = KINDS;

  private static final int DONE = Reason.values().length;
  private static final int UNAVAILABLE = DONE + 1;
  private static final double NANOS_PER_SECOND = 1e9;

  private final LongSupplier clock;
  private final Counter operations =
      Counter.builder()
          .name("cinch_operations_total")
          .help("Operations on leases by kind and by what became of them.")
          .labelNames("operation", "outcome")
          .withoutExemplars()
          .build();
  private final Histogram seconds =
      Histogram.builder()
          .name("cinch_operation_seconds")
          .help("From when an operation was read to when its answer was known.")
          .labelNames("operation")
          .classicOnly()
          .classicUpperBounds(BUCKETS)
          .withoutExemplars()
          .build();
  private final Histogram waits =
      Histogram.builder()
          .name("cinch_wait_seconds")
          .help("How long acquires waited for leases which others had, whatever became of them.")
          .classicOnly()
          .classicUpperBounds(WAITS)
          .withoutExemplars()
          .build();
  private final Counter witnesses =
      counter("cinch_witnesses_total", "Signed witnesses that were answered.");
  private final Counter overloaded =
      counter("cinch_overloaded_total", "Requests that no worker had room for.");

  /** By kind and end; looked up once, since a look-up allocates. */
  private final CounterDataPoint[][] ends = new CounterDataPoint[KINDS][UNAVAILABLE + 1];

  private final DistributionDataPoint[] took = new DistributionDataPoint[KINDS + 1];

  /**
   * @param clock monotonic, nanoseconds
   */
  ServerMetrics(LongSupplier clock) {
    this.clock = clock;
    for (int kind = 0; kind < KINDS; kind++) {
      String verb = OperationCodec.VERBS.get(kind);
      for (Reason reason : Reason.values()) {
        ends[kind][reason.ordinal()] = operations.labelValues(verb, reason.name());
      }
      ends[kind][DONE] = operations.labelValues(verb, "DONE");
      ends[kind][UNAVAILABLE] = operations.labelValues(verb, "UNAVAILABLE");
      took[kind] = seconds.labelValues(verb);
    }
    took[QUEUED] = seconds.labelValues("acquire_queued");
  }

  private static Counter counter(String name, String help) {
    return Counter.builder().name(name).help(help).withoutExemplars().build();
  }

  /** When something began, for {@link #ended}. */
  long now() {
    return clock.getAsLong();
  }

  /** It is known what became of a request's operations. */
  void ended(Routes.Asked asked, List<Outcome> outcomes) {
    for (int i = 0; i < outcomes.size(); i++) {
      count(asked, i, end(outcomes.get(i)));
    }
  }

  /** It is not known what became of any of them. */
  void unavailable(Routes.Asked asked) {
    for (int i = 0; i < asked.operations().size(); i++) {
      count(asked, i, UNAVAILABLE);
    }
  }

  /** An acquire is answered that waited for leases. */
  void waited(Routes.Asked asked) {
    waits.observe((clock.getAsLong() - asked.since()) / NANOS_PER_SECOND);
  }

  /** A request was turned away, since too many wait. */
  void turnedAway() {
    overloaded.inc();
  }

  private void count(Routes.Asked asked, int index, int end) {
    Operation operation = asked.operations().get(index);
    int kind = OperationCodec.kind(operation);
    ends[kind][end].inc();
    took[asked.waits() ? QUEUED : kind].observe(
        (clock.getAsLong() - asked.since()) / NANOS_PER_SECOND);
  }

  private int end(Outcome outcome) {
    if (outcome instanceof Outcome.Refused refused) {
      return refused.refusal().reason().ordinal();
    }
    if (outcome instanceof Outcome.Granted granted) {
      witnesses.inc(granted.grant().witnesses().size());
    }
    return DONE;
  }

  /**
   * What is looked at when somebody asks.
   *
   * @param waiting acquires that wait
   * @param names that they wait for
   * @param expired leases, since the start
   */
  record Now(int waiting, int names, long expired, ServiceCounts counts) {}

  /**
   * All of it, in Prometheus' text format.
   *
   * @param cell what {@code GET /v1/cell} says of this node of a cell; empty if it is none, or does
   *     not say
   */
  byte[] text(Health health, Now now, Optional<? extends JsonNode> cell) {
    var all = new ArrayList<MetricSnapshot>();
    all.add(operations.collect());
    all.add(seconds.collect());
    all.add(witnesses.collect());
    all.add(overloaded.collect());
    all.add(waits.collect());
    all.add(
        counter(
            "cinch_leases_expired",
            "Leases whose time was over and that nobody gave back.",
            now.expired()));
    now.counts()
        .held()
        .ifPresent(
            n -> all.add(gauge("cinch_leases_held", "Leases held, tentative or revoked.", n)));
    now.counts()
        .signatures()
        .ifPresent(
            n ->
                all.add(
                    counter("cinch_signatures", "Signatures made, of one witness or several.", n)));
    boolean grants = health.obstacle().isEmpty();
    all.add(gauge("cinch_granting", "1 if the server grants leases, 0 if not.", grants ? 1 : 0));
    health
        .instance()
        .ifPresent(n -> all.add(gauge("cinch_instance", "The number of its instance.", n)));
    all.add(
        gauge("cinch_waiting", "Acquires that wait for leases which others have.", now.waiting()));
    all.add(gauge("cinch_waiting_names", "Names that acquires wait for.", now.names()));
    cell.ifPresent(node -> addCell(all, node));
    var out = new ByteArrayOutputStream();
    try {
      PrometheusTextFormatWriter.create()
          .write(out, new MetricSnapshots(all), EscapingScheme.UNDERSCORE_ESCAPING);
    } catch (IOException e) {
      throw new UncheckedIOException(e); // memory does not fail
    }
    return out.toByteArray();
  }

  private static CounterSnapshot counter(String name, String help, long value) {
    return CounterSnapshot.builder()
        .name(name)
        .help(help)
        .dataPoint(CounterDataPointSnapshot.builder().value(value).build())
        .build();
  }

  private static GaugeSnapshot gauge(String name, String help, double value) {
    return gauges(name, help, List.of(point(Labels.EMPTY, value)));
  }

  private static GaugeSnapshot gauges(
      String name, String help, List<GaugeDataPointSnapshot> points) {
    GaugeSnapshot.Builder made = GaugeSnapshot.builder().name(name).help(help);
    points.forEach(made::dataPoint);
    return made.build();
  }

  private static GaugeDataPointSnapshot point(Labels labels, double value) {
    return GaugeDataPointSnapshot.builder().labels(labels).value(value).build();
  }

  /** Those with names that are values of one label, in the same order as the values. */
  private static CounterSnapshot counters(
      String name, String help, JsonNode values, String... names) {
    CounterSnapshot.Builder made = CounterSnapshot.builder().name(name).help(help);
    for (String each : names) {
      Labels labels = names.length == 1 ? Labels.EMPTY : Labels.of("reason", each);
      made.dataPoint(
          CounterDataPointSnapshot.builder()
              .labels(labels)
              .value(values.path(each).asLong())
              .build());
    }
    return made.build();
  }

  private static void addCell(List<MetricSnapshot> all, JsonNode node) {
    boolean votes = !node.path("quarantined").asBoolean();
    double until = IsoTime.nanos(node.path("quarantinedUntil").asText()) / NANOS_PER_SECOND;
    all.add(gauge("cinch_cell_voting", "1 if it votes, 0 in quarantine.", votes ? 1 : 0));
    all.add(gauge("cinch_cell_quarantined_until_seconds", "When that ends, Unix time.", until));
    for (String name : List.of("boot", "rows", "names", "attempts", "answering")) {
      if (node.has(name)) {
        String help = "\"" + name + "\" of GET /v1/cell.";
        all.add(gauge("cinch_cell_" + name, help, node.path(name).asLong()));
      }
    }
    if (node.has("ballots")) {
      all.add(counters("cinch_cell_ballots", "Ballots that it gave.", node, "ballots"));
    }
    all.add(counters("cinch_cell_faults", "Faults of its own code.", node, "faults"));
    JsonNode traffic = node.path("traffic");
    String datagrams = "cinch_cell_datagrams_";
    all.add(counters(datagrams + "sent", "To other nodes.", traffic, "datagramsSent"));
    all.add(
        counters(
            datagrams + "received",
            "That came, with those that were dropped.",
            traffic,
            "datagramsReceived"));
    all.add(counters(datagrams + "not_sent", "What the network did not take.", traffic, "notSent"));
    all.add(
        counters(
            datagrams + "dropped",
            "Dropped, by why.",
            traffic,
            "malformed",
            "otherVersion",
            "notForThisNode",
            "unknownSender",
            "wrongKey"));
    all.add(peers(node, "heard", "How long ago it was heard last.", "heardAgoMs"));
    all.add(
        peers(
            node,
            "clock_ahead",
            "By how much its clock is ahead of this one's; with Flease alone.",
            "clockAheadMs"));
  }

  private static GaugeSnapshot peers(JsonNode node, String what, String help, String field) {
    var points = new ArrayList<GaugeDataPointSnapshot>();
    for (JsonNode peer : node.path("peers")) {
      if (peer.has(field)) {
        Labels labels = Labels.of("node", peer.path("node").asText());
        points.add(point(labels, peer.path(field).asLong() / 1e3));
      }
    }
    return gauges("cinch_cell_peer_" + what + "_seconds", help, points);
  }
}
