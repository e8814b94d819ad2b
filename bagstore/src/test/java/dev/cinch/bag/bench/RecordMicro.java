package dev.cinch.bag.bench;

import dev.cinch.bag.format.BucketLock;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.format.LockedFile;
import dev.cinch.bag.layout.Bucket;
import dev.cinch.bag.layout.DataFileName;
import dev.cinch.bag.layout.MachineName;
import dev.cinch.lease.Id;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** Locks of so many data files, and records of the horizon that list so many buckets. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@SuppressWarnings("NullAway.Init") // JMH calls setUp first
public class RecordMicro {
  private static final Path NOWHERE = Path.of("bench");

  /** What the lock copies of each file: one batch of a message of 100 bytes. */
  private static final int COPY = 184;

  @Param({"100", "10000"})
  public int entries;

  private BucketLock lock;
  private byte[] lockBytes;
  private HorizonRecord record;
  private byte[] recordBytes;

  @Setup
  public void setUp() {
    var random = new Random(1);
    long width = 10_000_000_000L;
    Id store = Id.random(random);
    Id log = Id.random(random);
    var files = new ArrayList<LockedFile>();
    var buckets = new ArrayList<HorizonRecord.ClosedBucket>();
    for (int i = 0; i < entries; i++) {
      byte[] copy = new byte[COPY];
      random.nextBytes(copy);
      var name = new DataFileName(new MachineName("machine" + i), Id.random(random));
      files.add(new LockedFile(name, 1_000_000 + i, 5_000, 1, 2, random.nextInt(), copy));
      buckets.add(new HorizonRecord.ClosedBucket(i * width, "%064x".formatted(random.nextInt())));
    }
    lock = new BucketLock(store, log, new Bucket(0, width), files);
    record =
        new HorizonRecord(
            log,
            2,
            0,
            entries * width,
            "%064x".formatted(7),
            1,
            "%064x".formatted(8),
            buckets,
            "bench",
            3);
    lockBytes = lock.encode();
    recordBytes = record.encode();
  }

  @Benchmark
  public byte[] encodeLock() {
    return lock.encode();
  }

  @Benchmark
  public BucketLock decodeLock() throws DamagedException {
    return BucketLock.decode(lockBytes, NOWHERE);
  }

  @Benchmark
  public byte[] encodeRecord() {
    return record.encode();
  }

  @Benchmark
  public HorizonRecord decodeRecord() throws DamagedException {
    return HorizonRecord.decode(recordBytes, NOWHERE);
  }
}
