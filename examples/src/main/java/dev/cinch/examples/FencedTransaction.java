package dev.cinch.examples;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;

/**
 * Transactions of a database under a lease: none of a holder commits once a later holder's has.
 * Needs a table {@code CREATE TABLE fence (name VARCHAR(255) PRIMARY KEY, token CHAR(50) NOT
 * NULL)}.
 */
public final class FencedTransaction {
  private final String name;
  private final String token;

  /**
   * Of a lease that was acquired.
   *
   * @param token {@code Witness.fencingToken()}
   */
  public FencedTransaction(String name, String token) {
    this.name = name;
    this.token = token;
  }

  /** What a transaction does. */
  @FunctionalInterface
  public interface Work {
    void in(Connection database) throws SQLException;
  }

  /**
   * Commits work, or rolls it back.
   *
   * @return false if a later holder was here: nothing was changed, and the lease is lost
   */
  public boolean commit(Connection database, Work work) throws SQLException {
    database.setAutoCommit(false);
    try {
      // The row stays locked until the end, so holders come one after the other.
      boolean mine = change(database, "UPDATE fence SET token = ? WHERE name = ? AND token <= ?");
      if (mine || isFirst(database)) {
        work.in(database);
        database.commit();
        return true;
      }
      database.rollback();
      return false;
    } catch (SQLException | RuntimeException e) {
      database.rollback();
      throw e;
    }
  }

  private boolean change(Connection database, String sql) throws SQLException {
    try (PreparedStatement update = database.prepareStatement(sql)) {
      update.setString(1, token);
      update.setString(2, name);
      update.setString(3, token);
      return update.executeUpdate() == 1;
    }
  }

  /** Whether no holder was here before; of two that find so at once, the primary key stops one. */
  private boolean isFirst(Connection database) throws SQLException {
    try (PreparedStatement insert =
        database.prepareStatement(
            "INSERT INTO fence (token, name) SELECT ?, ?"
                + " WHERE NOT EXISTS (SELECT 1 FROM fence WHERE name = ?)")) {
      insert.setString(1, token);
      insert.setString(2, name);
      insert.setString(3, name);
      return insert.executeUpdate() == 1;
    }
  }
}
