package dev.cinch.lease.bench;

/** A lease service seen through its client library, all callers in this process. Thread-safe. */
public interface LeasePeer {
  /** How it is named in the table. */
  String name();

  /** What one thread takes and gives back, again and again; names of different callers differ. */
  Caller caller(int number) throws Exception;

  /**
   * One thread's use of the service; each call returns when its answer is there and was checked.
   */
  interface Caller {
    /** Takes a lease that nobody holds. */
    void acquire() throws Exception;

    /** Prolongs it; nothing with a service whose sessions do that. */
    void renew() throws Exception;

    /** Gives it back. */
    void release() throws Exception;
  }
}
