package dev.cinch.lease.http;

import com.sun.management.UnixOperatingSystemMXBean;
import java.lang.management.ManagementFactory;

/**
 * What a server allows those who connect to it (docs/decisions/http-server.md says why).
 *
 * @param connections open at once, at least 1
 * @param perPeer open at once from one address, at least 1
 * @param requestMs how long a request may take to arrive, from its first byte, or from the
 *     beginning of a new connection, milliseconds
 * @param idleMs how long a connection may be quiet between requests, milliseconds
 * @param answerMs how long an answer may take to leave, milliseconds
 * @param heldBytes bodies that arrive and answers that leave, all together, at most
 */
record ServerLimits(
    int connections, int perPeer, long requestMs, long idleMs, long answerMs, long heldBytes) {
  private static final int MOST = 4_096;
  private static final int LEAST = 16;

  /** What a connection may cost of the heap besides what is counted as held. */
  private static final long BYTES_PER_CONNECTION = 64 << 10;

  /** Where the system does not say how many files a process may have open. */
  private static final long USUAL_DESCRIPTORS = 1_024;

  ServerLimits {
    if (connections < 1 || perPeer < 1) {
      throw new IllegalArgumentException(
          "at least one connection, and one from each address, not "
              + connections
              + " and "
              + perPeer);
    }
  }

  /** For this process: its heap, and half of the descriptors that it may have. */
  static ServerLimits ofProcess() {
    long heap = Runtime.getRuntime().maxMemory();
    long descriptors =
        ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean unix
            ? unix.getMaxFileDescriptorCount()
            : USUAL_DESCRIPTORS;
    return of(heap, descriptors);
  }

  /**
   * For a process.
   *
   * @param heap bytes
   * @param descriptors files and connections that it may have open
   */
  static ServerLimits of(long heap, long descriptors) {
    long most = Math.min(MOST, Math.min(descriptors / 2, heap / BYTES_PER_CONNECTION));
    int connections = (int) Math.max(LEAST, most);
    return new ServerLimits(connections, connections / 2, 10_000, 60_000, 30_000, heap / 8);
  }

  /** The same with so many connections in all; no more than that from one address. */
  ServerLimits withConnections(int most) {
    return new ServerLimits(
        most, Math.min(perPeer, Math.max(1, most)), requestMs, idleMs, answerMs, heldBytes);
  }

  /** The same with so many connections from each address. */
  ServerLimits withPerPeer(int most) {
    return new ServerLimits(connections, most, requestMs, idleMs, answerMs, heldBytes);
  }
}
