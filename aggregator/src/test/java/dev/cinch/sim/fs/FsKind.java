package dev.cinch.sim.fs;

/** How the filesystem of a world treats handles and caches. */
public enum FsKind {
  /** One kernel: no caches between processes; an open handle survives chmod and unlink. */
  LOCAL,
  /**
   * Caches; an open handle goes on writing after a chmod, and is stale once the file is removed.
   */
  NFS,
  /** Caches; after a chmod an open handle fails at write, force or close. */
  GLUSTER
}
