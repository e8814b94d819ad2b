package dev.cinch.view;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.read.LogReader;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.ServiceLoader;
import org.jspecify.annotations.Nullable;

/**
 * SQL over logs, each of them a table by its name. The add-on {@code cinch-sql} brings one; without
 * it there is none. Thread-safe.
 */
@CheckReturnValue
public interface SqlEngine {
  /** The engine, if the add-on is on the class path. */
  static Optional<SqlEngine> find() {
    return ServiceLoader.load(SqlEngine.class).findFirst();
  }

  /**
   * What statements may read.
   *
   * @param logs of the store, each a table; none is opened before a statement names it
   * @param from nanoseconds since the Unix epoch
   * @param to nothing from this time on is read
   * @param live whether to read also what is not settled; else the logs of a statement are read
   *     through one time, through which all of them are settled
   * @param tables whether logs have the columns of their tables; in a store on files these are read
   *     as far as they go
   * @param objection told of each message that no lease permits
   */
  record Source(
      Store store,
      List<LogName> logs,
      long from,
      long to,
      boolean live,
      boolean tables,
      LogReader.Objection objection) {}

  /**
   * What statements may use.
   *
   * @param memory bytes that the engine takes at most, beside Java's own
   * @param scratch a directory for what does not fit there; made, and removed, as needed
   * @param files those that statements may read and write
   * @param threads at most; more than one have a scan that runs on one wait for it busily
   */
  record Limits(long memory, Path scratch, List<Path> files, int threads) {
    public Limits {
      files = List.copyOf(files);
    }
  }

  /** Opens a session; to be closed. */
  Session open(Source source, Limits limits) throws IOException;

  /**
   * Asks a person for lines, with a history.
   *
   * @param history a file; null: it is kept in memory
   */
  Prompt prompt(@Nullable Path history) throws IOException;

  /** Statements of one user. Not thread-safe, but for {@link #cancel}. */
  interface Session extends Closeable {
    /**
     * Runs one statement.
     *
     * @throws StatementException if the statement can't be run
     * @throws dev.cinch.bag.format.DamagedException if what it reads is damaged, as any read
     */
    Answer run(String statement) throws IOException;

    /** Ends the statement that runs, if one does: it fails. Any thread may call it. */
    void cancel();

    /** The time through which the last statement has read its logs: all that is settled. */
    long readThrough();

    /** How many messages the statement has read so far. Any thread may ask. */
    long read();
  }

  /** Rows, one at a time; to be closed before the next statement. Not thread-safe. */
  interface Answer extends Closeable {
    /** The names of the columns; none if the statement has no rows. */
    List<String> columns();

    /** Whether the values of a column, counted from 0, are numbers. */
    boolean isNumber(int column);

    /** Goes to the next row; false if there is none. Fails as {@link Session#run} does. */
    boolean next() throws IOException;

    /**
     * A value of this row, of a column counted from 0: null, a Boolean, Number, String, Instant or
     * {@code byte[]}, a List of these, or a Map with names.
     */
    @Nullable Object value(int column) throws IOException;
  }

  /** A line editor at a terminal; to be closed. Not thread-safe. */
  interface Prompt extends Closeable {
    /**
     * The next line.
     *
     * @param before what stands before it
     * @return empty if the user gave it up (Ctrl-C); null at the end (Ctrl-D)
     */
    @Nullable String line(String before) throws IOException;

    /** What Ctrl-C does while no line is asked for; called on another thread. */
    void onInterrupt(Runnable action);
  }

  /** A statement is wrong, or can't be run; the message is for its author. */
  final class StatementException extends IOException {
    private static final long serialVersionUID = 1;

    private final boolean wrong;

    /**
     * @param wrong whether the statement has to be changed, and not what it ran with
     */
    public StatementException(String message, boolean wrong) {
      super(message);
      this.wrong = wrong;
    }

    /** Whether the statement has to be changed. */
    public boolean isWrong() {
      return wrong;
    }
  }
}
