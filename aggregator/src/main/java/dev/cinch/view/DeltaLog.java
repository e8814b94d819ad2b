package dev.cinch.view;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.TableLayout;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.store.LogContext;
import dev.cinch.lease.Id;
import dev.cinch.lease.IsoTime;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The commits of a log's table, as Delta Lake's protocol has them: numbered from 0, each published
 * once, so that two builders never both add what comes behind the same commit. Each of ours says in
 * an action {@code txn} the time through which the table has the log. Thread-safe.
 */
@CheckReturnValue
final class DeltaLog {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int MAX_COMMIT = 1 << 24;
  private static final long NANOS_PER_MS = 1_000_000;

  private final LogContext log;
  private final TableLayout layout;

  DeltaLog(LogContext log, TableLayout table) {
    this.log = log;
    this.layout = table;
  }

  /**
   * A file of the table.
   *
   * @param name in the table's directory
   * @param size bytes
   * @param messages in it
   * @param first the least timestamp in it, nanoseconds since the Unix epoch
   * @param last the highest
   */
  record File(String name, long size, long messages, long first, long last) {}

  /**
   * What the commits say.
   *
   * @param version of the last one; -1 if there is none
   * @param through the time through which the table has the log; {@link Long#MIN_VALUE} if it has
   *     nothing
   * @param files that the table has, by their names
   * @param removed files that it had, and when they were removed, milliseconds since the Unix epoch
   * @param shape that was asked for when the table was made
   */
  record State(
      long version,
      long through,
      Map<String, File> files,
      Map<String, Long> removed,
      TableShape shape) {
    State {
      files = Collections.unmodifiableMap(new LinkedHashMap<>(files));
      removed = Collections.unmodifiableMap(new LinkedHashMap<>(removed));
    }

    /** Whether there is a table. */
    boolean isThere() {
      return version >= 0;
    }
  }

  /**
   * Reads all commits.
   *
   * @throws DamagedException if one is missing or damaged
   */
  State read() throws IOException {
    var versions = new TreeSet<Long>();
    for (String name : log.storage().listIfThere(layout.commits(), Freshness.PERMITTED)) {
      TableLayout.commitVersion(name).ifPresent(versions::add);
    }
    long through = Long.MIN_VALUE;
    var files = new LinkedHashMap<String, File>();
    var removed = new LinkedHashMap<String, Long>();
    var shape = new TableShape(List.of(), null);
    long next = 0;
    for (long version : versions) {
      if (version != next) {
        throw new DamagedException(
            layout.commit(next),
            0,
            "commit %d, which others follow".formatted(next),
            "no file: it is missing; restore it, or remove the directory %s and build it anew"
                .formatted(layout.root().last()));
      }
      next++;
      Name at = layout.commit(version);
      for (JsonNode action : actions(at)) {
        JsonNode add = action.path("add");
        JsonNode remove = action.path("remove");
        JsonNode txn = action.path("txn");
        if (add.isObject()) {
          files.put(add.path("path").asText(), file(add, at));
        } else if (remove.isObject()) {
          String path = remove.path("path").asText();
          files.remove(path);
          removed.put(path, remove.path("deletionTimestamp").asLong());
        } else if (txn.path("appId").asText().equals(application())) {
          through = txn.path("version").asLong();
        } else if (action.has("metaData")) {
          shape = shape(action.get("metaData"), at);
        }
      }
    }
    return new State(next - 1, through, files, removed, shape);
  }

  private static TableShape shape(JsonNode metadata, Name at) throws DamagedException {
    try {
      return TableShape.of(metadata);
    } catch (IllegalArgumentException e) {
      throw new DamagedException(at, 0, "settings of Cinch", "" + e.getMessage());
    }
  }

  private List<JsonNode> actions(Name at) throws IOException {
    return log.storage()
        .read(
            at,
            MAX_COMMIT,
            Freshness.PERMITTED,
            bytes -> {
              var actions = new ArrayList<JsonNode>();
              try {
                for (String line : new String(bytes, StandardCharsets.UTF_8).split("\n")) {
                  actions.add(JSON.readTree(line));
                }
              } catch (JsonProcessingException e) {
                throw new DamagedException(
                    at, 0, "a JSON object in each line", e.getOriginalMessage());
              }
              return actions;
            });
  }

  private static File file(JsonNode add, Name at) throws DamagedException {
    try {
      JsonNode stats = JSON.readTree(add.path("stats").asText("{}"));
      return new File(
          add.path("path").asText(),
          add.path("size").asLong(),
          stats.path("numRecords").asLong(),
          stats.path("minValues").path("time_ns").asLong(Long.MIN_VALUE),
          stats.path("maxValues").path("time_ns").asLong(Long.MAX_VALUE));
    } catch (JsonProcessingException e) {
      throw new DamagedException(at, 0, "statistics in JSON", e.getOriginalMessage());
    }
  }

  private String application() {
    return "cinch-" + log.id();
  }

  /**
   * Publishes the commit behind a state.
   *
   * @param add null: none
   * @param through the time through which the table has the log from then on
   * @return what the commits say then; empty if another one stands in its place
   */
  Optional<State> commit(
      State before, TableShape shape, @Nullable File add, List<File> remove, long through)
      throws IOException {
    long version = before.version() + 1;
    long now = Math.floorDiv(log.store().now(), NANOS_PER_MS);
    String maker = Id.random(log.store().random()).toString();
    ObjectNode info = JsonNodeFactory.instance.objectNode();
    info.put("timestamp", now).put("operation", add == null ? "DELETE" : "WRITE");
    info.putObject("operationParameters").put("maker", maker);
    info.put("isBlindAppend", remove.isEmpty()).put("engineInfo", "Cinch");
    var written = new ArrayList<ObjectNode>(List.of(wrapped("commitInfo", info)));
    if (version == 0) {
      written.add(
          wrapped(
              "protocol",
              JsonNodeFactory.instance
                  .objectNode()
                  .put("minReaderVersion", 1)
                  .put("minWriterVersion", 2)));
      written.add(wrapped("metaData", shape.metadata(log.id(), now)));
    }
    ObjectNode txn = JsonNodeFactory.instance.objectNode();
    txn.put("appId", application()).put("version", through).put("lastUpdated", now);
    written.add(wrapped("txn", txn));
    for (File file : remove) {
      ObjectNode removal = JsonNodeFactory.instance.objectNode();
      removal.put("path", file.name()).put("deletionTimestamp", now).put("dataChange", true);
      removal.put("extendedFileMetadata", true).put("size", file.size());
      removal.putObject("partitionValues");
      written.add(wrapped("remove", removal));
    }
    if (add != null) {
      written.add(wrapped("add", addition(add, now)));
    }
    var text = new StringBuilder();
    written.forEach(line -> text.append(line).append('\n'));
    byte[] bytes = text.toString().getBytes(StandardCharsets.UTF_8);
    Name name = layout.commit(version);
    if (!log.publish(name, bytes) && !isBy(maker, name)) {
      return Optional.empty();
    }
    var files = new LinkedHashMap<>(before.files());
    var removed = new LinkedHashMap<>(before.removed());
    for (File file : remove) {
      files.remove(file.name());
      removed.put(file.name(), now);
    }
    if (add != null) {
      files.put(add.name(), add);
    }
    return Optional.of(new State(version, through, files, removed, shape));
  }

  /** The answer may have been lost: what is there is the truth. */
  private boolean isBy(String maker, Name commit) throws IOException {
    return actions(commit).stream()
        .map(a -> a.path("commitInfo").path("operationParameters").path("maker").asText())
        .anyMatch(maker::equals);
  }

  private static ObjectNode wrapped(String name, ObjectNode content) {
    ObjectNode action = JsonNodeFactory.instance.objectNode();
    action.set(name, content);
    return action;
  }

  private static ObjectNode addition(File file, long now) {
    ObjectNode add = JsonNodeFactory.instance.objectNode();
    add.put("path", file.name()).put("size", file.size());
    add.put("modificationTime", now).put("dataChange", true);
    add.putObject("partitionValues");
    ObjectNode stats = JsonNodeFactory.instance.objectNode();
    stats.put("numRecords", file.messages());
    // To the millisecond, as Delta Lake has it: rounded outwards.
    stats
        .putObject("minValues")
        .put("time", millis(Math.floorDiv(file.first(), NANOS_PER_MS)))
        .put("time_ns", file.first());
    stats
        .putObject("maxValues")
        .put("time", millis(Math.floorDiv(file.last(), NANOS_PER_MS) + 1))
        .put("time_ns", file.last());
    stats.putObject("nullCount").put("time", 0).put("time_ns", 0);
    return add.put("stats", stats.toString());
  }

  private static String millis(long millis) {
    return IsoTime.second(Math.floorDiv(millis, 1000))
        + ".%03dZ".formatted(Math.floorMod(millis, 1000));
  }
}
