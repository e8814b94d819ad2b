package dev.cinch.cli.read;

import dev.cinch.bag.Store;
import dev.cinch.bag.model.LogName;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.Misuse;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.StoreOptions;
import dev.cinch.cli.base.TimeRange;
import dev.cinch.view.SqlEngine;
import dev.cinch.view.SqlEngine.Answer;
import dev.cinch.view.SqlEngine.Limits;
import dev.cinch.view.SqlEngine.Prompt;
import dev.cinch.view.SqlEngine.Session;
import dev.cinch.view.SqlEngine.Source;
import dev.cinch.view.SqlEngine.StatementException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** SQL over logs, each a table by its name. */
@Command(
    name = "sql",
    description = {
      "Run SQL over logs: each is a table by its name, and nothing has to be built before.",
      "Columns: time, time_ns and tie, which give the total order; machine, leases, generation;"
          + " payload, where it is text, and bytes. The logs of a statement are read at one instant:"
          + " through the time through which all of them are settled.",
      "A statement changes nothing, and reaches no file and no network. Without one, asks for"
          + " them at a terminal, or reads them from standard input."
    },
    footer = {
      "",
      "Examples:",
      "  cinch sql \"SELECT machine, count(*) FROM jobs GROUP BY machine\"",
      "  cinch sql --csv \"SELECT time, payload ->> '$.price' AS price FROM trades ORDER BY time_ns, tie\"",
      "  cinch sql --parquet /tmp/today.parquet \"SELECT * FROM jobs WHERE time >= current_date\""
    })
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class SqlCommand implements Callable<Integer> {
  private static final String NAME = "cinch sql";
  private static final String HELP =
      ".tables lists the logs, .quit ends. A statement ends with a semicolon.";

  private final Io io;

  /** Asked when a statement was run, whether what it read is still there. */
  private Instant instant = () -> {};

  private interface Instant {
    void check() throws IOException;
  }

  @Parameters(arity = "0..1", paramLabel = "STATEMENT", description = "What to run.")
  @Nullable String text;

  @Mixin StoreOptions store;
  @Mixin TimeRange range;

  @Option(names = "--cut", paramLabel = "N", description = CutReading.HELP)
  @Nullable String cut;

  @Option(names = "--live", description = "Also what is not settled yet.")
  boolean live;

  @Option(names = "--csv", description = "Rows as CSV, quoted as RFC 4180 says.")
  boolean csv;

  @Option(names = "--json", description = "A JSON object a row.")
  boolean json;

  @Option(
      names = "--parquet",
      paramLabel = "FILE",
      description = "Write the rows to a Parquet file, in place of one that is there.")
  @Nullable Path parquet;

  @Option(
      names = "--memory",
      paramLabel = "MIB",
      defaultValue = "1024",
      description =
          "What the engine takes at most, beside Java's own memory. What does not fit goes to a"
              + " temporary directory.")
  int memory;

  SqlCommand(Io io) {
    this.io = io;
  }

  @Override
  public Integer call() throws IOException {
    range.check();
    if (csv && json || parquet != null && (csv || json)) {
      throw new Misuse("--csv, --json and --parquet are three ways; choose one");
    }
    if (parquet != null && text == null) {
      throw new Misuse("--parquet is for a statement: name one");
    }
    if (memory < 64) {
      throw new Misuse("--memory is 64 at least");
    }
    if (cut != null) {
      CutReading.check(range, live, " and --live");
    }
    SqlEngine engine = engine();
    Store opened = store.open();
    @Nullable CutReading of = cut == null ? null : CutReading.of(opened, cut);
    List<LogName> logs = of == null ? opened.permittedLogs() : of.readable(range.start(), io, NAME);
    long end = of == null ? range.end() : of.time();
    instant = of == null ? () -> {} : () -> of.check(logs, range.start());
    var ignored = new IgnoredMessages(io, NAME);
    var source = new Source(opened, logs, range.start(), end, live, true, ignored);
    Path scratch =
        Path.of(System.getProperty("java.io.tmpdir"), "cinch-sql-" + ProcessHandle.current().pid());
    Path target = parquet == null ? null : parquet.toAbsolutePath().normalize();
    Path written =
        target == null
            ? null
            : target.resolveSibling(
                "tmp-" + target.getFileName() + "-" + ProcessHandle.current().pid());
    List<Path> files = written == null ? List.of() : List.of(written);
    try (Session session =
        engine.open(
            source,
            new Limits(
                memory * (1L << 20), scratch, files, Runtime.getRuntime().availableProcessors()))) {
      if (text == null && io.outTerminal() && System.console() != null) {
        return ask(engine, session, logs);
      }
      io.stop().listen();
      io.stop().onRequest(session::cancel);
      if (target != null && written != null) {
        export(session, written, target);
      } else {
        String all = text == null ? input() : text;
        for (String statement : Statements.of(all)) {
          run(session, statement);
        }
      }
      return ignored.end();
    } catch (StatementException e) {
      if (io.stop().requested()) {
        return io.stop().exitCode();
      }
      if (e.isWrong()) {
        throw new Misuse("" + e.getMessage(), e);
      }
      throw e;
    }
  }

  /** The add-on. */
  static SqlEngine engine() throws IOException {
    return SqlEngine.find()
        .orElseThrow(
            () ->
                new Failure.Refusal(
                    "SQL is an add-on, which is not here: unpack cinch-sql over this release, or install"
                        + " its Debian package; in a checkout run mvn -Dquick -pl aggregator/sql -am package"));
  }

  private String input() throws IOException {
    var bytes = new ByteArrayOutputStream();
    long unused = io.in().transferTo(bytes);
    return bytes.toString(StandardCharsets.UTF_8);
  }

  private void export(Session session, Path written, Path target) throws IOException {
    String statement = Statements.one("" + text);
    try {
      String copy = "COPY (%s\n) TO '%s' (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)";
      run(session, copy.formatted(statement, written.toString().replace("'", "''")));
      Files.move(written, target, StandardCopyOption.ATOMIC_MOVE);
    } finally {
      Files.deleteIfExists(written);
    }
  }

  private void run(Session session, String statement) throws IOException {
    if (statement.isBlank()) {
      return;
    }
    try (Output out = io.output();
        Answer answer = watched(session, statement)) {
      out.ifClosed(ExitCode.GOOD);
      if (parquet == null && !answer.columns().isEmpty()) {
        new SqlPrinter(out, answer).print(json, csv);
      }
    }
    instant.check();
  }

  /** The time goes into what comes before the first row. */
  private Answer watched(Session session, String statement) throws IOException {
    try (var watch = new Watch(io, session::read, () -> 0, " messages read")) {
      return session.run(statement);
    }
  }

  /** Asks for statements until the end; one that fails ends nothing. */
  private int ask(SqlEngine engine, Session session, List<LogName> logs) throws IOException {
    try (Prompt prompt = engine.prompt(history())) {
      prompt.onInterrupt(session::cancel);
      var text = new StringBuilder();
      while (true) {
        String line = prompt.line(text.isEmpty() ? "cinch> " : "  ...> ");
        if (line == null) {
          return ExitCode.GOOD;
        }
        if (line.isEmpty()) {
          text.setLength(0); // given up
        } else if (text.isEmpty() && line.startsWith(".")) {
          if (line.strip().equals(".quit")) {
            return ExitCode.GOOD;
          }
          tell(line.strip(), logs);
        } else {
          text.append(line).append('\n');
          List<String> statements = Statements.of(text.toString());
          String rest = statements.get(statements.size() - 1);
          if (rest.isBlank()) {
            answer(session, statements);
            text.setLength(0);
          }
        }
      }
    }
  }

  private void tell(String command, List<LogName> logs) throws IOException {
    try (Output out = io.output()) {
      if (command.equals(".tables")) {
        for (LogName log : logs) {
          out.line(log.value());
        }
      } else {
        out.line(HELP);
      }
    }
  }

  private void answer(Session session, List<String> statements) {
    try {
      for (String statement : statements) {
        run(session, statement);
      }
    } catch (IOException e) {
      io.told(NAME, e);
    }
  }

  private @Nullable Path history() {
    String state = io.env().apply("XDG_STATE_HOME");
    String home = io.env().apply("HOME");
    if (state == null && home == null) {
      return null;
    }
    Path directory =
        state == null ? Path.of(home, ".local", "state", "cinch") : Path.of(state, "cinch");
    try {
      return Files.createDirectories(directory).resolve("sql.history");
    } catch (IOException e) {
      return null; // none is kept
    }
  }
}
