package dev.cinch.lease.memory;

import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.Metadata;
import dev.cinch.lease.Witness;
import dev.cinch.lease.table.Inheritance;
import dev.cinch.lease.table.Moment;
import dev.cinch.lease.table.Revocations;
import dev.cinch.lease.table.Tenure;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;

/** All names, spread over partitions; locks those that an operation needs. Thread-safe. */
final class Partitions {
  /** What a page may take as JSON, about; one lease may take some 90 KB. */
  static final long MAX_PAGE_BYTES = 1 << 20;

  private final Partition[] partitions;

  /** Why leases were revoked. */
  final Revocations revocations = new Revocations();

  Partitions(TableLimits limits, Inheritance origin, boolean resumable, LogSets logSets) {
    partitions = new Partition[limits.partitions()];
    for (int i = 0; i < partitions.length; i++) {
      partitions[i] = new Partition(limits, origin, resumable, logSets);
    }
  }

  /** The partition of a name; its content only under its lock. */
  Partition of(String name) {
    return partitions[index(name)];
  }

  private int index(String name) {
    // Mixed, since names that differ in a counter at the end hash to neighbours.
    return Math.floorMod(name.hashCode() * 0x9E3779B9 >>> 16, partitions.length);
  }

  /**
   * Locks the partitions of these names in ascending order, so that no two operations wait in a
   * ring.
   */
  Locked lock(List<String> names) {
    if (names.size() == 1) {
      return new Locked(List.of(of(names.get(0))));
    }
    var found = new TreeMap<Integer, Partition>();
    names.forEach(name -> found.put(index(name), of(name)));
    return new Locked(List.copyOf(found.values()));
  }

  /**
   * Makes room for those of the names that have no entry; false if there is none. Their partitions
   * are locked.
   */
  boolean makeRoom(List<LeaseName> names) {
    var wanted = new int[partitions.length];
    for (LeaseName name : names) {
      int index = index(name.value());
      wanted[index] += partitions[index].rows.get(name.value()) == null ? 1 : 0;
    }
    for (int i = 0; i < wanted.length; i++) {
      if (wanted[i] > 0 && !partitions[i].makeRoom(wanted[i])) {
        return false;
      }
    }
    return true;
  }

  /** The leases of a grant as they are now, to work on; their partitions are locked. */
  List<LeaseEntry> entries(GrantEntry grant) {
    List<String> names = grant.names();
    var leases = new ArrayList<LeaseEntry>(names.size());
    for (int i = 0; i < names.size(); i++) {
      LeaseEntry lease = of(names.get(i)).get(names.get(i), grant.row(i));
      leases.add(lease == null ? new LeaseEntry(names.get(i)) : lease);
    }
    return leases;
  }

  /** The last leases of these names, to work on; likewise. */
  List<LeaseEntry> entries(List<String> names) {
    var leases = new ArrayList<LeaseEntry>(names.size());
    for (String name : names) {
      leases.add(of(name).entry(name));
    }
    return leases;
  }

  /** Whether so many new names find room in the partition of each of them; likewise. */
  boolean haveRoom(List<String> names) {
    return names.stream().allMatch(name -> of(name).hasRoom(names.size()));
  }

  /** What else could be forgotten to make room for these names if it were ended. */
  List<Tenure> unended(List<LeaseName> names) {
    var all = new ArrayList<Tenure>();
    names.stream().map(n -> of(n.value())).distinct().forEach(s -> all.addAll(s.unended()));
    return all;
  }

  /** Whether no lease of an earlier instance may count any more that this one does not exclude. */
  boolean knows(String name, Moment now) {
    Partition partition = of(name);
    partition.lock.lock();
    try {
      LeaseEntry lease = partition.get(name);
      return lease != null && !lease.isResumedUntilPast(now);
    } finally {
      partition.lock.unlock();
    }
  }

  Optional<LeaseInfo> show(String name, long instance, Moment now) {
    Partition partition = of(name);
    partition.lock.lock();
    try {
      LeaseEntry entry = partition.get(name);
      return entry == null
          ? Optional.empty()
          : Optional.of(entry.info(instance, partition.advance(now)));
    } finally {
      partition.lock.unlock();
    }
  }

  /**
   * A page of names, as {@link LeaseService#list} says; names that come and go meanwhile may or may
   * not be in it.
   */
  List<LeaseInfo> list(String prefix, String above, int limit, long instance, Moment now) {
    boolean fromPrefix = above.compareTo(prefix) < 0;
    var found = new ArrayList<byte[]>();
    for (Partition partition : partitions) {
      partition.lock.lock();
      try {
        found.addAll(
            partition.rows.from(
                fromPrefix ? prefix : above,
                fromPrefix,
                limit,
                row -> LeaseRow.name(row).startsWith(prefix)));
      } finally {
        partition.lock.unlock();
      }
    }
    // Of rows only the names may be read without the lock.
    found.sort(LeaseRow::compareNames);
    // Unpacked only now, one by one: every partition brought as many as the page may have.
    var page = new ArrayList<LeaseInfo>();
    long bytes = 0;
    for (byte[] row : found.subList(0, Math.min(limit, found.size()))) {
      Optional<LeaseInfo> info = show(LeaseRow.name(row), instance, now);
      bytes += info.map(Partitions::jsonBytes).orElse(0L);
      if (bytes > MAX_PAGE_BYTES && !page.isEmpty()) {
        break;
      }
      info.ifPresent(page::add);
    }
    return page;
  }

  /** At least what a lease takes as JSON in UTF-8, and not much more. */
  private static long jsonBytes(LeaseInfo info) {
    Witness w = info.witness();
    long bytes = 540 + w.name().value().length() + jsonBytes(w.holder());
    bytes += 35L * (w.logs().ids().size() + w.fence().logs().ids().size());
    for (Metadata m : info.recent()) {
      bytes += 110 + jsonBytes(m.dataFile());
    }
    return bytes;
  }

  /** Others than those of ASCII may be escaped. */
  private static long jsonBytes(String text) {
    return text.chars().mapToLong(c -> c >= ' ' && c < 0x7F && c != '"' && c != '\\' ? 1 : 6).sum();
  }

  /** The partitions of one operation, locked in ascending order until closed. */
  static final class Locked {
    private final List<Partition> inOrder;

    private Locked(List<Partition> inOrder) {
      this.inOrder = inOrder;
      for (Partition partition : inOrder) {
        partition.lock.lock();
      }
    }

    /** Brings the time to all of them and returns the highest that any had. */
    Moment advance(Moment now) {
      Moment time = now;
      for (Partition partition : inOrder) {
        time = partition.advance(time);
      }
      for (Partition partition : inOrder) {
        Moment unused = partition.advance(time);
      }
      return time;
    }

    void close() {
      for (Partition partition : inOrder) {
        partition.lock.unlock();
      }
    }
  }
}
