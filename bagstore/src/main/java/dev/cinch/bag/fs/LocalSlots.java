package dev.cinch.bag.fs;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Small files of this machine alone, each locked by at most one holder at a time, in which one
 * process leaves something for the next. No part of a store: rule N1 forbids advisory locks across
 * machines, and these are for one kernel. Implementations are thread-safe.
 */
public interface LocalSlots {
  /** What tells this run of the kernel from all others; never empty. */
  String boot();

  /**
   * Locks a slot, making it if there is none; never waits.
   *
   * @param name of a file
   * @return empty if anybody holds it, in this process too
   */
  Optional<Slot> lock(String name) throws IOException;

  /** A locked slot. Not thread-safe. */
  interface Slot extends Closeable {
    /** For messages. */
    Path path();

    /** All it holds; empty if nobody left anything. */
    byte[] read() throws IOException;

    /** Replaces what it holds. A process killed meanwhile may leave a part, which readers check. */
    void write(byte[] state) throws IOException;

    /** Unlocks it. The end of the process does so too. */
    @Override
    void close() throws IOException;
  }
}
