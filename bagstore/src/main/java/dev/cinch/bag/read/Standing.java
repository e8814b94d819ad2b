package dev.cinch.bag.read;

/** What is said of a data file's messages by others: decides how strictly it is read. */
public enum Standing {
  /** Nothing yet: the first frame that is not whole is the end. */
  OPEN,

  /** A lock says how much of it exists. No record lists the lock, so nothing is settled. */
  LOCKED,

  /** A lock says how much of it exists, and a record lists the lock (rule H1). */
  SETTLED
}
