package dev.cinch.bag.audit;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.audit.Violation.Rule;
import dev.cinch.bag.close.BucketCloser;
import dev.cinch.bag.close.BucketCloser.Closed;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.format.LockedFile;
import dev.cinch.bag.layout.Bucket;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.layout.LogName;
import dev.cinch.bag.read.FileScan;
import dev.cinch.bag.read.LeaseSet;
import dev.cinch.bag.store.LogContext;
import dev.cinch.bag.store.StoreSettings;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.lease.Id;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.witness.WitnessVerifier;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Checks from the files alone that leases excluded each other (section 8): reads the settled
 * messages of all logs, then compares the leases of each name. Used once, by one thread.
 *
 * <p>Memory is bounded by the number of different leases (times the logs that each wrote to), not
 * by the number of messages. Buckets that were retired are not read; whoever needs them audited
 * does so before.
 */
@CheckReturnValue
public final class LeaseAuditor {
  private final Store store;
  private final LongConsumer progress;
  private final boolean required;
  private final Map<Id, AuditedLease> leases = new HashMap<>();
  private final Map<Integer, WitnessVerifier> verifiers = new HashMap<>();
  private final Map<Id, LogHorizon> horizons = new HashMap<>();
  private final List<Violation> violations = new ArrayList<>();
  private long violationCount;
  private long messages;
  private long unleased;
  private long witnesses;

  private LeaseAuditor(Store store, LongConsumer progress) {
    this.store = store;
    this.progress = progress;
    this.required = store.settings().leases() == StoreSettings.Leases.REQUIRED;
  }

  /**
   * How far a log is settled.
   *
   * @param created the filesystem's clock when the log was made
   * @param settled {@link Long#MIN_VALUE} if it has no record
   */
  record LogHorizon(LogName name, Path records, long created, long settled) {}

  /**
   * Audits all logs of a store.
   *
   * @throws IOException if the store can't be read; a single damaged file is a violation
   */
  public static AuditReport audit(Store store) throws IOException {
    return audit(store, messages -> {});
  }

  /**
   * As {@link #audit(Store)}.
   *
   * @param progress told the number of messages read, after every bucket
   */
  public static AuditReport audit(Store store, LongConsumer progress) throws IOException {
    return new LeaseAuditor(store, progress).audit();
  }

  private AuditReport audit() throws IOException {
    List<LogName> names = store.logs();
    for (LogName name : names) {
      scan(store.log(name));
    }
    var byName = new NameAudit(leases.values(), horizons, store.settings(), this::violated);
    byName.check();
    return new AuditReport(
        names.size(),
        messages,
        unleased,
        witnesses,
        leases.size(),
        byName.names(),
        byName.handovers(),
        byName.fences(),
        violations,
        violationCount);
  }

  private void violated(Violation v) {
    violationCount++;
    if (violations.size() < AuditReport.MOST_VIOLATIONS) {
      violations.add(v);
    }
  }

  private void violated(Rule rule, Path path, long offset, String problem) {
    violated(new Violation(rule, path, offset, problem));
  }

  private void scan(Log log) throws IOException {
    var chain = new HorizonChain(log.context());
    Optional<Link> tip = chain.knownTip();
    long settled = tip.map(t -> t.record().to()).orElse(Long.MIN_VALUE);
    LogLayout layout = log.context().layout();
    horizons.put(
        log.id(), new LogHorizon(log.name(), layout.records(), log.context().created(), settled));
    if (tip.isEmpty()) {
      return;
    }
    long last = tip.get().record().number();
    for (long n = chain.firstNumber().orElse(last); n <= last; n++) {
      Optional<Link> link = n == last ? tip : chain.readUnlessRetired(n);
      if (link.isPresent()) {
        scan(log.context(), link.get().record());
      }
    }
  }

  private WitnessVerifier verifier(int keys) throws IOException {
    WitnessVerifier known = verifiers.get(keys);
    if (known == null) {
      known = new WitnessVerifier(TrustedKeyFiles.load(store.context(), keys));
      verifiers.put(keys, known);
    }
    return known;
  }

  private void scan(LogContext log, HorizonRecord record) throws IOException {
    WitnessVerifier keys = verifier(record.trustedKeys());
    var locks = new BucketCloser(log);
    for (ClosedBucket b : record.buckets()) {
      var bucket = new Bucket(b.start(), log.bucketWidth());
      Path lock = LogLayout.lock(log.layout().bucket(bucket));
      try {
        Optional<Closed> closed = locks.read(bucket);
        if (closed.isEmpty()) {
          continue; // retired, or lost: verify tells which
        }
        if (!closed.get().digest().equals(b.lockDigest())) {
          throw new DamagedException(lock, 0, "SHA-256 " + b.lockDigest(), closed.get().digest());
        }
        for (LockedFile f : closed.get().lock().files()) {
          if (f.validLength() > 0) {
            scan(log, record, bucket, f, keys);
          }
        }
        progress.accept(messages);
      } catch (DamagedException e) {
        violated(
            Rule.DAMAGE,
            e.path(),
            e.offset(),
            "expected " + e.expected() + ", found " + e.actual());
      }
    }
  }

  private void scan(
      LogContext log, HorizonRecord record, Bucket bucket, LockedFile f, WitnessVerifier keys)
      throws IOException {
    try (FileScan scan = FileScan.open(log, bucket, f, keys)) {
      LeaseSet before = null;
      List<AuditedLease> under = List.of();
      while (scan.next()) {
        messages++;
        LeaseSet set = scan.leases();
        if (set == null) {
          unleased++;
          if (required) {
            violated(
                Rule.WITNESS, scan.path(), scan.frameOffset(), message(scan) + " names no lease");
          }
          continue;
        }
        if (set != before) {
          before = set;
          under = leasesOf(set, scan);
        }
        String objection = set.objection(scan.timestamp());
        if (objection != null) {
          violated(Rule.WITNESS, scan.path(), scan.frameOffset(), message(scan) + ": " + objection);
          if (required) {
            continue; // for readers it does not exist
          }
        }
        for (AuditedLease lease : under) {
          lease.message(log.id(), scan.path(), scan.frameOffset(), scan.timestamp(), record.from());
        }
      }
      witnesses += scan.witnesses();
    }
  }

  private static String message(FileScan scan) {
    return "the message with timestamp " + scan.timestamp();
  }

  private List<AuditedLease> leasesOf(LeaseSet set, FileScan scan) {
    var all = new ArrayList<AuditedLease>();
    for (SignedWitness s : set.witnesses()) {
      AuditedLease lease = leases.get(s.witness().correlation());
      if (lease == null) {
        lease = new AuditedLease(s.witness());
        leases.put(lease.correlation, lease);
      } else {
        @Nullable String contradiction = lease.add(s.witness());
        if (contradiction != null) {
          violated(Rule.LEASE, scan.path(), scan.frameOffset(), contradiction);
        }
      }
      all.add(lease);
    }
    return all;
  }
}
