package dev.cinch.cli.bench;

import dev.cinch.cli.Cinch;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Stop;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * What commands open and read of a store, and of one with twice as much in it: counts, which are
 * the same on each machine, and no seconds. The kernel counts ({@code strace}), so that nothing
 * escapes. Arguments: a directory, the launcher, a size.
 */
public final class GrowthBench {
  private static final String CALLS = "openat,read,pread64,readv,preadv,sendfile,copy_file_range";

  /** A call with a path in it, and what came of it. */
  private static final Pattern CALL = Pattern.compile("(\\w+)\\(.*\\) += (\\d+).*");

  private static final Duration MINUTE = Duration.ofMinutes(1);

  private final Path root;
  private final String launcher;
  private int stores;

  private GrowthBench(Path root, String launcher) {
    this.root = root;
    this.launcher = launcher;
  }

  private record Cost(long opens, long bytes) {}

  /** Puts so many things into a new store. */
  private interface Filling {
    void with(Path store, int things) throws Exception;
  }

  public static void main(String[] args) throws Exception {
    var bench = new GrowthBench(Path.of(args[0]), args[1]);
    int n = 20 * Integer.parseInt(args[2]);
    System.out.printf(
        "%-43s %7s  %15s %6s  %19s %6s  %s%n",
        "command, and what there is more of",
        "of them",
        "opens",
        "ratio",
        "bytes",
        "ratio",
        "wanted");
    bench.row("cat --all: messages of 50 logs", 10_000 * n, GrowthBench::logs, "1 and 2");
    bench.row("cat --tail=10 --log=a: segments", n, GrowthBench::segments, "1 and 2");
    bench.row("cat --tail=10 --log=a: messages", 2500 * n, GrowthBench::messages, "1 and 1");
    bench.row("status: buckets", n, GrowthBench::buckets, "1 and 1");
    bench.row("status: segments", n, GrowthBench::segments, "1 and 2");
    bench.row("append --log=a: segments", n, GrowthBench::segments, "1 and 2");
    bench.row("append --log=a: expired segments", n, GrowthBench::expired, "1 and 1");
    bench.row("status: starts of the lease server", n, GrowthBench::starts, "1 and 1");
    bench.row("serve --port=0: starts of the lease server", n, GrowthBench::starts, "1 and 1");
    bench.row("verify: starts of the lease server", n, GrowthBench::starts, "1 and 1");
  }

  private void row(String what, int n, Filling filling, String wanted) throws Exception {
    String command = what.substring(0, what.indexOf(':'));
    Cost one = cost(command, n, filling);
    Cost two = cost(command, 2 * n, filling);
    System.out.printf(
        "%-43s %7d  %7d %7d %6.2f  %9d %9d %6.2f  %s%n",
        what,
        n,
        one.opens,
        two.opens,
        (double) two.opens / one.opens,
        one.bytes,
        two.bytes,
        (double) two.bytes / one.bytes,
        wanted);
  }

  private Cost cost(String command, int things, Filling filling) throws Exception {
    Path work = Files.createDirectory(root.resolve("growth" + stores++));
    Path store = work.resolve("store");
    filling.with(store, things);
    var words = new ArrayList<>(List.of("strace", "-f", "-ff", "--seccomp-bpf", "-y", "-s0"));
    words.addAll(List.of("-e", "trace=" + CALLS, "-o", work.resolve("trace").toString(), launcher));
    words.addAll(List.of(command.split(" ")));
    words.add("--store=" + store);
    if (command.startsWith("serve")) {
      words.add(key(store));
    }
    Path in = Files.writeString(work.resolve("in"), "a line\n");
    Path out = work.resolve("out");
    Path err = work.resolve("err");
    var builder = new ProcessBuilder(words).redirectInput(in.toFile());
    Process process = builder.redirectOutput(out.toFile()).redirectError(err.toFile()).start();
    while (command.startsWith("serve") && process.isAlive()) {
      Thread.sleep(50);
      if (Files.readString(out).contains("listening on")) {
        process.descendants().forEach(ProcessHandle::destroy);
      }
    }
    int code = process.waitFor();
    if (code != ExitCode.GOOD && code != ExitCode.REFUSED) { // status refuses: no server answers
      throw new IllegalStateException(command + ": " + code + ": " + Files.readString(err));
    }
    return counted(work, store);
  }

  /** Of all threads of the command, each of which has a trace of its own. */
  private static Cost counted(Path work, Path store) throws IOException {
    long opens = 0;
    long bytes = 0;
    try (var traces = Files.newDirectoryStream(work, "trace.*")) {
      for (Path trace : traces) {
        for (String line : Files.readAllLines(trace)) {
          Matcher call = CALL.matcher(line);
          if (line.contains(store.toString()) && call.matches()) {
            boolean open = call.group(1).equals("openat");
            opens += open ? 1 : 0;
            bytes += open ? 0 : Long.parseLong(call.group(2));
          }
        }
      }
    }
    return new Cost(opens, bytes);
  }

  private static String lines(int n) {
    var random = new SplittableRandom(n);
    return IntStream.range(0, n)
        .mapToObj(i -> i + " some words of a message, and what differs " + random.nextLong() + "\n")
        .collect(Collectors.joining());
  }

  private static void run(Path store, String... command) {
    good(Cinch.on(store).run(command));
  }

  /** In one bucket. */
  private static void logs(Path store, int messages) throws Exception {
    run(store, "init", "--bucket-width=1m", "--longest-lease=5m", "" + store);
    Duration ago = MINUTE.multipliedBy(20).plusMillis(System.currentTimeMillis() % 60_000);
    for (int log = 0; log < 50; log++) {
      Cinch.on(store).settled("log" + log, lines(messages / 50), ago);
    }
  }

  /** In one segment. */
  private static void messages(Path store, int messages) throws Exception {
    run(store, "init", "" + store);
    Cinch.on(store).settled("a", lines(messages), MINUTE.multipliedBy(20));
    run(store, "view", "build", "--wait=0s");
  }

  /** Closed, each with a message. */
  private static void buckets(Path store, int buckets) throws Exception {
    run(store, "init", "" + store);
    for (int i = 0; i < buckets; i++) {
      Cinch.on(store).overdue("a", lines(1), MINUTE.multipliedBy(50).minusSeconds(2L * i));
    }
    Cinch.on(store).settle("a");
  }

  /** Each with a message, behind a checkpoint. */
  private static void segments(Path store, int segments) throws Exception {
    run(store, "init", "" + store);
    for (int i = 0; i < segments; i++) {
      segment(store, MINUTE.multipliedBy(50).minusSeconds(2L * i));
    }
    run(store, "gc", "--retention=0s");
  }

  private static void segment(Path store, Duration ago) throws Exception {
    Cinch.on(store).settled("a", lines(1), ago);
    run(store, "view", "build", "--wait=0s");
  }

  /** Deleted, and a checkpoint after that. */
  private static void expired(Path store, int segments) throws Exception {
    segments(store, segments);
    run(store, "gc", "--retention=0s", "--keep=20m");
    segment(store, MINUTE.multipliedBy(10));
    run(store, "gc", "--retention=0s");
  }

  private static void starts(Path store, int starts) {
    run(store, "init", "" + store);
    for (int i = 0; i < starts; i++) {
      Stop stop = Stop.byHand();
      Cinch server = Cinch.on(store).stoppedBy(stop).onOutput(() -> stop.arrived(Stop.SIGTERM));
      good(server.run("serve", "--port=0", key(store)));
    }
  }

  private static String key(Path store) {
    return "--key=" + store.resolveSibling("key");
  }

  private static void good(Cinch.Ran ran) {
    if (ran.code() != 0) {
      throw new IllegalStateException(ran.code() + ": " + ran.err());
    }
  }
}
