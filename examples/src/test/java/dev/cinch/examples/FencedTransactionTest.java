package dev.cinch.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.instance.ServiceInstance;
import dev.cinch.lease.time.ManualTime;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The program of docs/fencing.md, with H2, whose READ COMMITTED is the usual one. */
class FencedTransactionTest {
  private static final String NAME = "jobs/42";
  private static final String URL = "jdbc:h2:mem:fenced;DB_CLOSE_DELAY=-1;LOCK_TIMEOUT=60000";
  private static final FencedTransaction.Work ADD =
      database -> {
        try (var update = database.createStatement()) {
          assertEquals(1, update.executeUpdate("UPDATE account SET balance = balance + 1"));
        }
      };

  private final ManualTime time = new ManualTime();
  private Connection database;
  private byte ids;

  @BeforeEach
  void tables() throws SQLException {
    database = DriverManager.getConnection(URL);
    try (var make = database.createStatement()) {
      make.execute("DROP ALL OBJECTS");
      make.execute("CREATE TABLE fence (name VARCHAR(255) PRIMARY KEY, token CHAR(50) NOT NULL)");
      make.execute("CREATE TABLE account (balance INT NOT NULL)");
      make.execute("INSERT INTO account VALUES (0)");
    }
  }

  @AfterEach
  void close() throws SQLException {
    database.close();
  }

  private LeaseService service() throws Exception {
    return ServiceInstance.builder(new WitnessSigner(SigningKey.generate()), time).start();
  }

  private Id acquire(LeaseService service, List<String> tokens) throws Exception {
    var id = new Id(0, ++ids);
    var names = List.of(new LeaseName(NAME));
    var acquire = new Operation.Acquire(id, names, "me", 1_000, LogSet.ALL, false, 0);
    tokens.add(service.acquire(acquire).witnesses().get(0).witness().fencingToken());
    return id;
  }

  private int balance() throws SQLException {
    try (var select = database.createStatement();
        var found = select.executeQuery("SELECT balance FROM account")) {
      assertTrue(found.next());
      return found.getInt(1);
    }
  }

  @Test
  void aHolderOfBeforeChangesNothing() throws Exception {
    var tokens = new java.util.ArrayList<String>();
    LeaseService first = service();
    time.advanceNanos(120_000_000_000L); // no quarantine any more
    Id one = acquire(first, tokens);
    first.release(one, LeaseReport.NOTHING); // and again within the same nanosecond
    Id two = acquire(first, tokens);
    time.advanceNanos(5_000_000_000L); // which runs out
    Id unused = acquire(first, tokens);
    time.advanceNanos(1);
    LeaseService second = service();
    time.advanceNanos(120_000_000_000L);
    unused = acquire(second, tokens);
    assertEquals(tokens, tokens.stream().sorted().distinct().toList());
    assertFalse(one.equals(two));
    for (int i = 0; i < tokens.size(); i++) {
      var mine = new FencedTransaction(NAME, tokens.get(i));
      assertTrue(mine.commit(database, ADD));
      assertTrue(mine.commit(database, ADD));
      for (int before = 0; before < i; before++) {
        assertFalse(new FencedTransaction(NAME, tokens.get(before)).commit(database, ADD));
      }
    }
    assertEquals(2 * tokens.size(), balance());
  }

  @Test
  void aTransactionOfALaterHolderWaitsForOneThatIsUnderWay() throws Exception {
    var early = new FencedTransaction(NAME, "1");
    assertTrue(early.commit(database, ADD));
    var seen = new CompletableFuture<Integer>();
    var begun = new CompletableFuture<Boolean>();
    assertTrue(
        early.commit(
            database,
            mine -> {
              var later =
                  new Thread(
                      () -> {
                        try (Connection other = DriverManager.getConnection(URL)) {
                          begun.complete(true);
                          boolean unused =
                              new FencedTransaction(NAME, "2")
                                  .commit(
                                      other,
                                      its -> {
                                        try (var select = its.createStatement();
                                            var found =
                                                select.executeQuery(
                                                    "SELECT balance FROM account")) {
                                          assertTrue(found.next());
                                          seen.complete(found.getInt(1));
                                        }
                                      });
                        } catch (SQLException e) {
                          seen.completeExceptionally(e);
                        }
                      });
              later.start();
              begun.join();
              ADD.in(mine);
            }));
    assertEquals(2, seen.join());
    assertFalse(early.commit(database, ADD));
  }

  @Test
  void whatFailsChangesNothing() throws Exception {
    var mine = new FencedTransaction(NAME, "1");
    assertThrows(
        SQLException.class,
        () ->
            mine.commit(
                database,
                its -> {
                  ADD.in(its);
                  throw new SQLException("no");
                }));
    assertEquals(0, balance());
    assertTrue(new FencedTransaction(NAME, "0").commit(database, ADD)); // nobody was here
  }

  @Test
  void thePageHasTheProgram() throws Exception {
    String page = Files.readString(Path.of("../docs/fencing.md"));
    Path program = Path.of("src/main/java/dev/cinch/examples/FencedTransaction.java");
    assertTrue(page.contains(Files.readString(program)));
  }
}
