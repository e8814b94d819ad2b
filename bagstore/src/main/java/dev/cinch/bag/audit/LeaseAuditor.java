package dev.cinch.bag.audit;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.audit.Violation.Rule;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.file.Evidence;
import dev.cinch.bag.file.LeaseSet;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.store.LogContext;
import dev.cinch.lease.Id;
import dev.cinch.lease.SignedWitness;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Checks from the files alone that leases excluded each other (section 8): reads the settled
 * messages of all logs, then compares the leases of each name. Used once, by one thread.
 *
 * <p>Memory is bounded by the number of different leases (times the logs that each wrote to), not
 * by the number of messages. What was retired is read from segments, and gives the same answer.
 */
@CheckReturnValue
public final class LeaseAuditor {
  /** Messages between two looks at how far it is. */
  private static final int TELL_EVERY = 1_000;

  private final Store store;
  private final LongConsumer progress;
  private final boolean required;
  private final Map<Id, AuditedLease> leases = new HashMap<>();
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
   * @param created when the log was made, as its identity says (section 7)
   * @param settled {@link Long#MIN_VALUE} if it has no record
   */
  record LogHorizon(LogName name, Name records, long created, long settled) {}

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
    var logs = new ArrayList<Log>();
    for (LogName name : store.logs()) {
      unlessDamaged(() -> logs.addAll(store.whole(List.of(name))));
    }
    for (Log log : logs) {
      unlessDamaged(() -> log.reader().evidence(new Scan(log.context())));
    }
    for (Log log : logs) {
      unlessDamaged(() -> horizon(log));
    }
    var byName = new NameAudit(leases.values(), horizons, store.settings(), this::violated);
    byName.check();
    return new AuditReport(
        logs.size(),
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

  private interface Step {
    void run() throws IOException;
  }

  /** A log that can't be read keeps no other from being audited. */
  private void unlessDamaged(Step step) throws IOException {
    try {
      step.run();
    } catch (DamagedException e) {
      damaged(e);
    }
  }

  private void damaged(DamagedException e) {
    violated(
        Rule.DAMAGE, e.path(), e.offset(), "expected " + e.expected() + ", found " + e.actual());
  }

  private void violated(Violation v) {
    violationCount++;
    if (violations.size() < AuditReport.MOST_VIOLATIONS) {
      violations.add(v);
    }
  }

  private void violated(Rule rule, Name path, long offset, String problem) {
    violated(new Violation(rule, path, offset, problem));
  }

  /**
   * Looks how far a log is settled, after the messages of all logs were read: in a store in use a
   * fence may be made, and somebody write under it, between two logs.
   */
  private void horizon(Log log) throws IOException {
    long settled;
    try {
      settled =
          new HorizonChain(log.context())
              .permittedTip()
              .map(tip -> tip.record().to())
              .orElse(Long.MIN_VALUE);
    } catch (DamagedException e) {
      // Most often told already, by who read the messages; nobody knows what of it is fenced.
      if (violations.stream()
          .noneMatch(v -> v.rule() == Rule.DAMAGE && v.path().equals(e.path()))) {
        violated(
            Rule.DAMAGE,
            e.path(),
            e.offset(),
            "expected %s, found %s".formatted(e.expected(), e.actual()));
      }
      return;
    }
    horizons.put(
        log.id(),
        new LogHorizon(
            log.name(), log.context().layout().records(), log.context().created(), settled));
  }

  /** A lease set, and the leases of its valid witnesses. */
  private record Under(LeaseSet set, List<AuditedLease> leases) {}

  /** Takes the messages of one log, in order. */
  private final class Scan implements Evidence.Sink {
    private final LogContext log;
    private final Set<ByteBuffer> signed = new HashSet<>(); // in the current bucket
    private final Map<DataFileName, Under> current = new HashMap<>(); // in the current bucket
    private long bucket = Long.MIN_VALUE;

    Scan(LogContext log) {
      this.log = log;
    }

    @Override
    public void message(Evidence m, long settledBefore) {
      messages++;
      if (messages % TELL_EVERY == 1) {
        progress.accept(messages);
      }
      LeaseSet set = m.leaseSet();
      if (set == null) {
        unleased++;
        if (required) {
          violated(Rule.WITNESS, m.path(), m.offset(), name(m) + " names no lease");
        }
        return;
      }
      List<AuditedLease> under = under(set, m);
      String objection = set.objection(m.timestamp());
      if (objection != null) {
        violated(Rule.WITNESS, m.path(), m.offset(), name(m) + ": " + objection);
        if (required) {
          return; // for readers it does not exist
        }
      }
      if (m.timestamp() <= log.created()) {
        violated(
            Rule.FENCE,
            m.path(),
            m.offset(),
            "%s stands under a lease, and its log was made at %d: what is older no fence needs to settle"
                .formatted(name(m), log.created()));
      }
      for (AuditedLease lease : under) {
        lease.message(log.id(), m.path(), m.offset(), m.timestamp(), settledBefore);
      }
    }

    /** Sets are made anew in every batch of a data file, so asking once for each set is enough. */
    @SuppressWarnings("ReferenceEquality") // the same object, or look again
    private List<AuditedLease> under(LeaseSet set, Evidence m) {
      long start = Bucket.of(m.timestamp(), log.bucketWidth()).start();
      if (start != bucket) {
        bucket = start;
        signed.clear();
        current.clear();
      }
      Under known = current.get(m.file());
      if (known == null || known.set() != set) {
        known = new Under(set, leasesOf(set, m));
        current.put(m.file(), known);
      }
      return known.leases();
    }

    private List<AuditedLease> leasesOf(LeaseSet set, Evidence m) {
      var all = new ArrayList<AuditedLease>();
      for (SignedWitness s : set.witnesses()) {
        AuditedLease lease = leases.get(s.witness().correlation());
        boolean unseen = count(s.bytes());
        if (lease == null) {
          lease = new AuditedLease(s.witness());
          leases.put(lease.correlation, lease);
        } else if (unseen) {
          @Nullable String contradiction = lease.add(s.witness());
          if (contradiction != null) {
            violated(Rule.LEASE, m.path(), m.offset(), contradiction);
          }
        }
        all.add(lease);
      }
      for (byte[] bytes : m.signedLeases()) {
        boolean unused = count(bytes); // also those that are not valid
      }
      return all;
    }

    /** Whether a witness is new in the bucket. */
    private boolean count(byte[] bytes) {
      boolean unseen = signed.add(ByteBuffer.wrap(bytes));
      witnesses += unseen ? 1 : 0;
      return unseen;
    }

    @Override
    public void damaged(DamagedException e) {
      LeaseAuditor.this.damaged(e);
    }

    private static String name(Evidence m) {
      return "the message with timestamp " + m.timestamp();
    }
  }
}
