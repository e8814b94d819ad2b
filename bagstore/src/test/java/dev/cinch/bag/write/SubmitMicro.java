package dev.cinch.bag.write;

import dev.cinch.bag.Log;
import dev.cinch.bag.Receipt;
import dev.cinch.bag.Store;
import dev.cinch.bag.layout.LogName;
import dev.cinch.bag.layout.MachineName;
import dev.cinch.bag.store.StoreSettings;
import dev.cinch.lease.time.SystemTime;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * What a message costs that is submitted, on a real filesystem ({@code -Dcinch.bench.dir=DIR});
 * with {@code -prof gc} also what it allocates, in all threads together.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@SuppressWarnings("NullAway.Init") // JMH calls setUp first
public class SubmitMicro {
  private static final int MESSAGES = 4096;

  private final byte[] payload = new byte[100];
  private final PendingReceipt[] window = new PendingReceipt[MESSAGES];
  private Path root;
  private LogWriter writer;

  @Setup(Level.Iteration)
  public void setUp() throws IOException {
    String parent = System.getProperty("cinch.bench.dir", "/dev/shm");
    root = Files.createTempDirectory(Path.of(parent), "submit-bench");
    var environment = Store.Environment.of(new MachineName("bench"), SystemTime.INSTANCE);
    Store store = Store.init(root.resolve("store"), StoreSettings.DEFAULT, environment);
    Log log = store.createLog(new LogName("bench"));
    writer = log.writer(Durability.CLOSE);
  }

  @TearDown(Level.Iteration)
  public void tearDown() throws Exception {
    writer.close();
    List<Path> all;
    try (Stream<Path> paths = Files.walk(root)) {
      all = paths.sorted(Comparator.reverseOrder()).toList();
    }
    for (Path p : all) {
      Files.delete(p);
    }
  }

  /** A message handed over and its receipt collected later. */
  @Benchmark
  @OperationsPerInvocation(MESSAGES)
  public int submit() throws Exception {
    for (int i = 0; i < MESSAGES; i++) {
      window[i] = writer.submit(LeaseStamp.NONE, payload, 0, payload.length);
    }
    int committed = 0;
    for (PendingReceipt p : window) {
      committed += p.await() instanceof Receipt.Committed ? 1 : 0;
    }
    if (committed != MESSAGES) {
      throw new IllegalStateException(committed + " of " + MESSAGES + " committed");
    }
    return committed;
  }
}
