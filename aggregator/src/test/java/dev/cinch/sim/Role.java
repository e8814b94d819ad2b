package dev.cinch.sim;

import java.util.Locale;

/** What a process of a simulated world does for a living. */
enum Role {
  APPENDER,
  SESSION,
  TENTATIVE,
  CLOSER,
  READER,
  AGGREGATOR,
  EXPIRER,
  REMOVER,
  BACKUP,
  CUTTER;

  /** How the names of its processes begin. */
  String processName() {
    return name().toLowerCase(Locale.ROOT);
  }
}
