package dev.cinch.cli.append;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.close.HorizonAdvance;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.InWords;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.model.Words;
import dev.cinch.bag.storage.RoomWait;
import dev.cinch.bag.store.RemovedLogs;
import dev.cinch.bag.write.FateUnknownException;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.cli.base.Converters.Moment;
import dev.cinch.cli.base.CreateOption;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.LongWait;
import dev.cinch.cli.base.Misuse;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.ServerOptions;
import dev.cinch.cli.base.StoppableTime;
import dev.cinch.cli.base.StoreOptions;
import dev.cinch.cli.lease.GrantDirectory;
import dev.cinch.cli.lease.GrantOption;
import dev.cinch.cli.lease.LeaseClient;
import dev.cinch.cli.lease.WaitOption;
import dev.cinch.lease.LeaseName;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Appends lines as messages. */
@Command(
    name = AppendCommand.COMMAND,
    description = {
      "Append each line of the inputs as one message, without its newline; any bytes will do.",
      "They are written under the leases named, or under those of the cinch lease run that it runs"
          + " in (CINCH_GRANT). With --wait, leases that are lost are taken anew: it says so, and"
          + " goes on with the lines that were not yet taken. Messages keep the input's order. If"
          + " the bucket of one was closed before it was written, it is sent again, and those after"
          + " it too. Ends with 0 when all are committed. Ends with 3 and the numbers of the lines"
          + " when some are not, or 4 if that is because the lease service does not answer. These"
          + " are not in the log and never will be. No line follows one that stays out, unless that"
          + " is too long."
          + " SIGTERM and SIGINT stop the reading. It finishes the lines that it has, however long"
          + " that takes, gives leases back, and ends with 143 or 130. After the end of the input"
          + " it ends as it would anyway. Another signal, half a second later or more, ends it at"
          + " once. It waits for a full disk until there is room, see --give-up."
    },
    footer = {
      "",
      "Examples:",
      "  cinch append --log jobs < jobs.txt",
      "  cinch append --log jobs --lease jobs/42 --server http://127.0.0.1:8470 --json",
      "  cinch append --log jobs --lease jobs/42 --wait 5m --resume results.txt",
      "  cinch append --log jobs --settle results-*.txt && cinch cat --log jobs"
    })
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class AppendCommand implements Callable<Integer> {
  private static final Logger LOG = LoggerFactory.getLogger(AppendCommand.class);

  static final String COMMAND = "append";
  static final String NAME = "cinch " + COMMAND;

  /** How long a second signal waits for fates; {@link dev.cinch.cli.base.Stop} waits no longer. */
  private static final long LAST_MS = 150;

  private final Io io;

  @Spec CommandSpec spec;

  @Mixin StoreOptions store;
  @Mixin ServerOptions server;

  @Option(names = "--log", required = true, paramLabel = "NAME", description = "The log.")
  LogName log;

  @Option(
      names = "--lease",
      paramLabel = "LEASE",
      showDefaultValue = CommandLine.Help.Visibility.NEVER,
      description = "Write under this lease, taken first and released at the end; repeatable.")
  List<LeaseName> leases = new ArrayList<>();

  @Option(
      names = {"--lease-for", "--for"},
      paramLabel = "DURATION",
      description =
          "How long leases last unless renewed, which happens by itself; 10s unless set, or as the"
              + " store asks or the service allows.")
  @Nullable Duration leaseFor;

  @Mixin WaitOption waiting;

  @Option(
      names = "--resume",
      description =
          "Go on with an input that was begun under the same lease: lines that are in the log are"
              + " left out. Refuses, with exit code 3, an input that is not the one that was"
              + " begun.")
  boolean resume;

  @Option(
      names = "--since",
      paramLabel = "TIME",
      description =
          "With --resume: this input was begun then or later, like -7d. Nothing earlier is read.")
  @Nullable Moment since;

  @Option(
      names = "--complete",
      description =
          "With --resume: the inputs end where they end. Without it a last line that has no end is"
              + " left out, with exit code 3, since its writer may be at it still.")
  boolean complete;

  @Option(
      names = "--give-up",
      paramLabel = "DURATION",
      description =
          "End once no line got its receipt for so long, as when a disk is full: with exit code 4,"
              + " and the lines that are not in the log. Of one batch at most nobody may know."
              + " Otherwise it waits until the store can be written, and says each minute for what.")
  @Nullable Duration giveUp;

  @Option(names = "--json", description = "Print a receipt a message, as JSON lines.")
  boolean json;

  @Option(
      names = "--durability",
      paramLabel = "HOW",
      defaultValue = "sync",
      description = "sync: survives a power cut. close: forces nothing on a local filesystem.")
  Durability durability;

  @Mixin CreateOption create;

  @Option(names = "-0", description = "Lines end with a NUL, as find -print0 writes them.")
  boolean nul;

  @Option(
      names = "--end",
      paramLabel = "LINE",
      description =
          "The input ends with this line, which is no message. An input that ends before is cut: the"
              + " rest of a line is left out, and the exit code is 3.")
  @Nullable String end;

  @Option(names = "--whole", description = "Each FILE is one message, whatever is in it.")
  boolean whole;

  @Option(
      names = "--settle",
      description =
          "Wait until all lines can be read as settled, and close their buckets once that is due.")
  boolean settle;

  @Parameters(
      arity = "0..*",
      paramLabel = "FILE",
      defaultValue = "-",
      description = "The inputs, in this order; standard input if it is - or left out.")
  List<String> files;

  /** The highest timestamp of what is in the log. */
  private long latest = Long.MIN_VALUE;

  /** Whether a second signal ended it. */
  private volatile boolean ended;

  private final CountDownLatch told = new CountDownLatch(1);
  private final AtomicBoolean lastWords = new AtomicBoolean();
  private boolean saidWhat;

  AppendCommand(Io io) {
    this.io = io;
  }

  @Override
  public Integer call() throws Exception {
    GrantDirectory grant = leases.isEmpty() ? grant() : null;
    boolean isLeased = !leases.isEmpty() || grant != null;
    if (!leases.isEmpty()) {
      if (!server.isGiven()) {
        throw new Misuse("--lease needs a lease service: --server URL, or CINCH_SERVER");
      }
      LeaseClient.checkNames(leases);
    }
    Duration wait = waiting.checked();
    if (!isLeased) {
      refuseWithoutLease("--wait");
      refuseWithoutLease("--lease-for");
      refuseWithoutLease("--resume");
    }
    if (since != null && !resume) {
      throw new Misuse("--since is for --resume");
    }
    if (complete && !resume) {
      throw new Misuse("--complete is for --resume");
    }
    if (giveUp != null && giveUp.toMillis() <= 0) {
      throw new Misuse("--give-up is longer than 0s");
    }
    if (nul && whole) {
      throw new Misuse("with --whole nothing ends a line: leave out -0");
    }
    if (end != null && (whole || files.size() > 1)) {
      throw new Misuse("--end is for one input of lines");
    }
    var time = new StoppableTime(store.time(), io.stop());
    Store opened = Store.open(store.name(), store.environment(time));
    if (!isLeased) {
      refuseWhereLeasesAreRequired(opened);
    }
    var room = new RoomWait(time, NAME, giveUp);
    long now = writable(room, () -> opened.context().checkedNow()); // before a line is lost
    if (since != null && since.nanos() > now) {
      throw new Misuse(
          "--since "
              + Moment.text(since.nanos())
              + " is in the future: all lines would go in again");
    }
    try (var in = new Inputs(files, io.in(), end)) {
      in.check();
      Log target = writable(room, () -> create.open(opened, log, NAME, io));
      io.stop().listen(); // until here nothing is lost by an end, and any of it may hang
      if (!isLeased) {
        time.settle();
        return settled(append(target, in), target, time);
      }
      var client =
          new LeaseClient(
              grant == null ? server.required() : grant.servers(), server.credentials.get());
      var leased = new LeasedAppend(this, io, client, opened, target, wait, time);
      return settled(grant == null ? leased.own(in) : leased.shared(in, grant), target, time);
    }
  }

  /** Waits for room. A store that takes no changes is none that it would wait for. */
  static <T> T writable(RoomWait room, RoomWait.Work<T> work)
      throws IOException, InterruptedException {
    try {
      return room.until(work);
    } catch (IOException e) {
      if (InWords.isReadOnly(e)) {
        throw new Failure.Refusal(
            InWords.line(e) + "; nothing was appended: mount it for writing, then append again");
      }
      if (InWords.isFull(e)) { // for as long as --give-up says
        throw new IOException(
            "gave up waiting for room, and nothing was appended: " + InWords.line(e), e);
      }
      throw e;
    }
  }

  /** What cinch lease run, or lease acquire --export, left for commands like this one. */
  private @Nullable GrantDirectory grant() throws IOException {
    String variable = io.env().apply(GrantOption.VARIABLE);
    if (variable == null || variable.isEmpty()) {
      return null;
    }
    if (!variable.contains("/")) {
      throw new Misuse(
          "CINCH_GRANT is no directory of cinch lease run or lease acquire --export: unset it, or"
              + " name leases with --lease",
          null);
    }
    return GrantDirectory.open(Path.of(variable));
  }

  /** Who names it believes that the lines are written under a lease. */
  private void refuseWithoutLease(String option) {
    if (spec.commandLine().getParseResult().hasMatchedOption(option)) {
      throw new Misuse(option + " needs a lease: name one with --lease");
    }
  }

  /** What is written there under no lease is committed, and exists for no reader (rule F3). */
  private static void refuseWhereLeasesAreRequired(Store store) throws Failure.Refusal {
    if (store.context().settings().leases() == StoreSettings.Leases.REQUIRED) {
      throw new Failure.Refusal(
          "messages without a lease do not exist in this store (leases: required);"
              + " name one with --lease");
    }
  }

  private LineReader.Ends ends() {
    return whole ? LineReader.Ends.INPUT : nul ? LineReader.Ends.NUL : LineReader.Ends.NEWLINE;
  }

  /** Waits until what was appended is settled, if that is asked for; a signal ends the wait. */
  private int settled(int code, Log target, StoppableTime time)
      throws IOException, InterruptedException {
    if (!settle || code != ExitCode.GOOD || latest == Long.MIN_VALUE) {
      return code;
    }
    var wait = new LongWait(io, NAME, time::monotonicNanos);
    var room = new RoomWait(time, "settling what was appended", giveUp);
    time.unsettle();
    try {
      HorizonAdvance horizon = target.horizon();
      return room.until(
          () -> {
            horizon.await(
                latest + 1,
                OptionalLong.empty(),
                left ->
                    wait.goesOn(() -> "waiting until the lines are settled: " + Words.span(left)));
            return code;
          });
    } catch (InterruptedException e) {
      if (!io.stop().requested()) {
        throw e;
      }
      io.say(
          NAME,
          "stopped by " + io.stop().name() + ": all lines are committed, and not settled yet");
      return io.stop().exitCode();
    } catch (IOException e) { // whoever is not told would append them again
      Failure why = Failure.of(e);
      io.say(NAME, "all lines are committed, and not settled yet: " + why.line());
      return why.code();
    }
  }

  private int append(Log target, Inputs in) throws IOException, InterruptedException {
    LogWriter writer = target.writer(durability);
    try (var unused = new Closing(writer::close)) {
      AppendJob job =
          job(
              target,
              writer,
              (bytes, offset, n, behind) ->
                  AppendJob.Pending.of(writer.submit(LeaseStamp.NONE, bytes, offset, n, true)),
              Optional.empty());
      run(job, in);
      return tell(job, null);
    }
  }

  /** What closes a writer or a session. Where one gave up, what is unknown was told. */
  record Closing(Runnable inner) implements AutoCloseable {
    @Override
    public void close() {
      try {
        inner.run();
      } catch (FateUnknownException e) {
        LOG.debug("{}", e.getMessage());
      }
    }
  }

  AppendJob job(
      Log target,
      LogWriter writer,
      AppendJob.Submitter submitter,
      Optional<Resumption> resumption) {
    int limit = target.context().store().settings().messageLimit();
    return new AppendJob(
        submitter,
        limit,
        () -> removed(target),
        json ? io.output() : null,
        resumption.orElse(null),
        new GivingUp(
            store.time(), giveUp, writer::giveUp, job -> sayWhatStops(job, writer.waitsFor())));
  }

  /** Somebody who stops it sees nothing happen, and has to know what is waited for, once. */
  private void sayWhatStops(AppendJob job, String why) {
    if (io.stop().requested() && !saidWhat) {
      saidWhat = true;
      io.say(
          NAME,
          "%s: takes no more input; waiting for what becomes of %s%s; another signal ends it at once"
              .formatted(io.stop().name(), job.waiting(), why.isEmpty() ? "" : " (" + why + ")"));
    }
  }

  /** That a log was removed; null as far as can be seen. */
  private static @Nullable String removed(Log log) {
    try {
      return new RemovedLogs(log.context().store()).told(log.name()).orElse(null);
    } catch (IOException e) {
      return null; // the next message that is rejected asks again
    }
  }

  void run(AppendJob job, Inputs in) throws IOException, InterruptedException {
    io.stop().onRequest(job::stop);
    io.stop().onEnd(() -> end(job));
    try {
      job.run(in, ends());
    } catch (Output.ClosedException e) {
      // Elsewhere a reader that leaves is no error; here part of the input was not appended.
      throw new IOException(
          "%s; stopped after %d messages, more may be committed"
              .formatted(
                  e.brokenPipe()
                      ? "nobody reads the receipts"
                      : "the receipts can't be written: " + e.getMessage(),
                  job.fates().committed()),
          e);
    }
  }

  /** Another signal: what waits has its fate as soon as nobody waits any more. */
  private void end(AppendJob job) {
    ended = true;
    job.giveUp("ended by another signal");
    try {
      if (!told.await(LAST_MS, TimeUnit.MILLISECONDS) && lastWords.compareAndSet(false, true)) {
        io.say(NAME, "ended by another signal: " + job.underway());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** One line about what became of the input and the leases, where there is something to say. */
  int tell(AppendJob job, @Nullable String unreleased) {
    boolean stopped = io.stop().requested() && !job.ended();
    latest = job.fates().latest();
    boolean incomplete = job.fates().failed() + job.fates().unknown() > 0 || job.lost();
    boolean notable = unreleased != null || job.fates().earlier() > 0;
    boolean says = stopped || incomplete || notable || io.terminal();
    if (says && (!ended || lastWords.compareAndSet(false, true))) {
      io.say(
          NAME,
          (stopped ? "stopped by " + io.stop().name() + " before the end of the input: " : "")
              + job.summary()
              + (unreleased == null ? "" : "; " + unreleased));
    }
    told.countDown();
    if (ended) {
      return io.stop().exitCode();
    }
    if (job.hangs()) {
      io.stop().end(ExitCode.UNAVAILABLE); // nothing can be closed
    }
    if (job.gaveUp()) {
      return ExitCode.UNAVAILABLE;
    }
    if (stopped) {
      return io.stop().exitCode();
    }
    if (!incomplete) {
      return ExitCode.GOOD;
    }
    return job.lost() && unreleased != null ? ExitCode.UNAVAILABLE : ExitCode.REFUSED;
  }
}
