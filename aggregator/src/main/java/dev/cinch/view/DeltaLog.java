package dev.cinch.view;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
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
  private static final ObjectMapper JSON =
      new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);

  /** Those of Delta Lake's protocol that Cinch writes, and all that it understands. */
  private static final int READER_VERSION = 1;

  private static final int WRITER_VERSION = 2;

  /** A commit in so many has the sum of all: so opening a table does not take ever longer. */
  static final int SUMMED = 256;

  private static final String SUM = "cinchSum";

  private static final int MAX_COMMIT = 1 << 28;
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
   * Reads the commits, from the last sum on.
   *
   * @throws DamagedException if one is missing or damaged, or not of Cinch
   */
  State read() throws IOException {
    var versions = new TreeSet<Long>();
    for (String name : log.storage().listIfThere(layout.commits(), Freshness.PERMITTED)) {
      TableLayout.commitVersion(name).ifPresent(versions::add);
    }
    long last = -1;
    for (long version : versions) {
      if (version != ++last) {
        throw new DamagedException(
            layout.commit(last),
            0,
            "commit %d, which others follow".formatted(last),
            "no file: it is missing; restore it, or " + remedy());
      }
    }
    var replay = new Replay();
    long next = Math.max(0, last - last % SUMMED);
    while (next > 0 && !replay.isBegun(layout.commit(next))) {
      next -= SUMMED;
    }
    for (next += next > 0 ? 1 : 0; next <= last; next++) {
      replay.add(layout.commit(next));
    }
    return new State(last, replay.through, replay.files, replay.removed, replay.shape);
  }

  /** What commits say together. */
  private final class Replay {
    private final Map<String, File> files = new LinkedHashMap<>();
    private final Map<String, Long> removed = new LinkedHashMap<>();
    private TableShape shape = new TableShape(List.of(), null);
    private long through = Long.MIN_VALUE;

    /** Whether a commit has what all up to it say together, so that it can begin there. */
    boolean isBegun(Name commit) throws IOException {
      List<JsonNode> actions = actions(commit);
      requireOurs(actions, commit);
      var sum = new ArrayList<JsonNode>();
      actions.forEach(action -> action.path("commitInfo").path(SUM).forEach(sum::add));
      add(sum, commit);
      return !sum.isEmpty();
    }

    void add(Name commit) throws IOException {
      add(actions(commit), commit);
    }

    private void add(List<JsonNode> actions, Name commit) throws IOException {
      requireOurs(actions, commit);
      for (JsonNode action : actions) {
        add(action, commit);
      }
    }

    private void add(JsonNode action, Name at) throws DamagedException {
      JsonNode add = action.path("add");
      JsonNode remove = action.path("remove");
      JsonNode txn = action.path("txn");
      if (add.isObject()) {
        files.put(add.path("path").asText(), file(add, at));
      } else if (remove.isObject()) {
        String path = remove.path("path").asText();
        files.remove(path);
        removed.put(path, remove.path("deletionTimestamp").asLong());
      } else if (isOurs(txn)) {
        through = txn.path("version").asLong();
      } else if (action.has("metaData")) {
        shape = shape(action.get("metaData"), at);
      }
    }
  }

  private TableShape shape(JsonNode metadata, Name at) throws DamagedException {
    try {
      return TableShape.of(metadata);
    } catch (IllegalArgumentException e) {
      throw newer(at, "settings that this version knows", "" + e.getMessage());
    }
  }

  /**
   * A commit that does not say through which time the table has the log may have added, or removed,
   * anything; and no file is read that is not in the table's directory.
   */
  private void requireOurs(List<JsonNode> actions, Name at) throws DamagedException {
    boolean ours = actions.stream().anyMatch(action -> isOurs(action.path("txn")));
    for (JsonNode action : actions) {
      int reader = action.path("protocol").path("minReaderVersion").asInt();
      int writer = action.path("protocol").path("minWriterVersion").asInt();
      if (reader > READER_VERSION || writer > WRITER_VERSION) {
        throw newer(
            at,
            "a table for readers of version %d and writers of version %d, or less"
                .formatted(READER_VERSION, WRITER_VERSION),
            "%d and %d".formatted(reader, writer));
      }
      if (!ours && (action.has("add") || action.has("remove") || action.has("metaData"))) {
        throw foreign(
            at, "a commit of Cinch for log " + log.layout().name(), "one of another writer");
      }
      for (String kind : List.of("add", "remove")) {
        String path = action.path(kind).path("path").asText();
        if (action.has(kind) && TableLayout.fileVersion(path).isEmpty()) {
          throw foreign(at, "files of Cinch", path);
        }
      }
    }
  }

  private DamagedException foreign(Name at, String expected, String found) {
    return new DamagedException(at, 0, expected, found + "; " + remedy());
  }

  private DamagedException newer(Name at, String expected, String found) {
    String newer = "; take the newer Cinch that made it, or ";
    return new DamagedException(at, 0, expected, found + newer + remedy());
  }

  private String remedy() {
    return "remove the directory " + layout.root().last() + " and build it anew";
  }

  private boolean isOurs(JsonNode txn) {
    return txn.path("appId").asText().equals(application());
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
                  if (!actions.get(actions.size() - 1).isObject()) {
                    throw new DamagedException(
                        at,
                        0,
                        "a JSON object in each line",
                        line.isEmpty() ? "an empty one" : line);
                  }
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
    var files = new LinkedHashMap<>(before.files());
    var removed = new LinkedHashMap<>(before.removed());
    for (File file : remove) {
      files.remove(file.name());
      removed.put(file.name(), now);
    }
    if (add != null) {
      files.put(add.name(), add);
    }
    var after = new State(version, through, files, removed, shape);
    if (version > 0 && version % SUMMED == 0) {
      info.set(SUM, sum(after, now));
    }
    var written = new ArrayList<ObjectNode>(List.of(wrapped("commitInfo", info)));
    if (version == 0) {
      written.add(
          wrapped(
              "protocol",
              JsonNodeFactory.instance
                  .objectNode()
                  .put("minReaderVersion", READER_VERSION)
                  .put("minWriterVersion", WRITER_VERSION)));
      written.add(wrapped("metaData", shape.metadata(log.id(), now)));
    }
    written.add(wrapped("txn", transaction(through, now)));
    for (File file : remove) {
      ObjectNode removal = removal(file.name(), now).put("dataChange", true);
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
    return log.publish(name, bytes) || isBy(maker, name) ? Optional.of(after) : Optional.empty();
  }

  /** All that counts of the commits so far, as actions, so that nobody needs to read these. */
  private ArrayNode sum(State state, long now) {
    ArrayNode sum = JsonNodeFactory.instance.arrayNode();
    sum.add(wrapped("metaData", state.shape().metadata(log.id(), now)));
    sum.add(wrapped("txn", transaction(state.through(), now)));
    // Those that were removed before have gone, or go as what no commit names.
    state.removed().entrySet().stream()
        .filter(e -> e.getValue() > now - Tables.KEPT.toMillis())
        .forEach(e -> sum.add(wrapped("remove", removal(e.getKey(), e.getValue()))));
    for (File file : state.files().values()) {
      ObjectNode stats = JsonNodeFactory.instance.objectNode().put("numRecords", file.messages());
      stats.putObject("minValues").put("time_ns", file.first());
      stats.putObject("maxValues").put("time_ns", file.last());
      ObjectNode add = JsonNodeFactory.instance.objectNode().put("path", file.name());
      sum.add(wrapped("add", add.put("size", file.size()).put("stats", stats.toString())));
    }
    return sum;
  }

  private ObjectNode transaction(long through, long now) {
    ObjectNode txn = JsonNodeFactory.instance.objectNode();
    return txn.put("appId", application()).put("version", through).put("lastUpdated", now);
  }

  private static ObjectNode removal(String path, long when) {
    return JsonNodeFactory.instance.objectNode().put("path", path).put("deletionTimestamp", when);
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
