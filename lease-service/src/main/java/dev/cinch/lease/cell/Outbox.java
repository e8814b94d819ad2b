package dev.cinch.lease.cell;

/**
 * Where a machine puts what it wants sent. The caller may deliver a message late, never, or several
 * times, in any order, but not altered (PaxosLease, 1.1).
 */
@FunctionalInterface
public interface Outbox {
  void send(int node, Message message);
}
