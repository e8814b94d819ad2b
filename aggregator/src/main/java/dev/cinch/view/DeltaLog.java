package dev.cinch.view;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.store.LogContext;
import dev.cinch.lease.Id;
import dev.cinch.lease.IsoTime;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
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
  private static final int MAX_COMMIT = 1 << 24;
  private static final long NANOS_PER_MS = 1_000_000;

  private static final String REMEDY = "remove the directory table and build it anew";
  private static final String NEWER = "; take the newer Cinch that made it, or " + REMEDY;

  private final LogContext log;
  private final LogLayout layout;

  DeltaLog(LogContext log) {
    this.log = log;
    this.layout = log.layout();
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
   * @param columns that were asked for when the table was made
   */
  record State(
      long version,
      long through,
      Map<String, File> files,
      Map<String, Long> removed,
      List<TableColumn> columns) {}

  /**
   * Reads all commits.
   *
   * @throws DamagedException if one is missing or damaged, or not of Cinch
   */
  State read() throws IOException {
    var versions = new TreeSet<Long>();
    for (String name : log.storage().listIfThere(layout.commits(), Freshness.PERMITTED)) {
      LogLayout.commitVersion(name).ifPresent(versions::add);
    }
    long through = Long.MIN_VALUE;
    var files = new LinkedHashMap<String, File>();
    var removed = new LinkedHashMap<String, Long>();
    List<TableColumn> columns = List.of();
    long next = 0;
    for (long version : versions) {
      if (version != next) {
        throw new DamagedException(
            layout.commit(next),
            0,
            "commit %d, which others follow".formatted(next),
            "no file: it is missing; restore it, or " + REMEDY);
      }
      next++;
      Name at = layout.commit(version);
      List<JsonNode> actions = actions(at);
      requireOurs(actions, at);
      for (JsonNode action : actions) {
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
          columns = columns(action.get("metaData"), at);
        }
      }
    }
    return new State(next - 1, through, files, removed, columns);
  }

  /**
   * Who commits without saying through which time the table has the log may have added, or removed,
   * anything; and no file is read that is not in the table's directory.
   */
  private void requireOurs(List<JsonNode> actions, Name at) throws DamagedException {
    boolean ours = actions.stream().anyMatch(action -> isOurs(action.path("txn")));
    for (JsonNode action : actions) {
      int reader = action.path("protocol").path("minReaderVersion").asInt();
      int writer = action.path("protocol").path("minWriterVersion").asInt();
      if (reader > READER_VERSION || writer > WRITER_VERSION) {
        throw new DamagedException(
            at,
            0,
            "a table for readers of version %d and writers of version %d, or less"
                .formatted(READER_VERSION, WRITER_VERSION),
            "%d and %d".formatted(reader, writer) + NEWER);
      }
      if (!ours && (action.has("add") || action.has("remove") || action.has("metaData"))) {
        throw new DamagedException(
            at,
            0,
            "a commit of Cinch for log " + layout.name(),
            "one of another writer; " + REMEDY);
      }
      for (String kind : List.of("add", "remove")) {
        String path = action.path(kind).path("path").asText();
        if (action.has(kind) && LogLayout.tableFileVersion(path).isEmpty()) {
          throw new DamagedException(at, 0, "files of Cinch", path + "; " + REMEDY);
        }
      }
    }
  }

  private boolean isOurs(JsonNode txn) {
    return txn.path("appId").asText().equals(application());
  }

  private static List<TableColumn> columns(JsonNode metadata, Name at) throws DamagedException {
    try {
      return TableColumn.ofMetadata(metadata);
    } catch (IllegalArgumentException e) {
      throw new DamagedException(at, 0, "columns that this version knows", e.getMessage() + NEWER);
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
   * @return whether that commit is there now, and no other one in its place
   */
  boolean commit(
      State before, List<TableColumn> columns, @Nullable File add, List<File> remove, long through)
      throws IOException {
    long version = before.version() + 1;
    long now = Math.floorDiv(log.store().now(), NANOS_PER_MS);
    String maker = Id.random(log.store().random()).toString();
    ObjectNode info = JsonNodeFactory.instance.objectNode();
    info.put("timestamp", now).put("operation", remove.isEmpty() ? "WRITE" : "DELETE");
    info.putObject("operationParameters").put("maker", maker);
    info.put("isBlindAppend", remove.isEmpty()).put("engineInfo", "Cinch");
    var written = new ArrayList<ObjectNode>(List.of(wrapped("commitInfo", info)));
    if (version == 0) {
      written.add(
          wrapped(
              "protocol",
              JsonNodeFactory.instance
                  .objectNode()
                  .put("minReaderVersion", READER_VERSION)
                  .put("minWriterVersion", WRITER_VERSION)));
      written.add(wrapped("metaData", TableColumn.metadata(columns, log.id(), now)));
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
    if (log.publish(name, bytes)) {
      return true;
    }
    // The answer may have been lost: what is there is the truth.
    return actions(name).stream()
        .anyMatch(
            a ->
                a.path("commitInfo")
                    .path("operationParameters")
                    .path("maker")
                    .asText()
                    .equals(maker));
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
