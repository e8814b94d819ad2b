package dev.cinch.sim;

/** What a process of a simulated world does for a living. */
enum Role {
  APPENDER,
  SESSION,
  CLOSER,
  READER,
  AGGREGATOR
}
