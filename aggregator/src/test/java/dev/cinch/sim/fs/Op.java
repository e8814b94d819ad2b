package dev.cinch.sim.fs;

/** Operations at which the simulator may switch, pause or kill, as a trace names them. */
public enum Op {
  MKDIR,
  RMDIR,
  CREATE,
  MODE,
  OPEN_OVERWRITE,
  OPEN_READ,
  OPEN_UNCACHED,
  STATUS,
  LIST,
  LINK,
  CHMOD,
  UNLINK,
  FORCE_DIRECTORY,
  WRITE,
  FLUSH,
  FORCE,
  CLOSE,
  READ,
  SLEEP,
  RPC,
  START,
  END,
  CRASH,
  ERROR,
  NOTE,
  /** The answer of an object store is under way. */
  ANSWER;

  /** Whether it makes or removes a name. */
  boolean changesNames() {
    return this == MKDIR || this == RMDIR || this == CREATE || this == LINK || this == UNLINK;
  }

  /** Whether it takes room for something new. */
  boolean makes() {
    return this == MKDIR || this == CREATE || this == LINK;
  }

  boolean reads() {
    return this == OPEN_READ || this == OPEN_UNCACHED || this == READ;
  }

  boolean isMeta() {
    return ordinal() <= FORCE_DIRECTORY.ordinal() && !reads();
  }
}
