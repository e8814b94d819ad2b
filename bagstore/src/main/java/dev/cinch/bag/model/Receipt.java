package dev.cinch.bag.model;

import com.google.errorprone.annotations.CheckReturnValue;

/** The definite fate of one message (rule A1). There is no third. */
@CheckReturnValue
public sealed interface Receipt {
  /** The message's timestamp, nanoseconds since the Unix epoch. */
  long timestamp();

  /**
   * It is in the log, for ever, exactly once.
   *
   * @param timestamp first part of its place in the order
   * @param bucket that it is in
   * @param file second part: the data file, bytewise by name
   * @param position third part: counted in the file from 0
   */
  record Committed(long timestamp, Bucket bucket, DataFileName file, long position)
      implements Receipt {}

  /**
   * It is not in the log and never will be; it may be sent again, with a new timestamp (rule A3).
   *
   * @param timestamp that it had; if no byte of it was written, later messages may have lower ones
   * @param reason one line for the user
   */
  record Rejected(long timestamp, String reason) implements Receipt {}
}
