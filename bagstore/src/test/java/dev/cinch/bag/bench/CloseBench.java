package dev.cinch.bag.bench;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.close.BucketCloser;
import dev.cinch.bag.fs.PosixFs;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.bag.write.PendingReceipt;
import dev.cinch.lease.Altered;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Closing a bucket of 100 data files, against what can't be spared: to read their bytes, write them
 * into one file, force it and link it. Arguments: a directory on the filesystem to measure, rounds.
 * Before these, four times as many warm up.
 */
public final class CloseBench {
  private static final int FILES = 100;

  /** More than the processor's caches hold. */
  private static final byte[] MEMORY = new byte[128 << 20];

  private CloseBench() {}

  /** Bytes of each data file, and of each message's payload. */
  private record Size(int file, int message) {}

  public static void main(String[] args) throws Exception {
    int rounds = Integer.parseInt(args[1]);
    var sizes =
        List.of(
            new Size(10 << 10, 100),
            new Size(100 << 10, 100),
            new Size(100 << 10, 1000),
            new Size(1 << 20, 100));
    System.out.println(
        "100 files of   messages of    closing        bare   ratio (range)        MB/s");
    for (Size size : sizes) {
      double[] closing = new double[rounds];
      double[] bare = new double[rounds];
      double[] ratio = new double[rounds];
      long bytes = 0;
      for (int r = -4 * rounds; r < rounds; r++) {
        Path root = Files.createTempDirectory(Path.of(args[0]), "close-bench");
        Closing toClose = fill(root.resolve("store"), size);
        Path copies = Files.createDirectory(root.resolve("bare"));
        bytes = copy(root.resolve("store"), copies);
        double c = time(toClose);
        double b = time(() -> bare(copies));
        if (r >= 0) {
          closing[r] = c;
          bare[r] = b;
          ratio[r] = c / b;
        }
        delete(root);
      }
      double micros = median(closing);
      System.out.printf(
          "%7d KiB %11d B %9.0f us %8.0f us %7.2f (%.2f to %.2f) %8.0f%n",
          size.file >> 10,
          size.message,
          micros,
          median(bare),
          median(ratio),
          ratio[0],
          ratio[rounds - 1],
          bytes / micros);
    }
  }

  /** Sorts them. */
  private static double median(double[] of) {
    Arrays.sort(of);
    return of[of.length / 2];
  }

  /** A clock that stands still, so that all files of a round fall into one bucket. */
  private record Frozen(long wallNanos) implements TimeSource {
    @Override
    public long monotonicNanos() {
      return System.nanoTime();
    }

    @Override
    public void sleepNanos(long nanos) {}
  }

  private interface Closing {
    void run() throws Exception;
  }

  /** Micros, from cold caches: a bucket is closed long after it was written. */
  private static double time(Closing closing) throws Exception {
    for (int i = 0; i < MEMORY.length; i += 64) {
      MEMORY[i]++;
    }
    long began = System.nanoTime();
    closing.run();
    return (System.nanoTime() - began) / 1e3;
  }

  private static Closing fill(Path directory, Size size) throws Exception {
    var settings = wide();
    long now = SystemTime.INSTANCE.wallNanos();
    var time = new Frozen(now);
    Store store =
        Store.init(directory, settings, Store.Environment.of(new MachineName("bench"), time));
    Log log = store.createLog(new LogName("bench"));
    var random = new SplittableRandom(now);
    for (int f = 0; f < FILES; f++) {
      try (LogWriter writer = log.writer(Durability.CLOSE)) {
        var receipts = new ArrayList<PendingReceipt>();
        for (int n = 0; n < size.file / size.message; n++) {
          byte[] line = line(random.nextInt(1 << 20), size.message);
          receipts.add(writer.submit(LeaseStamp.NONE, line, 0, line.length));
        }
        for (PendingReceipt receipt : receipts) {
          if (!(receipt.await() instanceof Receipt.Committed)) {
            throw new IllegalStateException(receipt.await().toString());
          }
        }
      }
    }
    var bucket = Bucket.of(now, settings.bucketWidthNanos());
    var closer = new BucketCloser(log.context());
    return () -> {
      var closed = closer.close(bucket, b -> false).orElseThrow();
      if (closed.bucket().files().size() != FILES) {
        throw new IllegalStateException(closed.bucket().files().size() + " files");
      }
    };
  }

  /** As programs log: much of it as in the line before. */
  private static byte[] line(int n, int length) {
    String json =
        "{\"level\":\"INFO\",\"job\":%d,\"host\":\"node-%d\",\"message\":\"step %d took %d ms\"}, ";
    String text = json.formatted(n % 977, n % 61, n, n % 1013);
    return text.repeat(1 + length / text.length()).substring(0, length).getBytes(US_ASCII);
  }

  private static StoreSettings wide() {
    StoreSettings d = StoreSettings.DEFAULT;
    return Altered.with(
        d,
        "bucketWidthMs",
        3_600_000,
        "graceMs",
        100_000,
        "clockAheadMs",
        60_000,
        "clockBehindMs",
        60_000,
        "longestLeaseMs",
        8_000_000);
  }

  /** The bucket's data files once more; how many bytes they have. */
  private static long copy(Path store, Path copies) throws IOException {
    try (var all = Files.walk(store)) {
      long bytes = 0;
      for (Path file : all.filter(p -> p.toString().endsWith(".log")).toList()) {
        Path copy = Files.copy(file, copies.resolve(file.getFileName()));
        bytes += Files.size(copy);
      }
      return bytes;
    }
  }

  private static void bare(Path directory) throws IOException {
    StoreFs fs = new PosixFs(null, null);
    ByteBuffer window = ByteBuffer.allocateDirect(256 << 10);
    try (StoreFile out = fs.create(directory.resolve("tmp"), 0644)) {
      for (String name : fs.list(directory)) {
        try (StoreFile in = fs.read(directory.resolve(name))) {
          long at = 0;
          for (int n; (n = in.read(window.clear(), at)) > 0; at += n) {
            out.write(window.flip());
          }
        }
      }
      out.force();
    }
    fs.link(directory.resolve("tmp"), directory.resolve("lock"));
  }

  private static void delete(Path directory) throws IOException {
    try (var all = Files.walk(directory)) {
      for (Path p : all.toList()) {
        if (Files.isDirectory(p)) {
          Files.setAttribute(p, "unix:mode", 0755);
        }
      }
    }
    try (var all = Files.walk(directory)) {
      for (Path p : all.sorted((a, b) -> b.compareTo(a)).toList()) {
        Files.delete(p);
      }
    }
  }
}
