package dev.cinch.lease.memory;

import dev.cinch.lease.AcquireRequest;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LogSet;
import java.util.List;

/**
 * One acquire request that was granted, kept under its secret id; after its end for a while, so
 * that a late copy of the request is not granted anew. Guarded by its stripe.
 */
final class GrantEntry {
  private static final LeaseEntry[] NOTHING = {};

  final String holder;
  final LogSet logs;
  final long durationMs;
  final boolean tentative;
  boolean released;

  /** Whether its leases are full: asked for so, or upgraded. */
  boolean full;

  /** In ascending order of names; empty once released. */
  LeaseEntry[] entries;

  /** When it may be forgotten, by the service's time. */
  long keepUntil;

  GrantEntry(AcquireRequest request, String holder, LogSet logs, int names) {
    this.holder = holder;
    this.logs = logs;
    this.durationMs = request.durationMs();
    this.tentative = request.tentative();
    this.full = !request.tentative();
    this.entries = new LeaseEntry[names];
  }

  /** Whether it is the same request, whose names are given in ascending order. */
  boolean isFor(AcquireRequest request, List<LeaseName> ascending) {
    if (!holder.equals(request.holder())
        || durationMs != request.durationMs()
        || tentative != request.tentative()
        || !logs.equals(request.logs())
        || entries.length != ascending.size()) {
      return false;
    }
    for (int i = 0; i < entries.length; i++) {
      if (!entries[i].name.equals(ascending.get(i).value())) {
        return false;
      }
    }
    return true;
  }

  void release(long until) {
    released = true;
    entries = NOTHING;
    keepUntil = until;
  }
}
