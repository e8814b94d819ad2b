package dev.cinch.bag.bench;

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
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.Altered;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/**
 * Closing a bucket of 100 data files, small and large, against the same system calls without any
 * sense. Arguments: a directory on the filesystem to measure, rounds. Every round makes its own
 * buckets; they are removed at the end.
 */
public final class CloseBench {
  private static final int FILES = 100;
  private static final int SMALL = 10 << 10;
  private static final int LARGE = 10 << 20;
  private static final int WARM_UP = 300;

  private static final ByteBuffer TAIL = ByteBuffer.allocateDirect(1 << 14);

  /** More than the processor's caches hold. */
  private static final byte[] MEMORY = new byte[128 << 20];

  private CloseBench() {}

  public static void main(String[] args) throws Exception {
    Path root = Files.createTempDirectory(Path.of(args[0]), "close-bench");
    int rounds = Integer.parseInt(args[1]);
    double[] small = new double[rounds];
    double[] large = new double[rounds];
    double[] bare = new double[rounds];
    for (int r = -WARM_UP; r < rounds; r++) {
      Path round = Files.createDirectory(root.resolve("round" + r));
      Closing toCloseSmall = fill(round.resolve("small"), SMALL);
      Closing toCloseLarge = fill(round.resolve("large"), r < 0 ? SMALL : LARGE);
      prepareBare(round.resolve("bare"));
      double s = time(toCloseSmall);
      double l = time(toCloseLarge);
      double b = time(() -> bare(round.resolve("bare")));
      if (r >= 0) {
        small[r] = s;
        large[r] = l;
        bare[r] = b;
      }
      delete(round);
    }
    print("100 files of 10 KiB", small);
    print("100 files of 10 MiB", large);
    print("bare system calls, 10 KiB", bare);
    delete(root);
  }

  private static void print(String name, double[] micros) {
    Arrays.sort(micros);
    System.out.printf(
        "%-28s %8.0f us (%.0f to %.0f)%n",
        name, micros[micros.length / 2], micros[0], micros[micros.length - 1]);
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

  private static Closing fill(Path directory, int size) throws Exception {
    var settings = wide();
    long now = SystemTime.INSTANCE.wallNanos();
    var time = new Frozen(now);
    Store store =
        Store.init(directory, settings, Store.Environment.of(new MachineName("bench"), time));
    Log log = store.createLog(new LogName("bench"));
    for (int f = 0; f < FILES; f++) {
      try (LogWriter writer = log.writer(Durability.CLOSE)) {
        byte[] message = new byte[size < LARGE ? 1000 : 1 << 20];
        for (long left = size - message.length; left >= 0; left -= message.length) {
          committed(writer.append(message));
        }
        committed(writer.append(new byte[100]));
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

  private static void committed(Receipt receipt) {
    if (!(receipt instanceof Receipt.Committed)) {
      throw new IllegalStateException(receipt.toString());
    }
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

  private static void prepareBare(Path directory) throws IOException {
    Files.createDirectory(directory);
    for (int f = 0; f < FILES; f++) {
      Files.write(directory.resolve(f + ".log"), new byte[SMALL]);
    }
    Files.write(directory.resolve("prelock"), new byte[0]);
  }

  private static void bare(Path directory) throws IOException {
    StoreFs fs = new PosixFs(null, null);
    ByteBuffer tail = TAIL;
    try (StoreFile out = fs.overwrite(directory.resolve("prelock"))) {
      out.write(ByteBuffer.wrap(new byte[1]));
      out.force();
    }
    fs.forceDirectory(directory);
    try (StoreFile out = fs.create(directory.resolve("tmp"), 0644)) {
      List<String> names = fs.list(directory);
      for (String name : names) {
        if (name.endsWith(".log")) {
          Path path = directory.resolve(name);
          fs.chmod(path, 0444);
          try (StoreFile in = fs.read(path)) {
            long size = in.size();
            long from = Math.max(0, size - tail.capacity());
            tail.clear().limit((int) (size - from));
            in.read(tail, from);
          }
        }
      }
      out.write(ByteBuffer.wrap(new byte[200 * FILES]));
      out.force();
    }
    fs.link(directory.resolve("tmp"), directory.resolve("lock"));
    fs.forceDirectory(directory);
    try (StoreFile in = fs.read(directory.resolve("lock"))) {
      in.read(tail.clear(), 0);
    }
    fs.unlink(directory.resolve("tmp"));
    fs.chmod(directory, 0555);
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
