package dev.cinch.examples;

import dev.cinch.bag.Closer;
import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.registry.StoreInstances;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.examples.Share.Line;
import dev.cinch.lease.instance.ServiceInstance;
import dev.cinch.lease.server.LeaseServer;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;

/**
 * The main job on real processes: four writers on four "machines" with wrong clocks share leases
 * and append every line of the input; a closer runs as from cron; one writer is killed while it
 * holds a lease, and another takes the lease over through the fence. Then the settled view is
 * compared with the input, and audited. Exits with 1 if anything is lost, doubled or out of order.
 */
public final class Quickstart {
  /** All within the half second that the store allows. */
  private static final int[] CLOCK_OFFSETS_MS = {0, -300, 250, 400};

  private static final int VICTIM = 3;
  private static final int HEIR = 0;
  private static final String LOG = "lines";
  private static final int CLOSE_SECONDS = 3;

  private final long began = System.nanoTime();
  private final Path root;
  private final List<Path> files;

  private Quickstart(Path root, List<Path> files) {
    this.root = root;
    this.files = files;
  }

  /** Arguments: a directory to make the store in, then files. */
  public static void main(String[] args) throws Exception {
    Warnings.only();
    var files = Arrays.stream(args).skip(1).map(Path::of).toList();
    for (Path file : files) {
      if (!Files.isReadable(file) || Files.isDirectory(file)) {
        System.err.println("quickstart: " + file + ": no file that can be read");
        System.exit(2);
      }
    }
    boolean good = new Quickstart(Path.of(args[0]), files).run();
    System.exit(good ? 0 : 1);
  }

  private synchronized void say(String line) {
    System.out.printf("%6.1f s  %s%n", (System.nanoTime() - began) / 1e9, line);
  }

  private boolean run() throws Exception {
    List<Line> lines = Share.read(files);
    StoreSettings settings =
        StoreSettings.builder()
            .longestLease(Duration.ofSeconds(10))
            .leases(StoreSettings.Leases.REQUIRED)
            .build();
    Path directory = root.resolve("store");
    Store store =
        Store.init(
            directory,
            settings,
            Store.Environment.of(new MachineName("head"), SystemTime.INSTANCE));
    Log log = store.createLog(new LogName(LOG));
    SigningKey key = SigningKey.generate();
    long unused = TrustedKeyFiles.add(store.context(), key);
    var service =
        ServiceInstance.builder(new WitnessSigner(key), SystemTime.INSTANCE)
            .registry(new StoreInstances(store.context(), key))
            .longestLeaseMs(settings.longestLeaseMs())
            .start();
    try (LeaseServer server =
        LeaseServer.builder(service, service::info)
            .port(0)
            .maintenance(service::maintain)
            .start()) {
      say("store %s, lease server %s, %d lines".formatted(directory, server.uri(), lines.size()));
      Process closer = startCloser(directory);
      try {
        if (!write(server, directory)) {
          return false;
        }
      } finally {
        closer.destroy();
      }
      settle(store, log);
      Outcome outcome = Outcome.of(log, lines);
      boolean audited = audit(directory);
      say("audit: " + (audited ? "every lease, bound, fence and signature holds" : "VIOLATIONS"));
      System.out.println(outcome);
      return outcome.good() && audited;
    }
  }

  private boolean write(LeaseServer server, Path store) throws Exception {
    var writers = new ArrayList<WriterProcess>();
    for (int i = 0; i < Share.WRITERS; i++) {
      writers.add(new WriterProcess(writer(server, store, i), i, this::say));
      say("writer %d is machine-%d, its clock %+d ms off".formatted(i, i, CLOCK_OFFSETS_MS[i]));
    }
    String held = writers.get(VICTIM).awaitHolding();
    boolean good = true;
    if (held == null) {
      say("writer %d had too little to do to be killed while holding a lease".formatted(VICTIM));
    } else {
      writers.get(VICTIM).kill();
      say("writer %d killed (SIGKILL) while holding %s".formatted(VICTIM, held));
    }
    for (int i = 0; i < Share.WRITERS; i++) {
      if (i != VICTIM || held == null) {
        good &= writers.get(i).awaitDone(1);
      }
    }
    if (held != null) {
      writers.get(HEIR).tell("TAKEOVER " + VICTIM + " " + held);
      good &= writers.get(HEIR).awaitDone(2);
    }
    for (int i = 0; i < Share.WRITERS; i++) {
      if (i != VICTIM || held == null) {
        int code = writers.get(i).finish();
        good &= code == 0;
        say("writer %d ended with %d: %s".formatted(i, code, writers.get(i).summary()));
      } else {
        say("writer %d before its death: %s".formatted(i, writers.get(i).summary()));
      }
    }
    if (!good) {
      say("a writer failed; see above");
    }
    return good;
  }

  private ProcessBuilder java(List<String> arguments) {
    var command = new ArrayList<String>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"));
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    command.addAll(arguments);
    return new ProcessBuilder(command);
  }

  private ProcessBuilder writer(LeaseServer server, Path store, int i) {
    var arguments = new ArrayList<String>();
    arguments.add("dev.cinch.examples.QuickstartWriter");
    arguments.addAll(List.of(store.toString(), LOG, server.uri().toString(), "" + i));
    arguments.addAll(List.of("" + CLOCK_OFFSETS_MS[i], "" + (i == VICTIM)));
    files.forEach(f -> arguments.add(f.toString()));
    return java(arguments);
  }

  /** As cron would: a shell loop that starts one process after the other. */
  private Process startCloser(Path store) throws IOException {
    String close =
        String.join(
            " ",
            java(List.of("dev.cinch.cli.Main", "close", "--store", store.toString()))
                .command()
                .stream()
                .map(word -> "'" + word.replace("'", "'\\''") + "'")
                .toList());
    String loop = "while sleep " + CLOSE_SECONDS + "; do " + close + "; done";
    Path account = root.resolve("closer.log");
    say(
        "a closer runs every %d s, as from cron; its account is %s"
            .formatted(CLOSE_SECONDS, account));
    return new ProcessBuilder("sh", "-c", loop)
        .redirectErrorStream(true)
        .redirectOutput(account.toFile())
        .start();
  }

  /** Waits until everything that was written can be read as settled. */
  private void settle(Store store, Log log) throws IOException, InterruptedException {
    new Closer(store, List.of(log.name()), null, new Closer.Listener() {})
        .await(OptionalLong.empty(), false);
    say("settled through " + log.reader().settledThrough());
  }

  private boolean audit(Path store) throws IOException, InterruptedException {
    return java(List.of("dev.cinch.cli.Main", "audit", "--store", store.toString()))
            .inheritIO()
            .start()
            .waitFor()
        == 0;
  }
}
