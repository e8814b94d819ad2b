package dev.cinch.bag.read;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.BucketCloser;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.format.LockedFile;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.layout.Bucket;
import dev.cinch.bag.layout.DataFileName;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.layout.TimeName;
import dev.cinch.bag.store.LogContext;
import dev.cinch.bag.store.StoreSettings;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.lease.witness.WitnessVerifier;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Reads a log in order: the settled part, the same for everyone and for ever, or also what is not
 * settled yet (rule H4). Thread-safe. Memory is bounded by the number of data files in one bucket,
 * not by the log.
 */
@CheckReturnValue
public final class LogReader {
  private final LogContext log;
  private final HorizonChain chain;
  private final BucketCloser locks;

  public LogReader(LogContext log) {
    this.log = log;
    this.chain = new HorizonChain(log);
    this.locks = new BucketCloser(log);
  }

  /** Told of every message that does not exist because no valid witness permits it (rule F3). */
  @FunctionalInterface
  public interface Objection {
    void ignored(Message message, Path file, String why);
  }

  /**
   * Reads settled messages with timestamps in {@code [from, to)}.
   *
   * @param fresh whether to look past every cache for the newest record, as a reader must after an
   *     acquire (rule H3)
   * @return the time through which the log is settled, {@link Long#MIN_VALUE} if nothing is
   */
  @CanIgnoreReturnValue
  public long settled(long from, long to, boolean fresh, MessageSink sink, Objection objection)
      throws IOException {
    Optional<Link> tip = fresh ? chain.freshTip() : chain.knownTip();
    if (tip.isEmpty()) {
      return Long.MIN_VALUE;
    }
    HorizonRecord last = tip.get().record();
    boolean unused = readSettled(tip.get(), from, to, sink, objection);
    return last.to();
  }

  private WitnessVerifier verifier(int keys) throws IOException {
    return new WitnessVerifier(TrustedKeyFiles.load(log.store(), keys));
  }

  /** True if the sink wants more. */
  private boolean readSettled(Link tip, long from, long to, MessageSink sink, Objection objection)
      throws IOException {
    HorizonRecord last = tip.record();
    if (from >= last.to()) {
      return true;
    }
    Optional<Link> at = chain.settling(from, tip);
    long first =
        at.isPresent() ? at.get().record().number() : chain.firstNumber().orElse(last.number());
    for (long n = first; n <= last.number(); n++) {
      HorizonRecord record = n == last.number() ? last : chain.read(n).record();
      if (record.from() >= to) {
        return true;
      }
      WitnessVerifier keys = verifier(record.trustedKeys());
      for (ClosedBucket b : record.buckets()) {
        var bucket = new Bucket(b.start(), log.bucketWidth());
        if (bucket.end() > from && bucket.start() < to) {
          if (!emit(open(bucket, b, keys), from, to, sink, objection)) {
            return false;
          }
        }
      }
    }
    return true;
  }

  /**
   * Reads settled messages, then those that are not settled yet, marked so; locks are honoured
   * where they exist, and unlisted buckets in settled time are ignored (rule H4).
   */
  @CanIgnoreReturnValue
  public long live(long from, long to, MessageSink sink, Objection objection) throws IOException {
    Optional<Link> tip = chain.freshTip();
    long settled = tip.map(t -> t.record().to()).orElse(Long.MIN_VALUE);
    if (tip.isPresent() && !readSettled(tip.get(), from, to, sink, objection)) {
      return settled;
    }
    WitnessVerifier keys = verifier(Integer.MAX_VALUE);
    for (Bucket bucket : openBuckets(Math.max(from, settled), to)) {
      if (!emit(openLive(bucket, keys), from, to, sink, objection)) {
        return settled;
      }
    }
    return settled;
  }

  private List<Bucket> openBuckets(long from, long to) throws IOException {
    long width = log.bucketWidth();
    var found = new ArrayList<Bucket>();
    Path buckets = log.layout().buckets();
    for (long era : starts(buckets, from, to, LogLayout.eraWidth(width))) {
      Path eras = buckets.resolve(TimeName.of(era));
      for (long group : starts(eras, from, to, LogLayout.groupWidth(width))) {
        for (long start : starts(eras.resolve(TimeName.of(group)), from, to, width)) {
          found.add(new Bucket(start, width));
        }
      }
    }
    return found;
  }

  private List<Long> starts(Path directory, long from, long to, long width) throws IOException {
    return log.store().fs().list(directory).stream()
        .map(TimeName::parse)
        .flatMapToLong(OptionalLong::stream)
        .filter(s -> Math.floorMod(s, width) == 0 && s < to && s + width > from)
        .sorted()
        .boxed()
        .toList();
  }

  private List<DataFileCursor> open(Bucket bucket, ClosedBucket listed, WitnessVerifier keys)
      throws IOException {
    Path directory = log.layout().bucket(bucket);
    BucketCloser.Closed closed =
        locks
            .read(bucket)
            .orElseThrow(
                () -> new DamagedException(LogLayout.lock(directory), 0, "a lock", "no file"));
    if (!closed.digest().equals(listed.lockDigest())) {
      throw new DamagedException(
          LogLayout.lock(directory), 0, "SHA-256 " + listed.lockDigest(), closed.digest());
    }
    return open(bucket, directory, closed.lock().files(), keys);
  }

  private List<DataFileCursor> open(
      Bucket bucket, Path directory, List<LockedFile> files, WitnessVerifier keys)
      throws IOException {
    var cursors = new ArrayList<DataFileCursor>();
    for (LockedFile f : files) {
      if (f.validLength() > 0) {
        Path path = LogLayout.dataFile(directory, f.name());
        cursors.add(
            cursor(bucket, path, f.name(), openData(path), f.validLength(), f.copy(), true, keys));
      }
    }
    return cursors;
  }

  private StoreFile openData(Path path) throws IOException {
    try {
      return log.store().fresh().read(path);
    } catch (NoSuchFileException e) {
      throw new DamagedException(path, 0, "the data file that the lock lists", "no file");
    }
  }

  private DataFileCursor cursor(
      Bucket bucket,
      Path path,
      DataFileName name,
      StoreFile in,
      long limit,
      byte[] copy,
      boolean settled,
      WitnessVerifier keys)
      throws IOException {
    var header = new FileHeader(log.store().identity().id(), log.id(), bucket, name);
    return new DataFileCursor(
        path, header, in, limit, copy, settled, new LeaseTable(keys, log.id()));
  }

  private List<DataFileCursor> openLive(Bucket bucket, WitnessVerifier keys) throws IOException {
    Path directory = log.layout().bucket(bucket);
    Optional<BucketCloser.Closed> closed = locks.read(bucket);
    if (closed.isPresent()) {
      return open(bucket, directory, closed.get().lock().files(), keys);
    }
    var cursors = new ArrayList<DataFileCursor>();
    for (String entry : log.store().fs().list(directory)) {
      Optional<DataFileName> name = DataFileName.parse(entry);
      if (name.isPresent()) {
        Path path = directory.resolve(entry);
        StoreFile in = openData(path);
        long size = log.store().fs().status(path).size();
        cursors.add(cursor(bucket, path, name.get(), in, size, new byte[0], false, keys));
      }
    }
    return cursors;
  }

  private boolean emit(
      List<DataFileCursor> cursors, long from, long to, MessageSink sink, Objection objection)
      throws IOException {
    boolean required = log.store().settings().leases() == StoreSettings.Leases.REQUIRED;
    try {
      var merge = new Merge(cursors);
      for (DataFileCursor m = merge.next(); m != null; m = merge.next()) {
        if (m.timestamp() < from || m.timestamp() >= to) {
          continue;
        }
        if (required) {
          LeaseSet set = m.leaseSet();
          String why = set == null ? "it names no lease" : set.objection(m.timestamp());
          if (why != null) {
            objection.ignored(m, m.path(), why);
            continue;
          }
        }
        if (!sink.accept(m)) {
          return false;
        }
      }
      return true;
    } finally {
      for (DataFileCursor c : cursors) {
        c.close();
      }
    }
  }
}
