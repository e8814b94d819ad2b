package dev.cinch.lease.memory;

import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.Witness;
import java.util.ArrayList;
import java.util.List;

/** A page of leases, bounded by their number and by what they take as JSON. */
final class LeasePage {
  /** How many leases are read at once. */
  private static final int AT_ONCE = 200;

  /** What a page may take as JSON, about; one lease may take some 90 KB. */
  private static final long MAX_BYTES = 1 << 20;

  private final List<LeaseInfo> leases = new ArrayList<>();
  private final int limit;
  private long bytes;

  LeasePage(int limit) {
    this.limit = limit;
  }

  boolean isFull() {
    return leases.size() == limit || bytes > MAX_BYTES;
  }

  /** How many to read next. */
  int most() {
    return Math.min(AT_ONCE, limit - leases.size());
  }

  /** Adds one if there is room for it; the first one in any case. */
  void add(LeaseInfo info) {
    bytes += jsonBytes(info);
    if (leases.isEmpty() || !isFull()) {
      leases.add(info);
    }
  }

  List<LeaseInfo> leases() {
    return leases;
  }

  /** At least what a lease takes as JSON in UTF-8, and not much more. */
  private static long jsonBytes(LeaseInfo info) {
    Witness w = info.witness();
    long bytes = 540 + w.name().value().length() + jsonBytes(w.holder());
    bytes += 35L * (w.logs().ids().size() + w.fence().logs().ids().size());
    for (LeaseReport.Metadata m : info.recent()) {
      bytes += 110 + jsonBytes(m.dataFile());
    }
    return bytes;
  }

  /** Others than those of ASCII may be escaped. */
  private static long jsonBytes(String text) {
    return text.chars().mapToLong(c -> c >= ' ' && c < 0x7F && c != '"' && c != '\\' ? 1 : 6).sum();
  }
}
