import dev.cinch.bag.Log;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.bag.write.PendingReceipt;
import dev.cinch.lease.time.SystemTime;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.queue.ChronicleQueue;
import net.openhft.chronicle.queue.ExcerptAppender;

/**
 * Sixteen threads that append 200-byte messages, to Cinch (durability close, every message confirmed) and to Chronicle Queue, in turns
 * in one process. Arguments: a directory on the filesystem to measure, rounds, milliseconds a round.
 */
public final class PeerBench {
  private static final int THREADS = 16;
  private static final int WINDOW = 4096;
  private static final byte[] MESSAGE = new byte[200];

  interface Case {
    long run(long until) throws Exception;
  }

  public static void main(String[] args) throws Exception {
    Path root = Files.createTempDirectory(Path.of(args[0]), "peer-bench");
    int rounds = Integer.parseInt(args[1]);
    long nanos = Long.parseLong(args[2]) * 1_000_000;
    double[] cinch = new double[rounds];
    double[] chronicle = new double[rounds];
    for (int r = -1; r < rounds; r++) {
      double a = cinch(root.resolve("cinch" + r), nanos);
      double b = chronicle(root.resolve("chronicle" + r), nanos);
      if (r >= 0) {
        cinch[r] = a;
        chronicle[r] = b;
      }
    }
    print("Cinch, submit", cinch);
    print("Chronicle Queue", chronicle);
    System.exit(0);
  }

  private static void print(String name, double[] rates) {
    Arrays.sort(rates);
    System.out.printf(
        "%-24s %12.0f messages/s (%.0f to %.0f)%n",
        name, rates[rates.length / 2], rates[0], rates[rates.length - 1]);
  }

  private static double all(long nanos, Case each) throws Exception {
    var pool = Executors.newFixedThreadPool(THREADS);
    long began = System.nanoTime();
    var tasks = new ArrayList<Callable<Long>>();
    for (int i = 0; i < THREADS; i++) {
      tasks.add(() -> each.run(began + nanos));
    }
    try {
      long sum = 0;
      for (var f : pool.invokeAll(tasks)) {
        sum += f.get();
      }
      return sum * 1e9 / (System.nanoTime() - began);
    } finally {
      pool.shutdown(); // or a failure would leave the process waiting
    }
  }

  private static double cinch(Path directory, long nanos) throws Exception {
    var environment = Store.Environment.of(new MachineName("bench"), SystemTime.INSTANCE);
    Log log = Store.init(directory, StoreSettings.DEFAULT, environment).createLog(new LogName("b"));
    double rate;
    try (LogWriter writer = log.writer(Durability.CLOSE)) {
      rate =
          all(
              nanos,
              until -> {
                var window = new ArrayDeque<PendingReceipt>(WINDOW);
                long n = 0;
                while (System.nanoTime() < until) {
                  for (int i = 0; i < 64; i++, n++) {
                    if (window.size() == WINDOW) {
                      committed(window.removeFirst().await());
                    }
                    window.addLast(writer.submit(LeaseStamp.NONE, MESSAGE, 0, MESSAGE.length));
                  }
                }
                for (PendingReceipt p : window) {
                  committed(p.await());
                }
                return n;
              });
    }
    delete(directory);
    return rate;
  }

  private static void committed(Receipt receipt) {
    if (!(receipt instanceof Receipt.Committed)) {
      throw new IllegalStateException(receipt.toString());
    }
  }

  private static double chronicle(Path directory, long nanos) throws Exception {
    double rate;
    try (ChronicleQueue queue = ChronicleQueue.single(directory.toString())) {
      rate =
          all(
              nanos,
              until -> {
                Bytes<byte[]> bytes = Bytes.wrapForRead(MESSAGE);
                long n = 0;
                try (ExcerptAppender appender = queue.createAppender()) {
                  while (System.nanoTime() < until) {
                    for (int i = 0; i < 64; i++, n++) {
                      bytes.readPositionRemaining(0, MESSAGE.length);
                      appender.writeBytes(bytes);
                    }
                  }
                }
                return n;
              });
    }
    delete(directory);
    return rate;
  }

  private static void delete(Path directory) throws Exception {
    try (var paths = Files.walk(directory)) {
      for (Path p : paths.sorted((a, b) -> b.compareTo(a)).toList()) {
        Files.delete(p);
      }
    }
  }
}
