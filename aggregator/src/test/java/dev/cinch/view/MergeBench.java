package dev.cinch.view;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.fs.ClockedFs;
import dev.cinch.bag.fs.PosixFs;
import dev.cinch.bag.fs.TestTime;
import dev.cinch.bag.layout.Bucket;
import dev.cinch.bag.layout.LogName;
import dev.cinch.bag.layout.MachineName;
import dev.cinch.bag.read.MessageSink;
import dev.cinch.bag.store.StoreSettings;
import dev.cinch.bag.write.Durability;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.bag.write.LogWriter;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import java.util.stream.Stream;

/**
 * Lines a second of reading settled buckets, of building segments and of reading them, beside
 * {@code LC_ALL=C sort -m} on the same lines in the same number of files. Each writes all lines to
 * a file. Arguments: lines, files, and optionally the directory to work in.
 */
public final class MergeBench {
  private static final int ROUNDS = 5;

  private final Path work;
  private final int lines;
  private final int files;
  private final TestTime time = new TestTime();

  private MergeBench(Path work, int lines, int files) {
    this.work = work;
    this.lines = lines;
    this.files = files;
  }

  public static void main(String[] args) throws Exception {
    int lines = args.length > 0 ? Integer.parseInt(args[0]) : 1_000_000;
    int files = args.length > 1 ? Integer.parseInt(args[1]) : 16;
    Path shm = Path.of("/dev/shm");
    Path parent =
        args.length > 2 ? Path.of(args[2]) : Files.isDirectory(shm) ? shm : Path.of("target");
    Path work = Files.createTempDirectory(parent, "merge-bench");
    try {
      new MergeBench(work, lines, files).run();
    } finally {
      try (Stream<Path> all = Files.walk(work)) {
        for (Path p : all.sorted(Comparator.reverseOrder()).toList()) {
          Files.delete(p);
        }
      }
    }
  }

  private Log open(int machine) throws IOException {
    var fs = new ClockedFs(new PosixFs(null, null), time);
    var environment =
        new Store.Environment(fs, new MachineName("m" + machine), time, new Random(machine));
    Path root = work.resolve("store");
    Store store =
        Files.exists(root)
            ? Store.open(root, environment)
            : Store.init(root, StoreSettings.DEFAULT, environment);
    return store.createLog(new LogName("bench"));
  }

  /** Lines of about 100 bytes that begin with a sequence number, dealt at random. */
  private void write() throws Exception {
    var writers = new ArrayList<LogWriter>();
    var texts = new ArrayList<OutputStream>();
    for (int i = 0; i < files; i++) {
      writers.add(open(i).writer(Durability.CLOSE));
      texts.add(
          new BufferedOutputStream(Files.newOutputStream(work.resolve("sorted-" + i)), 1 << 16));
    }
    var random = new Random(1);
    for (int i = 0; i < lines; i++) {
      int at = random.nextInt(files);
      byte[] line =
          "%012d some words of a message that is about a hundred bytes long, with a number %08x in it\n"
              .formatted(i, random.nextInt())
              .getBytes(StandardCharsets.US_ASCII);
      texts.get(at).write(line);
      var unused = writers.get(at).submit(LeaseStamp.NONE, line, 0, line.length);
    }
    for (int i = 0; i < files; i++) {
      writers.get(i).close();
      texts.get(i).close();
    }
    Log log = open(0);
    long to =
        Bucket.ceiling(time.wallNanos() + log.context().bucketWidth(), log.context().bucketWidth());
    time.advanceNanos(10 * log.context().bucketWidth());
    log.horizon().advance(to, OptionalLong.of(time.wallNanos()));
  }

  private interface Job {
    void run(Path out) throws Exception;
  }

  private interface Reading {
    void read(MessageSink sink) throws IOException;
  }

  private static Job toFile(Reading reading) {
    return out -> {
      try (var stream = new BufferedOutputStream(Files.newOutputStream(out), 1 << 16)) {
        reading.read(
            m -> {
              m.writeTo(stream);
              return true;
            });
      }
    };
  }

  private void measure(String what, Job job) throws Exception {
    var seconds = new ArrayList<Double>();
    Path out = work.resolve("out");
    for (int i = 0; i < ROUNDS; i++) {
      long start = System.nanoTime();
      job.run(out);
      seconds.add((System.nanoTime() - start) / 1e9);
    }
    seconds.sort(null);
    System.out.printf(
        "%-28s median %.3f s, best %.3f s, worst %.3f s: %,.0f lines/s%n",
        what,
        seconds.get(ROUNDS / 2),
        seconds.get(0),
        seconds.get(ROUNDS - 1),
        lines / seconds.get(ROUNDS / 2));
  }

  private void sort(Path out) throws Exception {
    var command = new ArrayList<>(List.of("sort", "-m", "-o", out.toString()));
    for (int i = 0; i < files; i++) {
      command.add(work.resolve("sorted-" + i).toString());
    }
    var builder = new ProcessBuilder(command).inheritIO();
    builder.environment().put("LC_ALL", "C");
    if (builder.start().waitFor() != 0) {
      throw new IOException("sort failed");
    }
  }

  private void run() throws Exception {
    write();
    Log log = open(0);
    Path segment = log.context().layout().segment(1);
    System.out.printf("%,d lines in %d files, %s%n", lines, files, work);
    measure("sort -m", this::sort);
    byte[] expected = Files.readAllBytes(work.resolve("out"));
    measure(
        "settled buckets",
        toFile(
            s -> log.reader().settled(Long.MIN_VALUE, Long.MAX_VALUE, true, s, (m, f, w) -> {})));
    same(expected);
    measure(
        "build a segment",
        out -> {
          Files.deleteIfExists(segment);
          if (new Aggregator(log).run().messages() != lines) {
            throw new IOException("messages are missing");
          }
        });
    measure("segments", toFile(s -> new ViewReader(log).read(Long.MIN_VALUE, Long.MAX_VALUE, s)));
    same(expected);
  }

  private void same(byte[] expected) throws IOException {
    if (!java.util.Arrays.equals(expected, Files.readAllBytes(work.resolve("out")))) {
      throw new IOException("the outputs differ");
    }
  }
}
