package dev.cinch.bag.storage;

import java.io.IOException;

/**
 * Patience with something that looks missing: users who see past every cache need not wait; those
 * who may only read look again until every cache has expired. Begins when it is first asked. Not
 * thread-safe.
 */
public interface Patience {
  /** Whether every cache has expired since this was first asked, or there is none. */
  boolean isOver();

  /**
   * Waits a while where another look may show more.
   *
   * @return false if it would not: what looked missing then is missing
   */
  boolean again() throws IOException;
}
