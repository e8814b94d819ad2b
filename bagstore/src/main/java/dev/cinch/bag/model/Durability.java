package dev.cinch.bag.model;

/** How much a COMMITTED message has survived when the writer is told. */
public enum Durability {
  /**
   * Forced to stable storage, new directory entries too: it survives a power cut of server and
   * clients.
   */
  SYNC,
  /**
   * Visible to everybody, and as durable as that makes it. On a filesystem of one kernel it is
   * written and not forced, so that a power cut may lose it; on any other one it is forced, since a
   * client may keep even what it closed (rule N6).
   */
  CLOSE
}
