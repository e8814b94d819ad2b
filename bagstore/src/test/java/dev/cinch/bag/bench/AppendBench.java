package dev.cinch.bag.bench;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
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
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Appends against the bare system calls, in turns in one process: what counts is the ratio of the
 * medians. Arguments: a directory on the filesystem to measure, rounds, milliseconds a round.
 */
public final class AppendBench {
  private static final int WINDOW = 4096;
  private static final Set<OpenOption> APPEND =
      Set.of(StandardOpenOption.WRITE, StandardOpenOption.APPEND);

  private AppendBench() {}

  private interface Case {
    /** Runs until the time is over, and tells how many messages that made. */
    long run(long until) throws Exception;
  }

  public static void main(String[] args) throws Exception {
    Path root = Files.createTempDirectory(Path.of(args[0]), "append-bench");
    int rounds = Integer.parseInt(args[1]);
    long nanos = Long.parseLong(args[2]) * 1_000_000;
    Map<String, Case> cases = new LinkedHashMap<>();
    cases.put("1 thread, 100 B: open, append, close", bare(root.resolve("bare")));
    cases.put("1 thread, 100 B: append, kept open", kept(root.resolve("kept")));
    Log always = log(root.resolve("always"), StoreSettings.Confirm.ALWAYS);
    cases.put("1 thread, 100 B: confirm always", lone(always));
    cases.put(
        "1 thread, 100 B: confirm late",
        lone(log(root.resolve("late"), StoreSettings.Confirm.LATE)));
    cases.put("16 threads, 200 B: one file a message", many(i -> files(root.resolve("files" + i))));
    LogWriter shared = always.writer(Durability.CLOSE);
    cases.put("16 threads, 200 B: submit", many(i -> submit(shared)));
    cases.put("16 threads, 200 B: append", many(i -> append(shared)));
    Map<String, double[]> rates = new LinkedHashMap<>();
    for (int r = -1; r < rounds; r++) {
      for (var c : cases.entrySet()) {
        long began = System.nanoTime();
        long count = c.getValue().run(began + nanos);
        double rate = count * 1e9 / (System.nanoTime() - began);
        if (r >= 0) {
          rates.computeIfAbsent(c.getKey(), k -> new double[rounds])[r] = rate;
        }
      }
    }
    shared.close();
    rates.forEach(
        (name, rate) -> {
          Arrays.sort(rate);
          System.out.printf(
              "%-40s %12.0f messages/s (%.0f to %.0f)%n",
              name, rate[rounds / 2], rate[0], rate[rounds - 1]);
        });
  }

  private static Log log(Path directory, StoreSettings.Confirm confirm) throws IOException {
    StoreSettings d = StoreSettings.DEFAULT;
    var settings = Altered.with(d, "confirm", confirm);
    return Store.init(
            directory,
            settings,
            Store.Environment.of(new MachineName("bench"), SystemTime.INSTANCE))
        .createLog(new LogName("bench"));
  }

  private static Case bare(Path file) throws IOException {
    Files.write(file, new byte[0]);
    ByteBuffer message = ByteBuffer.allocateDirect(100);
    return until -> {
      long n = 0;
      for (; System.nanoTime() < until; n++) {
        try (FileChannel out = FileChannel.open(file, APPEND)) {
          message.clear();
          out.write(message);
        }
      }
      Files.write(file, new byte[0]);
      return n;
    };
  }

  private static Case kept(Path file) throws IOException {
    Files.write(file, new byte[0]);
    ByteBuffer message = ByteBuffer.allocateDirect(100);
    return until -> {
      long n = 0;
      try (FileChannel out = FileChannel.open(file, APPEND)) {
        for (; System.nanoTime() < until; n++) {
          message.clear();
          out.write(message);
        }
      }
      Files.write(file, new byte[0]);
      return n;
    };
  }

  private static Case lone(Log log) {
    byte[] payload = new byte[100];
    LogWriter writer = log.writer(Durability.CLOSE);
    return until -> {
      long n = 0;
      for (; System.nanoTime() < until; n++) {
        committed(writer.append(payload));
      }
      return n;
    };
  }

  private static void committed(Receipt receipt) {
    if (!(receipt instanceof Receipt.Committed)) {
      throw new IllegalStateException(receipt.toString());
    }
  }

  private interface PerThread {
    Case of(int thread) throws IOException;
  }

  private static Case many(PerThread each) throws IOException {
    List<Case> all = new ArrayList<>();
    for (int i = 0; i < 16; i++) {
      all.add(each.of(i));
    }
    return until -> {
      var pool = Executors.newFixedThreadPool(all.size());
      try {
        var tasks = new ArrayList<Callable<Long>>();
        all.forEach(c -> tasks.add(() -> c.run(until)));
        long sum = 0;
        for (Future<Long> f : pool.invokeAll(tasks)) {
          sum += f.get();
        }
        return sum;
      } finally {
        pool.shutdown();
      }
    };
  }

  private static Case files(Path directory) throws IOException {
    Files.createDirectory(directory);
    return until -> {
      byte[] payload = new byte[200];
      long n = 0;
      for (; System.nanoTime() < until; n++) {
        Files.write(directory.resolve("m" + n), payload);
      }
      for (long i = 0; i < n; i++) {
        Files.delete(directory.resolve("m" + i));
      }
      return n;
    };
  }

  private static Case submit(LogWriter writer) {
    return until -> {
      byte[] payload = new byte[200];
      var window = new ArrayDeque<PendingReceipt>(WINDOW);
      long n = 0;
      while (System.nanoTime() < until) {
        for (int i = 0; i < 64; i++, n++) {
          if (window.size() == WINDOW) {
            committed(window.removeFirst().await());
          }
          window.addLast(writer.submit(LeaseStamp.NONE, payload, 0, payload.length));
        }
      }
      for (PendingReceipt p : window) {
        committed(p.await());
      }
      return n;
    };
  }

  private static Case append(LogWriter writer) {
    return until -> {
      byte[] payload = new byte[200];
      long n = 0;
      for (; System.nanoTime() < until; n++) {
        committed(writer.append(payload));
      }
      return n;
    };
  }
}
