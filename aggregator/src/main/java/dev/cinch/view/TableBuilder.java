package dev.cinch.view;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Message;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Stored;
import dev.cinch.bag.model.TableLayout;
import dev.cinch.bag.read.LogReader;
import dev.cinch.bag.read.LogReader.Parts;
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
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Copies what is settled of a log into tables that other engines read: Parquet files and commits of
 * Delta Lake. One table has all messages, in files that are sorted by {@code time_ns} and disjoint;
 * the other has the last message of each key. Any number of builders may run at once: the one whose
 * commit is there first has added its file, and the files of the others are never named. Late data
 * cannot exist, so no file of all messages is ever written anew.
 *
 * <p>A commit names the time through which the table has the log; the next one goes on there. So a
 * builder that was stopped anywhere, for however long, adds nothing twice and leaves nothing out.
 * Thread-safe; holds no resources between runs.
 */
@CheckReturnValue
public final class TableBuilder {
  private static final int COPIED = 1 << 20;

  /** Where a table of keys is written anew, what is read for it has so many times its bytes. */
  private static final int AHEAD = 8;

  private final Store store;
  private final LogContext log;
  private final LogReader reader;
  private final Storage storage;
  private final Settings settings;
  private final AtomicLong copied = new AtomicLong();
  private final Set<Session> writing = ConcurrentHashMap.newKeySet();
  private volatile long planned;
  private volatile boolean cancelled;

  /**
   * How to build.
   *
   * @param engine writes Parquet
   * @param memory bytes that it takes at most
   * @param scratch a local directory, which is there
   * @param bytes of settled files, more or less, that one file of the table is made of at most
   * @param workers how many files of all messages are written at once
   * @param objection told of messages that no lease permits; they are in no table
   */
  public record Settings(
      SqlEngine engine,
      long memory,
      Path scratch,
      long bytes,
      int workers,
      LogReader.Objection objection) {
    /** A gibibyte. */
    public static final long FILE_BYTES = 1L << 30;
  }

  /**
   * What a run did.
   *
   * @param files that it added
   * @param messages in them; in the last one, if each has the last message of all keys
   * @param bytes of them, likewise
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
    this.reader = log.reader();
    this.storage = this.log.storage();
    this.settings = settings;
  }

  /** Has a run fail soon, and leave nothing behind. Any thread may call it. */
  public void cancel() {
    cancelled = true;
    writing.forEach(Session::cancel);
  }

  /** How many messages a run has read so far. Any thread may ask. */
  public long progress() {
    return copied.get() + writing.stream().mapToLong(Session::read).sum();
  }

  /** How many it is to read, more or less; 0 if it does not know yet. Any thread may ask. */
  public long planned() {
    return planned;
  }

  /**
   * Adds all that is settled and a table lacks, a file at a time, and removes from it what expired.
   *
   * @param wanted which table; its columns: what to take out of payloads, if there is no table yet;
   *     none: what it has
   * @param wait nothing is added before what is lacking is so old, by the storage's clock
   * @throws IllegalArgumentException if the table was made in another shape
   */
  public Result run(TableShape wanted, Duration wait) throws IOException {
    ExecutorService workers =
        Executors.newFixedThreadPool(
            settings.workers(),
            task -> {
              var thread = new Thread(task, "cinch-table");
              thread.setDaemon(true);
              return thread;
            });
    try {
      return new Run(wanted, workers).run(wait);
    } finally {
      workers.shutdown();
    }
  }

  /**
   * What was read of a part.
   *
   * @param file that stands in the table's directory; null: there is nothing for it
   * @param to the time through which it was read
   */
  private record Part(@Nullable File file, long to, long unparsed) {}

  /** One run. Not thread-safe, but for {@link #write}. */
  private final class Run {
    private final TableShape wanted;
    private final ExecutorService workers;
    private final TableLayout table;
    private final DeltaLog commits;
    private volatile boolean givenUp;
    private int files;
    private long messages;
    private long bytes;
    private int removed;
    private long unparsed;

    Run(TableShape wanted, ExecutorService workers) {
      this.wanted = wanted;
      this.workers = workers;
      this.table = wanted.key() == null ? log.layout().table() : log.layout().latest();
      this.commits = new DeltaLog(log, table);
    }

    Result run(Duration wait) throws IOException {
      State before = commits.read();
      while (true) {
        refuseOther(before);
        long floor = new HorizonChain(log).floor().to();
        State kept = Tables.expire(commits, before, floor);
        if (kept != before) {
          Set<String> left = kept.files().keySet();
          removed += (int) before.files().keySet().stream().filter(f -> !left.contains(f)).count();
          before = kept;
          continue;
        }
        delete(Tables.stale(log, table, before));
        long from = Math.max(before.through(), floor);
        Parts parts = isDue(before, wait) ? parts(before, from) : new Parts(List.of(), 0, 0);
        planned = copied.get() + parts.messages();
        State after = parts.messages() == 0 ? before : add(before, floor, parts.ends());
        if (after.version() == before.version()) { // nothing was lacking that leases permit
          return new Result(
              files, messages, bytes, removed, unparsed, after.version(), after.through());
        }
        before = after;
      }
    }

    private void refuseOther(State now) {
      boolean same = wanted.columns().isEmpty() || wanted.columns().equals(now.shape().columns());
      if (now.isThere() && !(same && Objects.equals(wanted.key(), now.shape().key()))) {
        throw new IllegalArgumentException(
            "the table of %s was made in another way: %s"
                .formatted(log.layout().name(), now.shape()));
      }
    }

    private boolean isDue(State before, Duration wait) throws IOException {
      return wait.isZero()
          || !before.isThere()
          || before.through() <= log.store().now() - Aggregator.saturatedNanos(wait);
    }

    private Parts parts(State before, long from) throws IOException {
      long size = before.files().values().stream().mapToLong(File::size).sum();
      long each =
          wanted.key() == null ? settings.bytes() : Math.max(settings.bytes(), AHEAD * size);
      Parts parts = reader.parts(from, each);
      int files = parts.ends().size();
      if (files < 2 || wanted.key() != null) {
        return parts;
      }
      int rounds = (files + settings.workers() - 1) / settings.workers();
      return reader.parts(from, parts.bytes() / (rounds * settings.workers()) + 1);
    }

    /**
     * Adds files until all are there, or another builder adds one; returns what the commits say.
     */
    private State add(State before, long floor, List<Long> ends) throws IOException {
      TableShape shape = before.isThere() ? before.shape() : wanted;
      var begun = new ArrayDeque<Future<Part>>();
      givenUp = false;
      State now = before;
      try {
        for (int done = 0, next = 0; done < ends.size(); done++) {
          for (; next < ends.size() && begun.size() < atOnce(); next++) {
            long begin = next == 0 ? Math.max(before.through(), floor) : ends.get(next - 1);
            long end = ends.get(next);
            long version = before.version() + 1 + next;
            List<File> old = replaced(now);
            begun.add(workers.submit(() -> write(version, shape, old, floor, begin, end)));
          }
          Part part = get(begun.remove());
          List<File> old = replaced(now);
          if (part.file() != null || !old.isEmpty()) {
            Optional<State> then = commits.commit(now, shape, part.file(), old, part.to());
            if (then.isEmpty()) {
              drop(part);
              return commits.read();
            }
            now = then.get();
            count(part);
          }
          if (part.to() < ends.get(done)) {
            return now; // what it could read ended before
          }
        }
        return now;
      } finally {
        giveUp(begun);
      }
    }

    /** How many files are written at once: one of keys goes on from the one before. */
    private int atOnce() {
      return wanted.key() == null ? settings.workers() : 1;
    }

    /** The files whose place the next one takes. */
    private List<File> replaced(State now) {
      return wanted.key() == null ? List.of() : List.copyOf(now.files().values());
    }

    private void count(Part part) {
      if (part.file() != null) {
        files++;
        boolean anew = wanted.key() != null; // it has all that those before it had
        messages = part.file().messages() + (anew ? 0 : messages);
        bytes = part.file().size() + (anew ? 0 : bytes);
        unparsed = part.unparsed() + (anew ? 0 : unparsed);
      }
    }

    private void drop(Part part) {
      if (part.file() != null) {
        storage.removeQuietly(table.root().resolve(part.file().name()));
      }
    }

    private void giveUp(Iterable<Future<Part>> begun) {
      givenUp = true;
      writing.forEach(Session::cancel);
      for (Future<Part> part : begun) {
        try {
          drop(get(part));
        } catch (IOException e) {
          // It was to fail.
        }
      }
    }

    /** Writes the file of a part. */
    private Part write(
        long version, TableShape shape, List<File> old, long floor, long from, long to)
        throws IOException {
      var local = new ArrayList<Path>();
      try {
        for (int i = 0; i <= old.size(); i++) {
          local.add(Files.createTempFile(settings.scratch(), "cinch-table-", null));
        }
        Path out = local.get(old.size());
        for (int i = 0; i < old.size(); i++) {
          fetch(table.root().resolve(old.get(i).name()), local.get(i));
        }
        LogName name = log.layout().name();
        var source = new Source(store, List.of(name), from, to, false, false, new Told());
        // A directory of its own: DuckDB's names in it are the same in each process.
        Path spill = Path.of(out + "-spill");
        int atOnce = atOnce();
        var limits =
            new Limits(settings.memory() / atOnce, spill, local, settings.workers() / atOnce);
        try (Session session = settings.engine().open(source, limits)) {
          var query = new TableQuery(shape, name, local.subList(0, old.size()), floor, out);
          long through = copy(session, query);
          return part(session, version, query, out, through);
        }
      } finally {
        for (Path file : local) {
          Files.deleteIfExists(file);
        }
      }
    }

    /** Copies; returns the time through which the log was read. */
    private long copy(Session session, TableQuery query) throws IOException {
      requireGoing();
      writing.add(session);
      try (Answer answer = session.run(query.copy())) {
        while (answer.next()) {
          // It says how many rows there are.
        }
        copied.addAndGet(session.read());
        requireGoing();
      } finally {
        writing.remove(session);
      }
      return session.readThrough();
    }

    private void requireGoing() throws IOException {
      if (givenUp || cancelled) {
        throw new InterruptedIOException("no more files of the table are to be added");
      }
    }

    private Part part(Session session, long version, TableQuery query, Path out, long through)
        throws IOException {
      List<Long> facts = numbers(session, query.facts());
      if (facts.get(0) == 0) {
        return new Part(null, through, 0);
      }
      Name name = table.file(version, Id.random(log.store().random()));
      publish(table, out, name);
      var file = new File(name.last(), Files.size(out), facts.get(0), facts.get(1), facts.get(2));
      long nulls = 0;
      for (String statement : query.unparsed()) {
        nulls += numbers(session, statement).get(0);
      }
      return new Part(file, through, nulls);
    }
  }

  /** Tells of messages that no lease permits, one at a time. */
  private final class Told implements LogReader.Objection {
    @Override
    public void ignored(Message message, Name file, String why) {
      synchronized (writing) {
        settings.objection().ignored(message, file, why);
      }
    }
  }

  private void publish(TableLayout table, Path local, Name name) throws IOException {
    storage.prepare(table.root());
    storage.prepare(table.commits());
    try (Draft draft = storage.draft(name);
        FileChannel in = FileChannel.open(local)) {
      ByteBuffer chunk = ByteBuffer.allocate(COPIED);
      while (in.read(chunk) >= 0) {
        draft.write(chunk.flip());
        chunk.clear();
      }
      draft.finish();
      log.requireSame();
      boolean unused = draft.publish(name); // its name is like no other's
    }
    storage.secure(table.root()); // no commit names what may be lost
  }

  private static Part get(Future<Part> part) throws IOException {
    try {
      return part.get();
    } catch (ExecutionException e) {
      if (e.getCause() instanceof IOException cause) {
        throw cause;
      }
      if (e.getCause() instanceof RuntimeException cause) {
        throw cause;
      }
      if (e.getCause() instanceof Error cause) {
        throw cause;
      }
      throw new IOException(e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while a file of the table was written");
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

  /** Brings a file of the store where the engine can read it. */
  private void fetch(Name name, Path to) throws IOException {
    try (Stored in = storage.open(name, Freshness.PERMITTED);
        FileChannel out = FileChannel.open(to, StandardOpenOption.WRITE)) {
      ByteBuffer chunk = ByteBuffer.allocate(COPIED);
      for (long at = 0; in.read(chunk, at) > 0; at = out.position()) {
        out.write(chunk.flip());
        chunk.clear();
      }
    }
  }

  private void delete(List<Name> stale) throws IOException {
    for (Name file : stale) {
      try {
        storage.remove(file);
      } catch (NoSuchFileException e) {
        // Another builder was faster.
      }
    }
  }
}
