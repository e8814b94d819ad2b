package dev.cinch.bag.read;

import dev.cinch.bag.bench.DataFileBytes;
import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.layout.Bucket;
import dev.cinch.bag.layout.DataFileName;
import dev.cinch.bag.layout.MachineName;
import dev.cinch.lease.Id;
import dev.cinch.lease.witness.TrustedKeys;
import dev.cinch.lease.witness.WitnessVerifier;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/**
 * A message of 16 data files in memory whose timestamps interleave, merged; beside a priority queue
 * of the same cursors, and beside reading one file after the other without merging.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@SuppressWarnings("NullAway.Init") // JMH calls setUp first
public class MergeMicro {
  private static final int FILES = 16;
  private static final int BATCHES = 20;
  private static final int BATCH = 500;
  private static final int MESSAGES = FILES * BATCHES * BATCH;

  private final Path path = Path.of("bench");
  private final List<FileHeader> headers = new ArrayList<>();
  private final List<byte[]> files = new ArrayList<>();
  private LeaseTable leases;

  @Setup
  public void setUp() {
    var random = new Random(1);
    Id store = Id.random(random);
    Id log = Id.random(random);
    leases = new LeaseTable(new WitnessVerifier(TrustedKeys.NONE), log, 0);
    for (int i = 0; i < FILES; i++) {
      var name = new DataFileName(new MachineName("m" + i), Id.random(random));
      var header = new FileHeader(store, log, new Bucket(0, 10_000_000_000L), name);
      headers.add(header);
      // Steps that differ, so that no file runs in step with another.
      files.add(DataFileBytes.of(header, random.nextInt(1_000), 1_000 + i, BATCHES, BATCH, 100));
    }
  }

  private List<DataFileCursor> cursors() throws IOException {
    var cursors = new ArrayList<DataFileCursor>();
    for (int i = 0; i < FILES; i++) {
      byte[] file = files.get(i);
      cursors.add(
          new DataFileCursor(
              path,
              headers.get(i),
              DataFileBytes.open(file),
              () -> DataFileBytes.open(file),
              DataFileBytes.locked(headers.get(i), file),
              Standing.SETTLED,
              leases,
              new OpenFiles(1)));
    }
    return cursors;
  }

  private static void complete(int count) {
    if (count != MESSAGES) {
      throw new IllegalStateException(count + " messages");
    }
  }

  @Benchmark
  @OperationsPerInvocation(MESSAGES)
  public long merge() throws IOException {
    var merge = new Merge(cursors());
    long sum = 0;
    int count = 0;
    for (DataFileCursor m = merge.next(); m != null; m = merge.next(), count++) {
      sum = 31 * sum + m.timestamp();
    }
    complete(count);
    return sum;
  }

  @Benchmark
  @OperationsPerInvocation(MESSAGES)
  public long baselinePriorityQueue() throws IOException {
    var queue =
        new PriorityQueue<DataFileCursor>(
            FILES,
            Comparator.comparingLong(DataFileCursor::timestamp)
                .thenComparing(DataFileCursor::sortName));
    for (DataFileCursor c : cursors()) {
      if (c.next()) {
        queue.add(c);
      }
    }
    long sum = 0;
    int count = 0;
    for (DataFileCursor m = queue.poll(); m != null; m = queue.poll(), count++) {
      sum = 31 * sum + m.timestamp();
      if (m.next()) {
        queue.add(m);
      }
    }
    complete(count);
    return sum;
  }

  @Benchmark
  @OperationsPerInvocation(MESSAGES)
  public long baselineOneAfterTheOther() throws IOException {
    long sum = 0;
    int count = 0;
    for (DataFileCursor c : cursors()) {
      for (; c.next(); count++) {
        sum = 31 * sum + c.timestamp();
      }
    }
    complete(count);
    return sum;
  }
}
