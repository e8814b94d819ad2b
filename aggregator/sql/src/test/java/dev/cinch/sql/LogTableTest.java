package dev.cinch.sql;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.Session;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.testkit.TestStore;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.IsoTime;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.time.TimeSource;
import dev.cinch.view.SqlEngine;
import dev.cinch.view.SqlEngine.Answer;
import dev.cinch.view.SqlEngine.Limits;
import dev.cinch.view.SqlEngine.Source;
import dev.cinch.view.SqlEngine.StatementException;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What statements find in logs, held against what a reader finds there. */
@SuppressWarnings("NullAway.Init")
class LogTableTest {
  private static final LogName JOBS = new LogName("jobs");
  private static final LogName SELECT = new LogName("select");

  @TempDir Path temp;

  private TestStore test;
  private long now;

  @BeforeEach
  void make() throws IOException {
    test = new TestStore();
  }

  @AfterEach
  void end() throws IOException {
    test.close();
  }

  private SqlEngine.Session open(boolean live) throws IOException {
    return open(live, Long.MIN_VALUE, Long.MAX_VALUE);
  }

  private SqlEngine.Session open(boolean live, long from, long to) throws IOException {
    Store store = test.open("reader");
    var source = new Source(store, store.logs(), from, to, live, false, (m, file, why) -> {});
    return new DuckDbEngine()
        .open(
            source,
            new Limits(1 << 28, temp.resolve("scratch"), List.of(temp.resolve("output")), 2));
  }

  private static List<List<@Nullable Object>> rows(SqlEngine.Session session, String statement)
      throws IOException {
    var rows = new ArrayList<List<@Nullable Object>>();
    try (Answer answer = session.run(statement)) {
      while (answer.next()) {
        var row = new ArrayList<@Nullable Object>();
        for (int i = 0; i < answer.columns().size(); i++) {
          Object value = answer.value(i);
          row.add(value instanceof byte[] bytes ? HexFormat.of().formatHex(bytes) : value);
        }
        rows.add(row);
      }
    }
    return rows;
  }

  private static Object one(SqlEngine.Session session, String statement) throws IOException {
    return Objects.requireNonNull(rows(session, statement).get(0).get(0));
  }

  /** One whose wall clock stands still while both machines write. */
  private LogWriter writer(String machine, LogName log) throws IOException {
    var time =
        new TimeSource() {
          @Override
          public long wallNanos() {
            return now;
          }

          @Override
          public long monotonicNanos() {
            return test.clock().monotonicNanos();
          }

          @Override
          public void sleepNanos(long nanos) {
            test.clock().sleepNanos(nanos);
          }
        };
    return Store.open(test.root(), Store.Environment.of(new MachineName(machine), time))
        .log(log)
        .writer(Durability.CLOSE);
  }

  /** Writes messages of every kind from two machines, some of them at equal times. */
  private Log written(LogName name, int count, long seed) throws Exception {
    Log log = test.store().createLog(name);
    var random = new Random(seed);
    for (int i = 0; i < count; i++) {
      test.clock().advanceMs(random.nextInt(3) * 400L);
      now = test.clock().wallNanos();
      for (String machine : List.of("a", "b")) {
        byte[] payload = new byte[random.nextInt(20)];
        random.nextBytes(payload);
        if (random.nextBoolean()) {
          payload = ("{\"n\":" + i + ",\"s\":\"ü\\u0000\"}").getBytes(UTF_8);
        }
        try (var writer = writer(machine, name)) {
          assertTrue(writer.append(payload) instanceof Receipt.Committed);
        }
      }
    }
    return log;
  }

  /** Time, tie, machine, leases, payload and bytes, as columns have them. */
  private static List<List<@Nullable Object>> expected(Log log, boolean live) throws IOException {
    var rows = new ArrayList<List<@Nullable Object>>();
    var last = new long[] {Long.MIN_VALUE, 0};
    try (var messages =
        log.reader().cursor(Long.MIN_VALUE, Long.MAX_VALUE, live, (m, file, why) -> {})) {
      long unused = messages.look();
      for (var m = messages.next(); m != null; m = messages.next()) {
        last[1] = m.timestamp() == last[0] ? last[1] + 1 : 0;
        last[0] = m.timestamp();
        String text = new String(m.payload(), UTF_8);
        boolean isText = Arrays.equals(text.getBytes(UTF_8), m.payload());
        rows.add(
            Arrays.asList(
                IsoTime.text(m.timestamp() / 1000 * 1000),
                m.timestamp(),
                last[1],
                m.file().machine().value(),
                m.leases().stream().map(s -> s.witness().name().value()).toList(),
                isText ? text : null,
                HexFormat.of().formatHex(m.payload())));
      }
    }
    return rows;
  }

  private static final String ALL =
      "SELECT strftime(time, '%Y-%m-%dT%H:%M:%S.%f000Z'), time_ns, tie, machine, leases, payload,"
          + " bytes FROM ";

  @Test
  void eachMessageIsARowInOrder() throws Exception {
    Log log = written(JOBS, 300, 1);
    Log other = written(SELECT, 20, 2);
    test.settle(log);
    test.settle(other);
    try (var session = open(false)) {
      assertEquals(expected(log, false), rows(session, ALL + "jobs"));
      assertEquals(expected(other, false), rows(session, ALL + "\"select\""));
      assertEquals(rows(session, ALL + "jobs"), rows(session, ALL + "jobs ORDER BY time_ns, tie"));
      assertTrue((long) one(session, "SELECT sum(tie)::bigint FROM jobs") > 0); // or it shows less
      assertTrue((long) one(session, "SELECT count(*) FROM jobs WHERE payload IS NULL") > 0);
      // Columns in any order, and one twice.
      assertEquals(
          rows(session, "SELECT bytes, machine, bytes, time_ns FROM jobs"),
          expected(log, false).stream()
              .map(r -> Arrays.asList(r.get(6), r.get(3), r.get(6), r.get(1)))
              .toList());
    }
  }

  @Test
  void liveAddsWhatIsNotSettled() throws Exception {
    Log log = written(JOBS, 50, 3);
    test.settle(log);
    Log more = written(JOBS, 5, 4);
    try (var settled = open(false);
        var live = open(true)) {
      assertEquals(100L, one(settled, "SELECT count(*) FROM jobs"));
      assertEquals(110L, one(live, "SELECT count(*) FROM jobs"));
      assertEquals(expected(more, true), rows(live, ALL + "jobs"));
    }
  }

  @Test
  void namesOfLeasesAndAGeneration() throws Exception {
    Log log = test.store().createLog(JOBS);
    try (Session session = Session.open(test.store(), test.leases(), "holder")) {
      session.acquire(
          List.of(new LeaseName("jobs/1"), new LeaseName("jobs/2")), Duration.ofSeconds(50));
      assertTrue(session.append(log, "x".getBytes(UTF_8)) instanceof Receipt.Committed);
    }
    test.settle(log);
    try (var session = open(false)) {
      assertEquals(
          List.of(List.of(List.of("jobs/1", "jobs/2"), true)),
          rows(session, "SELECT leases, generation > 0 FROM jobs"));
    }
  }

  /** Two logs of a statement are read through one time; each alone through its own. */
  @Test
  void aStatementReadsItsLogsAtOneInstant() throws Exception {
    Log log = written(JOBS, 40, 5);
    Log other = written(SELECT, 40, 6);
    test.settle(log);
    try (var session = open(false)) {
      assertEquals(80L, one(session, "SELECT count(*) FROM jobs"));
      String both = "SELECT (SELECT count(*) FROM jobs), (SELECT count(*) FROM \"select\")";
      assertEquals(List.of(List.of(0L, 0L)), rows(session, both)); // nothing of one is settled
      test.settle(other);
      Log later = written(JOBS, 10, 7);
      test.settle(later);
      assertEquals(List.of(List.of(80L, 80L)), rows(session, both));
      assertEquals(100L, one(session, "SELECT count(*) FROM jobs"));
    }
  }

  /** A filter changes no row, and keeps what it leaves out from being read. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "time >= '%1$s'",
        "time > '%1$s'",
        "time < '%1$s'",
        "time <= '%1$s'",
        "time = '%1$s'",
        "'%1$s' < time AND payload IS NOT NULL AND time <= '%2$s'",
        "time BETWEEN '%1$s' AND '%2$s'",
        "time_ns > %3$d",
        "time_ns BETWEEN %3$d AND %4$d",
        "%4$d >= time_ns",
        "time >= '%1$s' AND NOT (time > '%2$s')",
        "machine = 'x AND time > 1' OR time > '%2$s' AND machine = 'a'",
        "machine = 'a' AND (time < '%1$s' OR time > '%2$s')",
        "CASE WHEN machine = 'a' THEN time > '%1$s' ELSE time < '%1$s' END",
        "time + INTERVAL 1 second > '%2$s'",
        "time::DATE = '%1$s'::DATE",
        "time > '%1$s' AND time < 'infinity'",
      })
  void filters(String where) throws Exception {
    Log log = written(JOBS, 120, 8);
    test.settle(log);
    List<List<@Nullable Object>> all = expected(log, false);
    String early = (String) all.get(all.size() / 2).get(0);
    String late = (String) all.get(all.size() / 2 + 20).get(0);
    long first = (long) all.get(all.size() / 2).get(1);
    long last = (long) all.get(all.size() / 2 + 20).get(1);
    String condition = where.formatted(early, late, first, last);
    try (var session = open(false)) {
      List<List<@Nullable Object>> found = rows(session, ALL + "jobs WHERE " + condition);
      long read = session.read();
      // Without what the plan says: a table of the engine's own.
      rows(session, "CREATE TABLE copy AS SELECT * FROM jobs");
      assertEquals(240, session.read());
      assertEquals(rows(session, ALL + "copy WHERE " + condition), found);
      boolean understood =
          !condition.contains(" OR ") && !condition.contains("CASE") && !where.contains("+");
      assertTrue(understood == (read < 240) || where.contains("DATE"), condition + ": " + read);
    }
  }

  @Test
  void aLogTwiceInAStatementHasWhatBothScansWant() throws Exception {
    Log log = written(JOBS, 60, 9);
    test.settle(log);
    long half = (long) expected(log, false).get(60).get(1);
    String query =
        "SELECT count(*) FROM (SELECT time_ns FROM jobs WHERE time_ns < %d UNION ALL"
            + " SELECT time_ns FROM jobs WHERE time_ns >= %d)";
    try (var session = open(false)) {
      assertEquals(120L, one(session, query.formatted(half, half)));
    }
    long second = (long) expected(log, false).get(90).get(1);
    try (var session = open(false, half, second)) {
      long between =
          expected(log, false).stream()
              .filter(r -> (long) r.get(1) >= half && (long) r.get(1) < second)
              .count();
      assertEquals(between, one(session, "SELECT count(*) FROM jobs"));
    }
  }

  @Test
  void whatIsNoJsonIsNull() throws Exception {
    Log log = written(JOBS, 30, 10);
    test.settle(log);
    try (var session = open(false)) {
      long json =
          (long) one(session, "SELECT count(*) FROM jobs WHERE starts_with(payload, '{\"n\"')");
      assertEquals(
          json, one(session, "SELECT count(*) FROM jobs WHERE payload ->> '$.n' IS NOT NULL"));
      assertEquals(json, one(session, "SELECT count(*) FROM jobs WHERE TRY(payload -> 'n') >= 0"));
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM glob('/*')",
        "COPY jobs TO '/tmp/x'",
        "ATTACH '/tmp/x.db'",
        "EXPORT DATABASE '/tmp/x'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET memory_limit = '1TB'",
        "SET enable_external_access = true",
        "RESET lock_configuration",
        "SELECT * FROM none",
        "SELEC 1",
        "SELECT payload::int FROM jobs",
        "SELECT error('x')",
        "INSERT INTO jobs VALUES (1)",
      })
  void isRefused(String statement) throws Exception {
    Log log = test.store().createLog(JOBS);
    try (var writer = log.writer(Durability.CLOSE)) {
      assertTrue(writer.append("x".getBytes(UTF_8)) instanceof Receipt.Committed);
    }
    test.settle(log);
    try (var session = open(false)) {
      StatementException e =
          assertThrows(StatementException.class, () -> rows(session, statement), statement);
      assertTrue(!("" + e.getMessage()).contains("Invalid result set"), "" + e.getMessage());
      assertEquals(1L, one(session, "SELECT count(*) FROM jobs")); // the session goes on
    }
  }
}
