package dev.cinch.view;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.format.Floor;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.read.LogReader;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.Storage;
import dev.cinch.bag.storage.Storage.Draft;
import dev.cinch.bag.store.LogContext;
import dev.cinch.lease.Id;
import dev.cinch.view.DeltaLog.File;
import dev.cinch.view.DeltaLog.State;
import dev.cinch.view.SqlEngine.Answer;
import dev.cinch.view.SqlEngine.Limits;
import dev.cinch.view.SqlEngine.Session;
import dev.cinch.view.SqlEngine.Source;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * Copies what is settled of a log into a table that other engines read: Parquet files, each sorted
 * and disjoint from the others by {@code time_ns}, and commits of Delta Lake. Any number of
 * builders may run at once: the one whose commit is there first has added its file, and the files
 * of the others are never named. Late data cannot exist, so no file is ever written anew.
 *
 * <p>A commit names the time through which the table has the log; the next one goes on there. So a
 * builder that was stopped anywhere, for however long, adds nothing twice and leaves nothing out.
 * Thread-safe; holds no resources between runs.
 */
@CheckReturnValue
public final class TableBuilder {
  /** How long a file stays that a commit removed: readers of an earlier one may still need it. */
  static final Duration KEPT = Duration.ofDays(7);

  private static final long NANOS_PER_MS = 1_000_000;
  private static final int COPIED = 1 << 20;

  private final Store store;
  private final LogContext log;
  private final LogLayout layout;
  private final Storage storage;
  private final DeltaLog commits;
  private final Settings settings;
  private volatile long added;
  private volatile @Nullable Session writing;

  /**
   * How to build.
   *
   * @param engine writes Parquet
   * @param memory bytes that it takes at most
   * @param scratch a local directory, which is there
   * @param bytes of payload after which a file ends, at the next bucket
   * @param objection told of messages that no lease permits; they are in no table
   */
  public record Settings(
      SqlEngine engine, long memory, Path scratch, long bytes, LogReader.Objection objection) {
    /** A gibibyte of payload: some 60 MiB of Parquet where it packs well. */
    public static final long FILE_BYTES = 1L << 30;
  }

  /**
   * What a run did.
   *
   * @param files that it added
   * @param messages in them
   * @param bytes of them
   * @param removed files that the table has no more, since all in them expired
   * @param unparsed values that were there and of another type than their column, or null
   * @param version of the last commit; -1 if there is none
   * @param to the time through which the table has the log; {@link Long#MIN_VALUE} if it has
   *     nothing
   */
  public record Result(
      int files, long messages, long bytes, int removed, long unparsed, long version, long to) {}

  public TableBuilder(Store store, Log log, Settings settings) {
    this.store = store;
    this.log = log.context();
    this.layout = this.log.layout();
    this.storage = this.log.storage();
    this.commits = new DeltaLog(this.log);
    this.settings = settings;
  }

  /** How many messages a run has added so far, or is about to. Any thread may ask. */
  public long progress() {
    Session now = writing;
    return added + (now == null ? 0 : now.read());
  }

  /**
   * Adds all that is settled and the table lacks, a file at a time, and removes from it what
   * expired.
   *
   * @param columns what to take out of payloads, if there is no table yet; empty: what it has
   * @param wait nothing is added before what is lacking is so old, by the storage's clock
   * @throws IllegalArgumentException if the table was made with other columns
   */
  public Result run(List<TableColumn> columns, Duration wait) throws IOException {
    int files = 0;
    long messages = 0;
    long bytes = 0;
    int removed = 0;
    long unparsed = 0;
    while (true) {
      State before = commits.read();
      List<TableColumn> all = before.version() < 0 ? columns : before.columns();
      if (!columns.isEmpty() && !columns.equals(all)) {
        throw new IllegalArgumentException(
            "the table of %s was made with other columns: %s"
                .formatted(layout.name(), all.isEmpty() ? "none" : all));
      }
      Floor floor = new HorizonChain(log).floor();
      List<File> expired =
          before.files().values().stream().filter(f -> f.last() < floor.to()).toList();
      if (!expired.isEmpty()) {
        removed +=
            commits.commit(before, all, null, expired, before.through()) ? expired.size() : 0;
        continue;
      }
      sweep(before);
      long from = Math.max(before.through(), floor.to());
      Optional<Part> part =
          isDue(before, wait) ? write(before.version() + 1, all, from) : Optional.empty();
      if (part.isEmpty()) {
        return new Result(
            files, messages, bytes, removed, unparsed, before.version(), before.through());
      }
      if (commits.commit(before, all, part.get().file(), List.of(), part.get().through())) {
        files++;
        messages += part.get().file().messages();
        added = messages;
        bytes += part.get().file().size();
        unparsed += part.get().unparsed();
      } else {
        storage.removeQuietly(layout.table().resolve(part.get().file().name()));
      }
    }
  }

  private boolean isDue(State before, Duration wait) throws IOException {
    return wait.isZero()
        || before.version() < 0
        || before.through() <= log.store().now() - Aggregator.saturatedNanos(wait);
  }

  /** A file that stands in the table's directory, and what it has. */
  private record Part(File file, long through, long unparsed) {}

  /** Writes the next file; empty if there is no message for it. */
  private Optional<Part> write(long version, List<TableColumn> columns, long from)
      throws IOException {
    Path local = Files.createTempFile(settings.scratch(), "cinch-table-", null);
    var source =
        new Source(
            store,
            List.of(layout.name()),
            from,
            Long.MAX_VALUE,
            settings.bytes(),
            false,
            false,
            settings.objection());
    // A directory of its own: DuckDB's names in it are the same in each process.
    Path spill = Path.of(local + "-spill");
    var limits = new Limits(settings.memory(), spill, local);
    try (Session session = settings.engine().open(source, limits)) {
      writing = session;
      run(session, copy(columns, local));
      writing = null;
      long through = session.readThrough();
      List<Long> facts = numbers(session, facts(columns, local));
      if (facts.get(0) == 0) {
        return Optional.empty();
      }
      Name name = layout.tableFile(version, Id.random(log.store().random()));
      copy(local, name);
      var file = new File(name.last(), Files.size(local), facts.get(0), facts.get(1), facts.get(2));
      return Optional.of(new Part(file, through, facts.get(3)));
    } finally {
      Files.deleteIfExists(local);
    }
  }

  private static String literal(Path file) {
    return "'" + file.toString().replace("'", "''") + "'";
  }

  private String copy(List<TableColumn> columns, Path local) {
    var select = new StringBuilder("COPY (SELECT time, time_ns, tie, machine, leases, generation,");
    select.append(" payload, CASE WHEN payload IS NULL THEN bytes END AS bytes");
    select.append(TableColumn.definitions(columns));
    return select
        .append(" FROM \"%s\") TO %s".formatted(layout.name(), literal(local)))
        .append(" (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)")
        .toString();
  }

  /** The number of messages, the first and last time, and how many values were not parsed. */
  private static String facts(List<TableColumn> columns, Path local) {
    var unparsed = new ArrayList<String>(List.of("0"));
    for (TableColumn column : columns) {
      unparsed.add(
          "count(*) FILTER (\"%s\" IS NULL AND %s IS NOT NULL)"
              .formatted(column.name(), column.text()));
    }
    return "SELECT count(*), coalesce(min(time_ns), 0), coalesce(max(time_ns), 0), "
        + String.join(" + ", unparsed)
        + " FROM read_parquet("
        + literal(local)
        + ")";
  }

  private static void run(Session session, String statement) throws IOException {
    try (Answer answer = session.run(statement)) {
      while (answer.next()) {
        // It says how many rows there are.
      }
    }
  }

  private static List<Long> numbers(Session session, String statement) throws IOException {
    var numbers = new ArrayList<Long>();
    try (Answer answer = session.run(statement)) {
      boolean unused = answer.next();
      for (int i = 0; i < answer.columns().size(); i++) {
        Object value = answer.value(i);
        numbers.add(value instanceof Number number ? number.longValue() : 0L);
      }
    }
    return numbers;
  }

  private void copy(Path local, Name name) throws IOException {
    storage.prepare(layout.table());
    storage.prepare(layout.commits());
    try (Draft draft = storage.draft(layout.table());
        FileChannel in = FileChannel.open(local)) {
      ByteBuffer bytes = ByteBuffer.allocate(COPIED);
      while (in.read(bytes) >= 0) {
        draft.write(bytes.flip());
        bytes.clear();
      }
      draft.finish();
      log.requireSame();
      boolean unused = draft.publish(name); // its name is like no other's
    }
    storage.secure(layout.table()); // no commit names what may be lost
  }

  /** Deletes files that no commit can name any more, and those that were removed long ago. */
  private void sweep(State now) throws IOException {
    long cutoff = Math.floorDiv(log.store().now(), NANOS_PER_MS) - KEPT.toMillis();
    for (String name : storage.listIfThere(layout.table(), Freshness.PERMITTED)) {
      OptionalLong version = LogLayout.tableFileVersion(name);
      Long removed = now.removed().get(name);
      boolean goes =
          removed == null
              ? !now.files().containsKey(name) && version.orElse(Long.MAX_VALUE) <= now.version()
              : removed < cutoff;
      if (version.isPresent() && goes) {
        try {
          storage.remove(layout.table().resolve(name));
        } catch (NoSuchFileException e) {
          // Another builder was faster.
        }
      }
    }
  }
}
