package dev.cinch.sim.fs;

/** What may go wrong in a simulated world. Each run turns a random subset off. */
public enum FaultKind {
  /** A process stands still at an operation, for up to some buckets, or half a minute. */
  PAUSE(40, 1_500),
  /** A process is killed before or after an operation; the kernel still writes what it buffered. */
  CRASH(300, 4_000),
  /** The whole machine stops: all its processes, its caches and what they buffered. */
  MACHINE_CRASH(1_500, 12_000),
  /** An operation other than reading and writing fails with EIO, before or after its effect. */
  META_ERROR(100, 2_000),
  /** Opening or reading fails with EIO or ESTALE. */
  READ_ERROR(60, 2_000),
  /** Write, force or close fail after part of the data; the rest comes late or never. */
  WRITE_ERROR(6, 200),
  /** No space or no quota is left after part of a write. */
  NO_SPACE(10, 200),
  /** The reply to an operation that makes or removes a name is lost, and the retry fails. */
  REPLY_LOST(20, 400),
  /** Buffered data reaches the server in pieces and out of order. */
  PIECES(1, 4),
  /** The client answers from its attribute and negative-entry caches. */
  ATTRIBUTES_CACHED(1, 1),
  /** The client answers listings from its cache while the directory's time is the same. */
  LISTINGS_CACHED(1, 1),
  /** A page of cached data is wrong, and right past the cache (rule N5). */
  BAD_PAGE(4, 100),
  /** The server loses what was not forced. */
  SERVER_REBOOT(200, 4_000),
  /** A machine's clock steps. */
  CLOCK_STEP(400, 5_000),
  /** The server's clock steps. */
  SERVER_CLOCK_STEP(800, 8_000),
  /** Something happens again and again at some points of the protocol. */
  AMBUSH(1, 8),
  /** An RPC never reaches the lease service, or late. */
  REQUEST_LOST(8, 80),
  /** The answer of the lease service is lost. */
  ANSWER_LOST(8, 80),
  /** An RPC or its answer takes long. */
  RPC_SLOW(4, 40),
  /** An RPC arrives twice, the second time possibly much later. */
  RPC_DOUBLED(6, 60),
  /** The lease service stops and starts again without memory. */
  SERVICE_CRASH(15, 150),
  /** A stopped lease service was only paused, and some clients still reach it. */
  SERVICE_ZOMBIE(1, 1),
  /** The lease service's clock steps. */
  SERVICE_CLOCK_STEP(2, 8),
  /** The server gives clients delegations for files. */
  DELEGATIONS(1, 1),
  /** A client does not answer when the server wants a delegation back. */
  DELEGATION_REVOKED(1, 3),
  /** The server gives clients delegations for directories, too. */
  DIRECTORY_DELEGATIONS(1, 1),
  /** A client gives a link up (a soft mount), and the server carries it out later. */
  GIVEN_UP(3, 60),
  /** A part of the tree has no room for anything new, for a while: no inodes, or a quota. */
  FULL(200, 4_000),
  /** A request never reaches the object store. */
  OBJECT_REQUEST_LOST(10, 400),
  /** The answer of the object store is lost, or is another server's that knows of nothing. */
  OBJECT_ANSWER_LOST(10, 400),
  /** The object store turns a request away (409, 429, 5xx), whatever is there. */
  OBJECT_TURNED_AWAY(10, 400),
  /** A change is carried out twice, and the second time is answered. */
  OBJECT_TWICE(5, 100),
  /** A change is carried out at some time after its sender stopped waiting, or once more. */
  OBJECT_LATE(5, 200),
  /** The object store answers nobody for a while. */
  OBJECT_AWAY(200, 4_000);

  final int lowest;
  final int highest;

  /** One opportunity in so many, drawn for each run between the two. */
  FaultKind(int lowest, int highest) {
    this.lowest = lowest;
    this.highest = highest;
  }
}
