package dev.cinch.cli.append;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.session.Session;
import dev.cinch.bag.store.RemovedLogs;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.cli.base.CreateOption;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.Misuse;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.StoppableTime;
import dev.cinch.cli.base.StoreOptions;
import dev.cinch.cli.lease.GrantDirectory;
import dev.cinch.cli.lease.GrantOption;
import dev.cinch.cli.lease.LeaseClient;
import dev.cinch.cli.lease.LeaseOptions;
import dev.cinch.cli.lease.LeasePlace;
import dev.cinch.cli.lease.LeaseWait;
import dev.cinch.cli.lease.WaitOption;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.hold.LostAnswers;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
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
      "Append each line of the input as one message, without its newline; any bytes will do.",
      "They are written under the leases named, or under those of the cinch lease run that it runs"
          + " in (CINCH_GRANT). With --wait, leases that are lost are taken anew: it says so, and"
          + " goes on with the lines that were not yet taken. Messages keep the input's order. If"
          + " the bucket of one was closed before it was written, it is sent again, and may come"
          + " after later lines (the receipts of --json tell). Ends with 0 when all are committed."
          + " Ends with 3 and the numbers of the lines when some are not, or 4 if that is because"
          + " the lease service does not answer. These are not in the log and never will be."
          + " SIGTERM and SIGINT stop the reading. It finishes the lines that it has, however long"
          + " that takes, gives leases back, and ends with 143 or 130. After the end of the input"
          + " it ends as it would anyway. Another signal, half a second later or more, ends it at"
          + " once."
    },
    footer = {
      "",
      "Examples:",
      "  cinch append --log jobs < jobs.txt",
      "  cinch append --log jobs --lease jobs/42 --server http://127.0.0.1:8470 --json",
      "  cinch append --log jobs --lease jobs/42 --wait 5m results.txt"
    })
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class AppendCommand implements Callable<Integer> {
  static final String COMMAND = "append";
  private static final String NAME = "cinch " + COMMAND;

  private static final Duration USUAL = Duration.ofSeconds(10);

  private final Io io;

  /** Null where {@link UsualAppend} has set the options. */
  @Spec @Nullable CommandSpec spec;

  @Mixin StoreOptions store;
  @Mixin LeaseOptions server;

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

  @Option(names = "--json", description = "Print a receipt a message, as JSON lines.")
  boolean json;

  @Option(
      names = "--durability",
      paramLabel = "HOW",
      defaultValue = "sync",
      description = "sync: survives a power cut. close: forces nothing on a local filesystem.")
  Durability durability;

  @Mixin CreateOption create;

  @Parameters(
      arity = "0..1",
      paramLabel = "FILE",
      defaultValue = "-",
      description = "The input; standard input if it is - or left out.")
  String file;

  AppendCommand(Io io) {
    this.io = io;
  }

  @Override
  public Integer call() throws Exception {
    GrantDirectory grant = leases.isEmpty() ? grant() : null;
    boolean leased = !leases.isEmpty() || grant != null;
    LeasePlace place = server.place();
    if (!leases.isEmpty() && place == null) {
      throw new Misuse(
          "--lease needs a lease service: --server URL, or CINCH_SERVER; or --cell FILE", null);
    }
    Duration wait = waiting.checked();
    LeaseOptions.checkNames(leases);
    if (!leased) {
      refuseWithoutLease("--wait");
      refuseWithoutLease("--lease-for");
    }
    var time = new StoppableTime(store.time(), io.stop());
    Store opened = Store.open(store.store, store.environment(time));
    if (!leased) {
      refuseWhereLeasesAreRequired(opened);
    }
    long unused = opened.context().checkedNow(); // before the first line is read and lost
    try (InputStream in = file.equals("-") ? io.in() : Files.newInputStream(Path.of(file))) {
      Log target = create.open(opened, log, NAME, io);
      io.stop().listen(); // until here nothing is lost by an end, and any of it may hang
      if (!leased) {
        time.settle();
        return append(target, in);
      }
      LeasePlace at = grant == null ? Objects.requireNonNull(place) : grant.place();
      try (LeaseClient client =
          LeaseClient.open(at, server.credentials.get(), opened, store.time())) {
        return grant == null
            ? appendUnderLeases(client, opened, target, in, wait, time)
            : appendUnderGrant(client, opened, target, in, wait, time, grant);
      }
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
    if (isGiven(option)) {
      throw new Misuse(option + " is for --lease, and there is none");
    }
  }

  /**
   * Whether the command line has it; {@link UsualAppend} reads none of those that are asked for.
   */
  private boolean isGiven(String option) {
    return spec != null && spec.commandLine().getParseResult().hasMatchedOption(option);
  }

  /** What is written there under no lease is committed, and exists for no reader (rule F3). */
  private static void refuseWhereLeasesAreRequired(Store store) throws Failure.Refusal {
    if (store.context().settings().leases() == StoreSettings.Leases.REQUIRED) {
      throw new Failure.Refusal(
          "messages without a lease do not exist in this store (leases: required);"
              + " name one with --lease");
    }
  }

  private int append(Log target, InputStream in) throws IOException, InterruptedException {
    try (LogWriter writer = target.writer(durability)) {
      AppendJob job =
          job(
              target,
              (bytes, offset, n) -> writer.submit(LeaseStamp.NONE, bytes, offset, n)::await);
      run(job, in);
      return tell(job, null);
    }
  }

  private int appendUnderLeases(
      LeaseClient client,
      Store opened,
      Log target,
      InputStream in,
      Duration wait,
      StoppableTime time)
      throws IOException, InterruptedException, LeaseRefusedException, LeaseUnavailableException {
    String holder = opened.context().machine() + "/" + ProcessHandle.current().pid();
    try (Session session = Session.open(opened, client.service(), holder, durability)) {
      LeaseWait.Attempt<Grant> attempt = asking -> taken(session, client, opened, asking);
      if (!taken(attempt, opened, wait, time)) {
        return io.stop().exitCode();
      }
      time.settle();
      AppendJob job =
          job(
              target,
              wait.isZero()
                  ? (bytes, offset, n) -> session.submit(target, bytes, offset, n)::await
                  : lines(session, target, opened, wait, attempt, this::say));
      if (wait.isZero()) {
        session.listen((names, why) -> job.lost("a lease is no longer held: " + why));
      }
      run(job, in);
      return tell(job, unreleased(session));
    }
  }

  private Grant taken(Session session, LeaseClient client, Store opened, LostAnswers.Asking asking)
      throws IOException, InterruptedException, LeaseRefusedException, LeaseUnavailableException {
    Duration lasting = leaseFor != null ? leaseFor : LeaseClient.usual(USUAL, opened);
    try {
      return session.acquire(leases, lasting, asking);
    } catch (LeaseRefusedException e) {
      // To ask a service how long they may last takes as long as to ask for them.
      Duration allowed =
          leaseFor == null && e.reason() == LeaseRefusedException.Reason.INVALID
              ? client.usual(lasting)
              : lasting;
      if (allowed.equals(lasting)) {
        throw e;
      }
      return session.acquire(leases, allowed, asking);
    }
  }

  /** Under leases that somebody else keeps and gives back. */
  private int appendUnderGrant(
      LeaseClient client,
      Store opened,
      Log target,
      InputStream in,
      Duration wait,
      StoppableTime time,
      GrantDirectory grant)
      throws IOException, InterruptedException, LeaseRefusedException, LeaseUnavailableException {
    GrantDirectory.Use use = grant.use();
    client.share(grant.id(), grant.names());
    Duration lasting = joinedFor(grant, opened);
    // A lease service that was started anew knows them once their keeper has resumed them.
    Duration patience = wait.compareTo(lasting) > 0 ? wait : lasting;
    try (Session session = Session.open(opened, client.service(), "", durability)) {
      LeaseWait.Attempt<Grant> attempt = asking -> joined(session, client, grant, lasting);
      boolean taken = false;
      try {
        taken = taken(attempt, opened, patience, time);
      } finally {
        if (!taken) {
          use.unused();
        }
      }
      if (!taken) {
        return io.stop().exitCode();
      }
      time.settle();
      // A busy machine may let them lapse here while those who share the grant hold them on; then
      // nobody had them in between, and there is nothing to tell.
      AppendJob job = job(target, lines(session, target, opened, patience, attempt, line -> {}));
      run(job, in);
      Session.Left left = session.leave();
      use.ended(left.highest(), left.instance());
      return tell(job, null);
    }
  }

  /**
   * As long as those who gave the grant hold it: what is slow enough for them is here, and if this
   * is killed the next holder waits no longer than they chose. Longer only where the store fences
   * nothing in so short a time.
   */
  private Duration joinedFor(GrantDirectory grant, Store opened) {
    boolean tooShort = grant.lasting().toMillis() <= opened.settings().leaseAboveMs();
    return leaseFor != null
        ? leaseFor
        : tooShort ? LeaseClient.usual(USUAL, opened) : grant.lasting();
  }

  private Grant joined(Session session, LeaseClient client, GrantDirectory grant, Duration lasting)
      throws IOException, InterruptedException, LeaseRefusedException, LeaseUnavailableException {
    try {
      return joined(session, client.instances(), grant.id(), lasting);
    } catch (LeaseRefusedException e) {
      String why = String.valueOf(e.getMessage());
      if (!grant.isOpen()) {
        throw new Failure.Refusal(why + "; the leases of CINCH_GRANT were given back");
      }
      boolean unknown = e.reason() == Reason.NOT_HELD || e.reason() == Reason.OTHER_INSTANCE;
      throw unknown ? new LeaseRefusedException(Reason.NOT_YET, why, 0) : e;
    }
  }

  /** At whichever instance has them, of several servers that share the store. */
  private static Grant joined(Session session, List<Long> instances, Id id, Duration lasting)
      throws IOException, InterruptedException, LeaseRefusedException, LeaseUnavailableException {
    for (int i = 0; ; i++) {
      try {
        return session.join(id, instances.get(i), lasting);
      } catch (LeaseRefusedException e) {
        if (e.reason() != Reason.OTHER_INSTANCE || i == instances.size() - 1) {
          throw e;
        }
      }
    }
  }

  private LeasedLines lines(
      Session session,
      Log target,
      Store opened,
      Duration wait,
      LeaseWait.Attempt<Grant> attempt,
      Consumer<String> notice) {
    var time = new StoppableTime(store.time(), io.stop());
    return new LeasedLines(
        session,
        target,
        time,
        wait,
        () -> {
          Grant unused = waiting(opened, wait, time).take(attempt);
        },
        notice);
  }

  private LeaseWait waiting(Store opened, Duration wait, StoppableTime time) {
    return new LeaseWait(wait, time, time::queued, opened.context().random(), this::say);
  }

  private void say(String line) {
    io.say(NAME, line);
  }

  /** Whether leases were taken; false if a signal was first. */
  private boolean taken(
      LeaseWait.Attempt<Grant> attempt, Store opened, Duration wait, StoppableTime time)
      throws IOException, InterruptedException, LeaseRefusedException, LeaseUnavailableException {
    try {
      Grant unused = waiting(opened, wait, time).take(attempt);
      return true;
    } catch (IllegalArgumentException e) {
      throw new Misuse(String.valueOf(e.getMessage()), e);
    } catch (InterruptedException e) {
      if (!io.stop().requested()) {
        throw e;
      }
      io.say(NAME, "stopped by " + io.stop().name() + "; nothing was appended");
      return false;
    }
  }

  /** Gives the leases back; says why that could not be done, null if it was. */
  private static @Nullable String unreleased(Session session) {
    try {
      session.end();
      return null;
    } catch (LeaseUnavailableException e) {
      return e.getMessage() + "; the leases were not given back and run out";
    }
  }

  private AppendJob job(Log target, AppendJob.Submitter submitter) {
    int limit = target.context().store().settings().messageLimit();
    return new AppendJob(submitter, limit, () -> removed(target), json ? io.output() : null);
  }

  /** That a log was removed; null as far as can be seen. */
  private static @Nullable String removed(Log log) {
    try {
      return new RemovedLogs(log.context().store()).told(log.name()).orElse(null);
    } catch (IOException e) {
      return null; // the next message that is rejected asks again
    }
  }

  private void run(AppendJob job, InputStream in) throws IOException, InterruptedException {
    io.stop().onRequest(job::stop);
    try {
      job.run(in);
    } catch (Output.ClosedException e) {
      // Elsewhere a reader that leaves is no error; here part of the input was not appended.
      throw new IOException(
          "%s; stopped after %d messages, more may be committed"
              .formatted(
                  e.brokenPipe()
                      ? "nobody reads the receipts"
                      : "the receipts can't be written: " + e.getMessage(),
                  job.committed()),
          e);
    }
  }

  /** One line about what became of the input and the leases, where there is something to say. */
  private int tell(AppendJob job, @Nullable String unreleased) {
    boolean stopped = io.stop().requested() && !job.ended();
    boolean incomplete = job.failed() > 0 || job.lost();
    if (stopped || incomplete || unreleased != null || io.terminal()) {
      io.say(
          NAME,
          (stopped ? "stopped by " + io.stop().name() + " before the end of the input: " : "")
              + job.summary()
              + (unreleased == null ? "" : "; " + unreleased));
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
