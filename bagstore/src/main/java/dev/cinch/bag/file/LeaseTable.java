package dev.cinch.bag.file;

import dev.cinch.bag.store.LogContext;
import dev.cinch.lease.Id;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.witness.TrustedKeys;
import dev.cinch.lease.witness.WitnessException;
import dev.cinch.lease.witness.WitnessVerifier;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The witnesses of one data file, and the lease sets of its current batch; see {@code Frame}. Not
 * thread-safe.
 */
public final class LeaseTable {
  private final WitnessVerifier keys;
  private final Id log;
  private final long watermarkAheadNanos;
  private final List<Entry> witnesses = new ArrayList<>();
  private final List<LeaseSet> sets = new ArrayList<>();
  private final List<int[]> members = new ArrayList<>();

  /** How many of the witnesses have the number that they are told by. */
  private int known = Integer.MAX_VALUE;

  @SuppressWarnings("ArrayRecordComponent") // never handed out to be written to
  private record Entry(byte[] signed, @Nullable SignedWitness witness, String fault) {}

  /** Stands for a witness of which nobody knows whether it is still there. */
  private static final Entry LOST =
      new Entry(new byte[0], null, "its witness is among what the data file lost");

  /**
   * @param keys those that apply to the bucket
   */
  public LeaseTable(WitnessVerifier keys, LogContext log) {
    this(keys, log.id(), log.store().settings().watermarkAheadNanos());
  }

  public LeaseTable(WitnessVerifier keys, Id log, long watermarkAheadNanos) {
    this.keys = keys;
    this.log = log;
    this.watermarkAheadNanos = watermarkAheadNanos;
  }

  /** Of which nobody asks what the leases permit. */
  public static LeaseTable unread() {
    return new LeaseTable(new WitnessVerifier(TrustedKeys.NONE), new Id(0, 0), 0);
  }

  /** Witnesses may be missing from here on, so that nobody knows whose later numbers are. */
  void gap() {
    known = Math.min(known, witnesses.size());
  }

  /** Whether no witness can be missing so far. */
  boolean isWhole() {
    return known == Integer.MAX_VALUE;
  }

  void beginBatch() {
    sets.clear();
    members.clear();
  }

  /** Why it permits nothing; empty if a key that applies signed it. */
  String addWitness(byte[] signed) {
    Entry entry;
    try {
      entry = new Entry(signed, keys.verify(signed), "");
    } catch (WitnessException e) {
      entry = new Entry(signed, null, String.valueOf(e.getMessage()));
    }
    witnesses.add(entry);
    return entry.fault();
  }

  /** How many witnesses stand in the file so far. */
  int witnesses() {
    return witnesses.size();
  }

  /** False if it refers to a witness that does not stand before it. */
  boolean addSet(int[] numbers) {
    var verified = new ArrayList<SignedWitness>();
    Optional<String> fault = Optional.empty();
    for (int n : numbers) {
      if (n < 1 || isWhole() && n > witnesses.size()) {
        return false;
      }
      Entry entry = n > known ? LOST : witnesses.get(n - 1);
      if (entry.witness() != null) {
        verified.add(entry.witness());
      } else {
        fault = Optional.of(entry.fault());
      }
    }
    sets.add(LeaseSet.of(verified, fault, log, watermarkAheadNanos));
    members.add(numbers);
    return true;
  }

  @Nullable LeaseSet set(int number) {
    return number < 1 || number > sets.size() ? null : sets.get(number - 1);
  }

  /** The witnesses of a set as they stand in the file, valid or not. */
  List<byte[]> signed(int number) {
    var signed = new ArrayList<byte[]>();
    for (int n : members.get(number - 1)) {
      signed.add((n > known ? LOST : witnesses.get(n - 1)).signed());
    }
    return signed;
  }
}
