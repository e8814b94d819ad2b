package dev.cinch.lease.bench;

import java.util.function.Consumer;

/** A replicated cell that {@link CellTurns} measures: three nodes in this process. Thread-safe. */
public interface CellPeer {
  /** How it is named in the table. */
  String name();

  /** Starts three nodes that know nothing and vote at once, over loopback UDP. */
  Nodes start() throws Exception;

  /** Three nodes that run. Thread-safe. */
  interface Nodes extends AutoCloseable {
    /** What {@link CellTurns} does with a lease, made ready before the clock starts. */
    Acquisition acquisition(int node, String name);

    /** How many nodes there are. */
    int size();
  }

  /** Of one lease by one node; begun once. */
  interface Acquisition {
    /**
     * Begins, and does not wait.
     *
     * @param done is told once whether the node holds the lease, on any thread; it is quick
     */
    void begin(Consumer<Boolean> done);
  }
}
