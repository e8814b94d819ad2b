package dev.cinch.cli.append;

import dev.cinch.bag.Log;
import dev.cinch.bag.Session;
import dev.cinch.bag.Store;
import dev.cinch.bag.Writers;
import dev.cinch.cli.append.AppendCommand.Closing;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.Misuse;
import dev.cinch.cli.base.StoppableTime;
import dev.cinch.cli.lease.GrantDirectory;
import dev.cinch.cli.lease.LeaseClient;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.hold.HeldLease;
import dev.cinch.lease.hold.LeaseWait;
import dev.cinch.lease.hold.LostAnswers;
import java.io.Closeable;
import java.io.IOException;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Takes or joins the leases of an append, and gives them back or leaves them at its end. */
final class LeasedAppend {
  private static final Duration USUAL = Duration.ofSeconds(10);

  private final AppendCommand command;
  private final Io io;
  private final LeaseClient client;
  private final Store opened;
  private final Log target;
  private final Duration wait;
  private final StoppableTime time;
  private final Writers writers;

  /**
   * @param wait how long to wait for leases that others hold, or that can't be had
   * @param time whose waits a signal ends until the leases were taken
   */
  LeasedAppend(
      AppendCommand command,
      Io io,
      LeaseClient client,
      Store opened,
      Log target,
      Duration wait,
      StoppableTime time) {
    this.command = command;
    this.io = io;
    this.client = client;
    this.opened = opened;
    this.target = target;
    this.wait = wait;
    this.time = time;
    this.writers = new Writers(opened, command.durability);
  }

  /** Under leases of its own. */
  int own(Inputs in)
      throws IOException, InterruptedException, LeaseRefusedException, LeaseUnavailableException {
    String holder = opened.context().machine() + "/" + ProcessHandle.current().pid();
    Session session = Session.open(writers, client.service(), holder);
    try (var unusedWriters = new Closing(writers::close);
        var unused = new Closing(session::close)) {
      LeaseWait.Attempt<Grant> attempt = asking -> taken(session, asking);
      Optional<Resumption> resumption = taken(attempt, wait, session, true);
      if (resumption == null) {
        return io.stop().exitCode();
      }
      time.settle();
      // Leases that were lost may have been another's meanwhile, who resumed the same input.
      boolean once = wait.isZero() || command.resume;
      AppendJob job =
          command.job(
              target,
              writers.writer(target),
              once ? submitting(session) : lines(session, wait, attempt, this::say),
              resumption);
      if (once) {
        session.listen((names, why) -> job.lost("a lease is no longer held: " + why));
      }
      command.run(job, in);
      // What may still be written was written under them.
      boolean unknown = job.fates().unknown() > 0;
      return command.tell(
          job, unknown ? "the leases are not given back and run out" : unreleased(session));
    }
  }

  private Grant taken(Session session, LostAnswers.Asking asking)
      throws IOException, InterruptedException, LeaseRefusedException, LeaseUnavailableException {
    Duration lasting =
        command.leaseFor != null ? command.leaseFor : LeaseClient.usual(USUAL, opened);
    try {
      return session.acquire(command.leases, lasting, asking);
    } catch (LeaseRefusedException e) {
      // To ask a service how long they may last takes as long as to ask for them.
      Duration allowed =
          command.leaseFor == null && e.reason() == LeaseRefusedException.Reason.INVALID
              ? client.usual(lasting)
              : lasting;
      if (allowed.equals(lasting)) {
        throw e;
      }
      return session.acquire(command.leases, allowed, asking);
    }
  }

  /** Under leases that somebody else keeps and gives back. */
  int shared(Inputs in, GrantDirectory grant)
      throws IOException, InterruptedException, LeaseRefusedException, LeaseUnavailableException {
    if (!command.resume) {
      return joined(in, grant);
    }
    try (Closeable unused = grant.resuming(target.name())) {
      return joined(in, grant);
    }
  }

  private int joined(Inputs in, GrantDirectory grant)
      throws IOException, InterruptedException, LeaseRefusedException, LeaseUnavailableException {
    GrantDirectory.Use use = grant.use();
    Duration lasting = joinedFor(grant);
    // A lease service that was started anew knows them once their keeper has resumed them.
    Duration patience = wait.compareTo(lasting) > 0 ? wait : lasting;
    Session session = Session.open(writers, client.service(), "");
    try (var unusedWriters = new Closing(writers::close);
        var unused = new Closing(session::close)) {
      LeaseWait.Attempt<Grant> attempt = asking -> joined(session, grant, lasting);
      Optional<Resumption> resumption = null;
      try {
        resumption = taken(attempt, patience, session, false);
      } finally {
        if (resumption == null) {
          use.unused();
        }
      }
      if (resumption == null) {
        return io.stop().exitCode();
      }
      time.settle();
      // A busy machine may let them lapse here while those who share the grant hold them on; then
      // nobody had them in between, and there is nothing to tell.
      AppendJob job =
          command.job(
              target,
              writers.writer(target),
              lines(session, patience, attempt, line -> {}),
              resumption);
      try {
        command.run(job, in);
      } catch (Failure.Refusal e) {
        leave(session, use); // nothing was written
        throw e;
      }
      String unreleased = null;
      if (job.fates().unknown() == 0) {
        leave(session, use);
      } else {
        unreleased = "the leases can't be given back and run out";
      }
      return command.tell(job, unreleased);
    }
  }

  private static void leave(Session session, GrantDirectory.Use use) throws IOException {
    Session.Left left = session.leave();
    use.ended(left.highest(), left.instance());
  }

  private AppendJob.Submitter submitting(Session session) {
    return (bytes, offset, length, behind) ->
        AppendJob.Pending.of(
            session.submit(
                target, bytes, offset, length, true, behind == null ? null : behind.receipt()));
  }

  /** What stands in the log under all the leases, once that is settled. */
  private Resumption resumption(Session session, boolean own)
      throws IOException, InterruptedException, LeaseRefusedException {
    long end = session.settleEarlier(target);
    long from = command.since == null ? Long.MIN_VALUE : command.since.nanos();
    Set<LeaseName> names = new HashSet<>();
    boolean known = !own; // that somebody may have written under them before
    for (HeldLease held : session.leases()) {
      for (SignedWitness w : held.witnesses()) {
        names.add(w.witness().name());
        known |= w.witness().lowerBound() != Long.MIN_VALUE;
      }
    }
    boolean earlier = known;
    return new Resumption(
        sink -> new EarlierMessages(target, names, from, end, earlier).each(sink),
        target.context().bucketWidth(),
        command.complete);
  }

  /**
   * As long as those who gave the grant hold it: what is slow enough for them is here, and if this
   * is killed the next holder waits no longer than they chose. Longer only where the store fences
   * nothing in so short a time.
   */
  private Duration joinedFor(GrantDirectory grant) {
    boolean tooShort = grant.lasting().toMillis() <= opened.settings().leaseAboveMs();
    return command.leaseFor != null
        ? command.leaseFor
        : tooShort ? LeaseClient.usual(USUAL, opened) : grant.lasting();
  }

  private Grant joined(Session session, GrantDirectory grant, Duration lasting)
      throws IOException, InterruptedException, LeaseRefusedException, LeaseUnavailableException {
    try {
      return joined(session, client.instances(), grant.id(), lasting);
    } catch (LeaseRefusedException e) {
      String why = String.valueOf(e.getMessage());
      if (!grant.isOpen()) {
        throw new Failure.Refusal(why + "; the leases of CINCH_GRANT were given back");
      }
      boolean unknown = e.reason() == Reason.NOT_HELD || e.asksToResume();
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
        if (!e.asksToResume() || i == instances.size() - 1) {
          throw e;
        }
      }
    }
  }

  private LeasedLines lines(
      Session session, Duration wait, LeaseWait.Attempt<Grant> attempt, Consumer<String> notice) {
    var stoppable = new StoppableTime(command.store.time(), io.stop());
    return new LeasedLines(
        session,
        target,
        stoppable,
        wait,
        () -> {
          Grant unused = waiting(wait, stoppable).take(attempt);
        },
        notice);
  }

  private LeaseWait waiting(Duration wait, StoppableTime stoppable) {
    return new LeaseWait(
        wait,
        stoppable,
        stoppable::queued,
        opened.context().random(),
        this::say,
        io.terminal() ? this::say : null);
  }

  /**
   * Takes the leases.
   *
   * @return null if a signal was first; else what is there already, if that is asked for
   */
  private @Nullable Optional<Resumption> taken(
      LeaseWait.Attempt<Grant> attempt, Duration wait, Session session, boolean own)
      throws IOException, InterruptedException, LeaseRefusedException, LeaseUnavailableException {
    try {
      Grant unused = waiting(wait, time).take(attempt);
      return command.resume ? Optional.of(resumption(session, own)) : Optional.empty();
    } catch (IllegalArgumentException e) {
      throw new Misuse(String.valueOf(e.getMessage()), e);
    } catch (InterruptedException e) {
      if (!io.stop().requested()) {
        throw e;
      }
      io.say(AppendCommand.NAME, "stopped by " + io.stop().name() + "; nothing was appended");
      return null;
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

  private void say(String line) {
    io.say(AppendCommand.NAME, line);
  }
}
