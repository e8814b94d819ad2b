package dev.cinch.sim.fs;

/** Where a world has its store: how a filesystem treats handles and caches, or none at all. */
public enum FsKind {
  /** One kernel: no caches between processes; an open handle survives chmod and unlink. */
  LOCAL,
  /**
   * Caches; an open handle goes on writing after a chmod, and is stale once the file is removed.
   */
  NFS,
  /** Caches; after a chmod an open handle fails at write, force or close. */
  GLUSTER,
  /** An object store: neither handles nor caches, and requests that come again. */
  OBJECTS
}
