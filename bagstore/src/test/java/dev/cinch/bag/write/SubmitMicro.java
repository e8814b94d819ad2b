package dev.cinch.bag.write;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.SigningKey;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * What a message costs that is submitted, on a real filesystem ({@code -Dcinch.bench.dir=DIR});
 * with {@code -prof gc} also what it allocates, in all threads together. And a batch of 1,000,
 * against what its writer's signature would cost: see {@code docs/decisions/unsigned-batches.md}.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@SuppressWarnings("NullAway.Init") // JMH calls setUp first
public class SubmitMicro {
  private static final int MESSAGES = 4096;
  private static final int BATCH = 1000;

  @Param({"CLOSE", "SYNC"})
  public Durability durability;

  private final byte[] payload = new byte[100];
  private final PendingReceipt[] window = new PendingReceipt[MESSAGES];
  private Path root;
  private LogWriter writer;

  /** A batch as it is written, and what would be added to it. */
  private final byte[] batch = new byte[BATCH * (100 + 16)];

  private SigningKey signing;
  private PublicKey key;
  private MessageDigest sha256;
  private byte[] signature;

  /** Draws a batch and its writer's key. */
  @Setup
  public void setUpBatch() throws Exception {
    var random = new Random(1);
    random.nextBytes(batch);
    byte[] seed = new byte[32];
    random.nextBytes(seed);
    signing = SigningKey.ofSeed(seed);
    key = signing.publicKey();
    sha256 = MessageDigest.getInstance("SHA-256");
    signature = signing.sign(sha256.digest(batch));
  }

  @Setup(Level.Iteration)
  public void setUp() throws IOException {
    String parent = System.getProperty("cinch.bench.dir", "/dev/shm");
    root = Files.createTempDirectory(Path.of(parent), "submit-bench");
    var environment = Store.Environment.of(new MachineName("bench"), SystemTime.INSTANCE);
    Store store = Store.init(root.resolve("store"), StoreSettings.DEFAULT, environment);
    Log log = store.createLog(new LogName("bench"));
    writer = log.writer(durability);
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
    return submit(MESSAGES, true);
  }

  /** A batch of 1,000: nothing is written before the first receipt is awaited. */
  @Benchmark
  public int submitBatch() throws Exception {
    return submit(BATCH, false);
  }

  private int submit(int messages, boolean needsThread) throws Exception {
    for (int i = 0; i < messages; i++) {
      window[i] = writer.submit(LeaseStamp.NONE, payload, 0, payload.length, needsThread);
    }
    int committed = 0;
    for (int i = 0; i < messages; i++) {
      committed += window[i].await() instanceof Receipt.Committed ? 1 : 0;
    }
    if (committed != messages) {
      throw new IllegalStateException(committed + " of " + messages + " committed");
    }
    return committed;
  }

  @Benchmark
  public byte[] hashBatch() {
    return sha256.digest(batch);
  }

  @Benchmark
  public byte[] hashAndSignBatch() {
    return signing.sign(sha256.digest(batch));
  }

  @Benchmark
  public boolean hashAndVerifyBatch() {
    return key.hasSigned(signature, sha256.digest(batch));
  }
}
