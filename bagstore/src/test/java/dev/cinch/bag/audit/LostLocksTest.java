package dev.cinch.bag.audit;

import static java.util.Objects.requireNonNull;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.Rig;
import dev.cinch.bag.file.Evidence;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.SharedFs;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Numbered;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.storage.posix.PosixStore;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.Altered;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.AccessDeniedException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Many lost locks are waited for together, and what a forged record lists costs no operations. */
class LostLocksTest {
  private static final long SECOND = 1_000_000_000L;

  private final Rig rig;
  private final Log log;
  private final StoreFs root;

  LostLocksTest() throws Exception {
    rig = Rig.memory(5);
    log = rig.open(rig.disk.view(Rig.ALICE));
    root = rig.disk.view(0);
  }

  /** A bucket with a message in each record; their locks. */
  private List<Path> locks(int records) throws Exception {
    for (int i = 0; i < records; i++) {
      try (LogWriter writer = log.writer(Durability.SYNC)) {
        assertInstanceOf(Receipt.Committed.class, writer.append(new byte[3]));
      }
      rig.settle(log);
    }
    var locks = new ArrayList<Path>();
    for (long n = 1; n <= records; n++) {
      for (ClosedBucket b : record(n).buckets()) {
        var bucket = new Bucket(b.start(), log.context().bucketWidth());
        locks.add(LogLayout.lock(log.context().layout().bucket(bucket)).path());
      }
    }
    assertEquals(records, locks.size());
    return locks;
  }

  private HorizonRecord record(long number) throws IOException {
    Path path = log.context().layout().record(number).path();
    return HorizonRecord.decode(
        PosixStore.of(log.context().store().storage()).fresh().readAll(path, 1 << 24),
        Name.of(path));
  }

  /** The files that verify finds damaged. */
  private List<Path> verify(StoreFs fs) throws IOException {
    return rig.damage(fs).stream().map(f -> f.path().path()).toList();
  }

  /** The files that an audit finds damaged. */
  private List<Path> audit(StoreFs fs) throws IOException {
    var damaged = new ArrayList<Path>();
    rig.open(fs)
        .reader()
        .evidence(
            new Evidence.Sink() {
              @Override
              public void message(Evidence message, long settledBefore) {}

              @Override
              public void damaged(DamagedException e) {
                damaged.add(e.path().path());
              }
            });
    return damaged;
  }

  /** Of a user who may not make entries. */
  private StoreFs network() {
    var fs = new FaultyFs(new SharedFs(root, changed -> rig.time.wallNanos()));
    fs.before(
        op -> {
          if (op.kind() == FaultyFs.Kind.CREATE) {
            throw new AccessDeniedException(op.path().toString());
          }
        });
    return fs;
  }

  @Test
  void n2_lostLocksAreWaitedForTogether() throws Exception {
    List<Path> locks = locks(5);
    for (Path lock : locks) {
      root.unlink(lock);
    }
    long before = rig.time.monotonicNanos();
    assertEquals(locks, verify(network()));
    long verified = rig.time.monotonicNanos();
    assertTrue(verified - before >= 61 * SECOND, "" + (verified - before) / SECOND);
    assertTrue(verified - before < 70 * SECOND, "" + (verified - before) / SECOND);
    assertEquals(locks, audit(network()));
    long audited = rig.time.monotonicNanos() - verified;
    assertTrue(audited >= 61 * SECOND && audited < 70 * SECOND, "" + audited / SECOND);
  }

  /** In place of the last record, and without its seal. */
  private void forge(HorizonRecord last, int buckets) throws IOException {
    var listed = new ArrayList<ClosedBucket>();
    long start = Math.floorDiv(last.to(), log.context().bucketWidth());
    for (int i = 1; i <= buckets; i++) {
      listed.add(new ClosedBucket((start - i) * log.context().bucketWidth(), "0".repeat(64)));
    }
    Collections.reverse(listed);
    Path path = log.context().layout().record(last.number()).path();
    for (String name : root.list(requireNonNull(path.getParent()))) {
      if (name.startsWith(Numbered.name(last.number()))) {
        root.unlink(path.resolveSibling(name));
      }
    }
    var record = Altered.with(last, "buckets", listed);
    try (StoreFile out = root.create(path, 0664)) {
      out.write(ByteBuffer.wrap(record.encode()));
    }
  }

  private interface Look {
    List<Path> at(StoreFs fs) throws IOException;
  }

  private int operations(Look look, int lost) throws Exception {
    var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    fs.clearTrace();
    assertEquals(lost, look.at(fs).size());
    return fs.counts().values().stream().mapToInt(n -> n).sum();
  }

  @Test
  void whatAForgedRecordListsCostsNoOperations() throws Exception {
    rig.settle(log);
    HorizonRecord last = record(1);
    assertEquals(List.of(), last.buckets());
    for (Look look : List.<Look>of(this::verify, this::audit)) {
      forge(last, 10);
      int few = operations(look, 10);
      forge(last, HorizonRecord.MAX_BUCKETS);
      int many = operations(look, HorizonRecord.MAX_BUCKETS);
      assertTrue(many <= few + 10, few + " and " + many); // the record is read in more pieces
    }
  }
}
