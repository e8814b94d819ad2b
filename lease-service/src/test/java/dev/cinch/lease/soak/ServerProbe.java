package dev.cinch.lease.soak;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Looks at a server's process from outside, on Linux.
 *
 * @param pid of the server
 * @param service the store's directory of the lease service
 * @param histograms where the classes of its live objects are left, a file each time
 */
record ServerProbe(long pid, Path service, Path histograms) {
  /** Where each lease that is not given back leaves a file. */
  private static final Set<String> LASTING = Set.of("ends", "revocations");

  private static final Pattern TOTAL = Pattern.compile("(?m)^Total\\s+\\d+\\s+(\\d+)\\s*$");
  private static final Pattern THREADS = Pattern.compile("(?m)^Threads:\\s+(\\d+)$");

  /**
   * What it found.
   *
   * @param heap bytes of live objects, after a full collection
   * @param others files of the service but ends and revocations, of which each lease that is not
   *     given back leaves one
   */
  record Sample(long heap, long threads, long descriptors, long ends, long others) {
    static String header() {
      return "%8s %10s %8s %12s %8s %8s"
          .formatted("minute", "heap KiB", "threads", "descriptors", "ends", "others");
    }

    String row(double minute) {
      return "%8.1f %10d %8d %12d %8d %8d"
          .formatted(minute, heap / 1_024, threads, descriptors, ends, others);
    }
  }

  /**
   * Looks once.
   *
   * @param number of the look
   */
  Sample sample(int number) throws IOException, InterruptedException {
    long ends = 0;
    long others = 0;
    try (Stream<Path> directories = Files.list(service)) {
      for (Path each : (Iterable<Path>) directories::iterator) {
        if (LASTING.contains(each.getFileName().toString())) {
          ends += files(each);
        } else {
          others += files(each);
        }
      }
    }
    return new Sample(liveHeap(number), threads(), descriptors(), ends, others);
  }

  /** A histogram of classes counts live objects only, and has all others collected first. */
  private long liveHeap(int number) throws IOException, InterruptedException {
    String jcmd = Path.of(System.getProperty("java.home"), "bin", "jcmd").toString();
    Process asked =
        new ProcessBuilder(jcmd, Long.toString(pid), "GC.class_histogram")
            .redirectErrorStream(true)
            .start();
    String said = new String(asked.getInputStream().readAllBytes(), UTF_8);
    Matcher total = TOTAL.matcher(said);
    if (asked.waitFor() != 0 || !total.find()) {
      throw new IOException("jcmd does not tell the heap of " + pid + ": " + said.strip());
    }
    Files.writeString(histograms.resolve("histogram-" + number), said);
    return Long.parseLong(total.group(1));
  }

  private long threads() throws IOException {
    Matcher threads = THREADS.matcher(Files.readString(proc("status")));
    if (!threads.find()) {
      throw new IOException("no count of threads in " + proc("status"));
    }
    return Long.parseLong(threads.group(1));
  }

  private long descriptors() throws IOException {
    return files(proc("fd"));
  }

  private Path proc(String what) {
    return Path.of("/proc", Long.toString(pid), what);
  }

  /** All below a directory that are not directories; those that go meanwhile do not count. */
  private static long files(Path directory) throws IOException {
    long count = 0;
    try (Stream<Path> entries = Files.list(directory)) {
      for (Path entry : (Iterable<Path>) entries::iterator) {
        count += Files.isDirectory(entry, LinkOption.NOFOLLOW_LINKS) ? files(entry) : 1;
      }
    }
    return count;
  }
}
