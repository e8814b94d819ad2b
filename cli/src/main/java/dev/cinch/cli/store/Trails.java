package dev.cinch.cli.store;

import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.databind.JsonNode;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.audit.LeaseUse;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.JsonLines;
import dev.cinch.lease.Id;
import dev.cinch.lease.IsoTime;
import dev.cinch.lease.JsonTree;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;

/**
 * What lease servers wrote down of the leases that a store's messages were written under. Takes the
 * memory of these leases, and not of all that the files have. Not thread-safe.
 */
@CheckReturnValue
final class Trails {
  private static final JsonTree JSON = JsonTree.of(new JsonFactoryBuilder(), false);

  /** Lines of two seconds may be out of order, and one tells of a second what was left out. */
  private static final long DISORDER = 2_000_000_000L;

  private static final Set<String> BEGINS = Set.of("granted", "resumed");
  private static final Set<String> ENDS = Set.of("released", "expired");

  /** What a line says of a lease. */
  record Step(String event, long at, String holder, String by, String from) {
    private static Step of(JsonNode line) {
      return new Step(
          line.path("event").asText(),
          nanos(line),
          line.path("holder").asText(),
          line.path("by").asText(),
          line.path("from").asText());
    }

    /** Who asked for it, and from where; empty if that is not known. */
    String asked() {
      return (by.isEmpty() ? "" : " by " + by) + (from.isEmpty() ? "" : " from " + from);
    }

    private String text() {
      String to = BEGINS.contains(event) ? " to \"" + holder + "\"" : "";
      return event + to + " at " + IsoTime.text(at) + asked();
    }
  }

  /** Something that a trail and the store do not agree about. */
  record Finding(LeaseUse use, boolean ungranted, String problem) {
    String text() {
      return Failure.oneLine(
          "finding: %s at byte %d: %s".formatted(use.path(), use.offset(), problem));
    }

    void write(JsonLines line) throws IOException {
      line.text("type", "finding")
          .text("finding", ungranted ? "UNGRANTED" : "AFTER_END")
          .text("name", use.name().value())
          .text("correlation", use.correlation().toString())
          .text("path", use.path().toString())
          .number("offset", use.offset())
          .text("problem", problem);
    }
  }

  /** Times of which a file has all grants. */
  private static final class Stretch {
    private long from = Long.MAX_VALUE;
    private long to = Long.MIN_VALUE;

    /** Whether all that there was is written. */
    private boolean stopped;

    void add(long at) {
      from = Math.min(from, at);
      to = Math.max(to, at);
    }

    boolean has(long at) {
      return at >= from && at <= (stopped ? to : to - DISORDER);
    }
  }

  private final String store;
  private final Set<Id> wanted;
  private final Consumer<String> note;
  private final Map<Id, List<Step>> steps = new HashMap<>();
  private final List<Stretch> stretches = new ArrayList<>();
  private final Stretch all = new Stretch();
  private long lines;
  private long leftOut;

  /**
   * @param store the id of the store
   * @param wanted correlations of leases
   * @param note told what was passed over, one line each
   */
  Trails(String store, Set<Id> wanted, Consumer<String> note) {
    this.store = store;
    this.wanted = wanted;
    this.note = note;
  }

  /**
   * Takes in a file, or one of the parts of one.
   *
   * @throws Failure.Refusal if it is of another store, or none of its lines is a trail's
   */
  void read(Path file) throws IOException {
    long number = 0;
    long bad = 0;
    long lastBad = 0;
    var stretch = new Stretch();
    stretches.add(stretch);
    try (var in =
        new BufferedReader(
            new InputStreamReader(Files.newInputStream(file), StandardCharsets.UTF_8))) {
      for (String text = in.readLine(); text != null; text = in.readLine()) {
        number++;
        Optional<JsonNode> line = parsed(text);
        if (line.isEmpty()) {
          bad++;
          lastBad = number;
          stretch =
              new Stretch(); // a crash or a full disk cut it off, and what came next is missing
          stretches.add(stretch);
          continue;
        }
        if (breaksOff(file, line.get())) {
          stretch = new Stretch();
          stretches.add(stretch);
        }
        take(line.get(), stretch);
      }
    }
    if (bad > 0 && bad == number) {
      throw new Failure.Refusal(
          file + ": no audit trail: name what cinch serve --trail has written");
    }
    if (lastBad == number && bad > 0) {
      bad--;
      note.accept(file + ": its last line is cut off, and is left out");
    }
    if (bad > 0) {
      note.accept(file + ": lines that are none of a trail, and are left out: " + bad);
    }
  }

  private static Optional<JsonNode> parsed(String text) {
    try {
      JsonNode line = JSON.read(text);
      long unused = nanos(line);
      return line.path("event").isTextual() ? Optional.of(line) : Optional.empty();
    } catch (IOException | RuntimeException e) {
      return Optional.empty();
    }
  }

  private static long nanos(JsonNode line) {
    return Long.parseLong(line.path("atNanos").textValue());
  }

  /** Whether grants may be missing between the line before and this one. */
  private boolean breaksOff(Path file, JsonNode line) throws IOException {
    String event = line.path("event").asText();
    if (event.equals("started") && !store.equals(line.path("store").asText(store))) {
      throw new Failure.Refusal(
          file + ": it is of another store, " + line.path("store").asText() + ", not of " + store);
    }
    long missing = event.equals("left-out") ? line.path("events").asLong() : 0;
    leftOut += missing;
    return event.equals("started") || missing > 0;
  }

  private void take(JsonNode line, Stretch stretch) {
    lines++;
    Step step = Step.of(line);
    all.add(step.at());
    if (!step.event().equals("expired")) { // which is told later
      stretch.add(step.at());
      stretch.stopped = step.event().equals("stopped");
    }
    String correlation = line.path("correlation").asText();
    if (correlation.isEmpty() || step.event().equals("refused")) {
      return;
    }
    try {
      Id id = Id.parse(correlation);
      if (wanted.contains(id)) {
        steps.computeIfAbsent(id, i -> new ArrayList<>()).add(step);
      }
    } catch (IllegalArgumentException e) {
      // No lease of a store has it.
    }
  }

  /** What is known of a lease, in a line for people; empty if nothing is. */
  Optional<String> story(Id correlation) {
    List<Step> known = steps.getOrDefault(correlation, List.of());
    return known.isEmpty()
        ? Optional.empty()
        : Optional.of(
            Failure.oneLine(
                "lease "
                    + correlation
                    + ": "
                    + String.join("; ", known.stream().map(Step::text).toList())));
  }

  /** The same as an object. */
  void write(Id correlation, JsonLines line) throws IOException {
    line.text("type", "lease").text("correlation", correlation.toString()).list("events");
    for (Step step : steps.getOrDefault(correlation, List.of())) {
      line.object().text("event", step.event()).time("at", step.at()).text("holder", step.holder());
      asked(step, line).end();
    }
    var unused = line.end();
  }

  /** Adds who asked for it, and from where. */
  static JsonLines asked(Step step, JsonLines line) throws IOException {
    if (!step.by().isEmpty()) {
      line.text("by", step.by());
    }
    return step.from().isEmpty() ? line : line.text("from", step.from());
  }

  /** The revocation of a lease. */
  Optional<Step> revoked(Id correlation) {
    return steps.getOrDefault(correlation, List.of()).stream()
        .filter(step -> step.event().equals("revoked"))
        .findFirst();
  }

  /**
   * What does not agree with how a lease was used.
   *
   * @param slack how far the timestamp of a message may be ahead of the servers' time, nanoseconds
   */
  Optional<Finding> finding(LeaseUse use, long slack) {
    List<Step> known = steps.getOrDefault(use.correlation(), List.of());
    long begun = Long.MIN_VALUE;
    long ended = Long.MIN_VALUE;
    boolean moved = known.stream().anyMatch(step -> step.event().equals("resumed"));
    for (Step step : known) {
      if (moved && step.event().equals("expired")) {
        continue; // the server before may say so of a lease that goes on at the next one
      }
      if (BEGINS.contains(step.event())) {
        begun = Math.max(begun, step.at());
      } else if (ENDS.contains(step.event())) {
        ended = Math.max(ended, step.at());
      }
    }
    long granted = use.correlation().high();
    if (begun == Long.MIN_VALUE && stretches.stream().anyMatch(s -> s.has(granted))) {
      return Optional.of(
          new Finding(
              use,
              true,
              "a message stands under lease %s on %s, which no trail has granted, and these cover its time, %s"
                  .formatted(use.correlation(), use.name(), IsoTime.text(granted))));
    }
    if (ended != Long.MIN_VALUE && ended >= begun && use.timestamp() > ended + slack) {
      return Optional.of(
          new Finding(
              use,
              false,
              "the message with timestamp %d stands under lease %s on %s, which ended at %s"
                  .formatted(use.timestamp(), use.correlation(), use.name(), IsoTime.text(ended))));
    }
    return Optional.empty();
  }

  /** How many of some leases have a line that grants them, or goes on with them. */
  private long begun(Set<Id> leases) {
    return leases.stream()
        .filter(
            id ->
                steps.getOrDefault(id, List.of()).stream()
                    .anyMatch(step -> BEGINS.contains(step.event())))
        .count();
  }

  String text(Set<Id> leases, long findings) {
    String span =
        lines == 0 ? "" : " from %s to %s".formatted(IsoTime.text(all.from), IsoTime.text(all.to));
    return "trail: %d lines%s; it has the grants of %d of %d leases%s; %d findings"
        .formatted(
            lines,
            span,
            begun(leases),
            leases.size(),
            leftOut == 0 ? "" : "; " + leftOut + " events were left out",
            findings);
  }

  void write(Set<Id> leases, long findings, JsonLines line) throws IOException {
    line.text("type", "trail").number("lines", lines);
    if (lines > 0) {
      line.time("from", all.from).time("to", all.to);
    }
    line.number("leases", leases.size())
        .number("granted", begun(leases))
        .number("leftOut", leftOut)
        .number("findings", findings);
  }
}
