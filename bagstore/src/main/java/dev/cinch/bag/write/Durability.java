package dev.cinch.bag.write;

/** How much a COMMITTED message has survived when the writer is told. */
public enum Durability {
  /**
   * Forced to stable storage, new directory entries too: it survives a power cut of server and
   * clients.
   */
  SYNC,
  /**
   * Closed: as visible, and as durable, as close-to-open makes it. NFS writes back on close; a
   * local disk does not.
   */
  CLOSE
}
