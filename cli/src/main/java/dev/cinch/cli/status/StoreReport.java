package dev.cinch.cli.status;

import dev.cinch.bag.Log;
import dev.cinch.bag.NotAStoreException;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.InWords;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.model.Words;
import dev.cinch.bag.registry.StoreCeilings;
import dev.cinch.bag.registry.StoreShards;
import dev.cinch.bag.status.LogStatus;
import dev.cinch.bag.status.LogSurvey;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Failure;
import dev.cinch.lease.OneLine;
import dev.cinch.lease.http.Credentials;
import dev.cinch.lease.http.ServerAddresses;
import dev.cinch.view.Retention;
import dev.cinch.view.RetireBlockedException;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How a store was at one moment, and what of that needs somebody.
 *
 * @param at the filesystem's now; this machine's where this user may not ask that
 * @param clockOffset how far this machine's clock is ahead of the filesystem's, nanoseconds
 * @param free bytes that this user may still write to the store's filesystem; empty where it does
 *     not say
 * @param server the one that was named, or that of a store without a shard map
 * @param shards the servers of a store with a shard map
 * @param logs in the order of their names
 */
record StoreReport(
    long at,
    OptionalLong clockOffset,
    OptionalLong free,
    Optional<LeaseServerLook.Found> server,
    Optional<ShardsLook> shards,
    List<LogLine> logs,
    List<Attention> attention) {
  /** How long past its grace period a bucket may stay open, as {@code --late} has it. */
  static final Duration LATE = Duration.ofMinutes(3);

  /** With fewer free bytes a filesystem is full; what is left goes to whoever is first. */
  private static final long FULL = 1 << 20;

  /** A log: how it is, or why nobody can tell. */
  record LogLine(LogName name, @Nullable LogStatus status) {}

  /** What somebody has to see to. */
  record Attention(Kind kind, @Nullable LogName log, String message) {}

  /** What is wrong. */
  enum Kind {
    DAMAGE,
    UNREADABLE,
    DISK,
    CLOSER,
    INTENT,
    GC,
    CLOCK,
    SERVER
  }

  /** The same with so many logs at most. */
  StoreReport first(int most) {
    List<LogLine> some = logs.subList(0, Math.min(most, logs.size()));
    return new StoreReport(at, clockOffset, free, server, shards, some, attention);
  }

  /** The exit code: damage first, then what can't be had. */
  int code() {
    int code = ExitCode.GOOD;
    for (Attention a : attention) {
      if (a.kind() == Kind.DAMAGE) {
        return ExitCode.DAMAGE;
      }
      code =
          a.kind() == Kind.UNREADABLE || code == ExitCode.UNAVAILABLE
              ? ExitCode.UNAVAILABLE
              : ExitCode.REFUSED;
    }
    return code;
  }

  /** Looks again and again. Not thread-safe. */
  static final class Looker {
    private static final Logger LOG = LoggerFactory.getLogger(Looker.class);

    private final Store store;
    private final LeaseServerLook servers;
    private final long late;
    private final Map<LogName, LogSurvey> surveys = new HashMap<>();

    /**
     * @param credentials shown to lease servers
     * @param late how long past the grace period a bucket may stay open
     */
    Looker(Store store, Credentials credentials, Duration late) {
      this.store = store;
      this.servers = new LeaseServerLook(store, credentials);
      this.late = late.toNanos();
    }

    /**
     * Looks.
     *
     * @param only these logs; all if empty
     * @param server as the user named it
     */
    StoreReport look(List<LogName> only, boolean askServer, @Nullable ServerAddresses server)
        throws IOException {
      var attention = new ArrayList<Attention>();
      var logs = new ArrayList<LogLine>();
      OptionalLong offset = offset(attention);
      long at = store.context().time().wallNanos() - offset.orElse(0);
      offset.ifPresent(o -> judgeClock(o, attention));
      OptionalLong free = free();
      if (free.orElse(Long.MAX_VALUE) < FULL && !hasDisk(attention)) {
        String why =
            "the disk is full, %s are free: appends and closers wait; make room, or delete"
                + " what segments hold twice (cinch view build, cinch gc)";
        attention.add(new Attention(Kind.DISK, null, why.formatted(Words.bytes(free.getAsLong()))));
      }
      for (LogName name : only.isEmpty() ? store.permittedLogs() : only) {
        look(name, at, !only.isEmpty(), logs, attention);
      }
      strays(attention);
      Optional<ShardsLook> shards = askServer ? shards(attention) : Optional.empty();
      Optional<LeaseServerLook.Found> found =
          askServer && (server != null || shards.isEmpty())
              ? servers.ask(server)
              : Optional.empty();
      found
          .filter(LeaseServerLook.Found::needsAttention)
          .ifPresent(
              f -> attention.add(new Attention(Kind.SERVER, null, f.inWords() + ": " + f.why())));
      found.ifPresent(
          f ->
              f.others()
                  .forEach(
                      o ->
                          attention.add(
                              new Attention(Kind.SERVER, null, "the lease server at " + o))));
      found.ifPresent(
          f ->
              f.timeProblems()
                  .forEach(
                      p ->
                          attention.add(
                              new Attention(
                                  Kind.CLOCK,
                                  null,
                                  "the lease server's time sources: " + OneLine.of(p, 300)))));
      if (hasDisk(attention)) { // that is why
        attention.removeIf(a -> a.kind() == Kind.CLOSER || a.kind() == Kind.INTENT);
      }
      attention.sort((a, b) -> a.kind().compareTo(b.kind()));
      return new StoreReport(at, offset, free, found, shards, logs, attention);
    }

    private static boolean hasDisk(List<Attention> attention) {
      return attention.stream().anyMatch(a -> a.kind() == Kind.DISK);
    }

    /** What anybody may have left where servers look for each other. */
    private void strays(List<Attention> attention) {
      try {
        var strays = new ArrayList<>(StoreShards.lookAsPermitted(store.context()).strays());
        strays.addAll(StoreCeilings.of(store.context()).strays());
        if (!strays.isEmpty()) {
          String more = strays.size() == 1 ? "" : " and " + (strays.size() - 1) + " more";
          attention.add(
              new Attention(
                  Kind.SERVER,
                  null,
                  strays.get(0)
                      + more
                      + ": no key of the store signed it, so it counts for nothing; find out who"
                      + " left it, and remove it"));
        }
      } catch (IOException e) {
        LOG.debug("the lease service's files could not be looked at", e); // told by who needs them
      }
    }

    private Optional<ShardsLook> shards(List<Attention> attention) {
      try {
        Optional<ShardsLook> shards = ShardsLook.ask(store, servers);
        shards.ifPresent(s -> attention.addAll(s.attention()));
        return shards;
      } catch (IOException e) {
        Failure failure = Failure.of(e);
        Kind kind = failure.code() == ExitCode.DAMAGE ? Kind.DAMAGE : Kind.SERVER;
        attention.add(new Attention(kind, null, failure.line()));
        return Optional.empty();
      }
    }

    private OptionalLong free() {
      try {
        return OptionalLong.of(
            Files.getFileStore(store.context().layout().root()).getUsableSpace());
      } catch (IOException | UnsupportedOperationException e) {
        LOG.debug("the filesystem does not say how much is free", e);
        return OptionalLong.empty();
      }
    }

    /** Who may not make files can't ask the filesystem; nor can anybody where there is no room. */
    private OptionalLong offset(List<Attention> attention) {
      try {
        long before = store.context().time().wallNanos();
        long now = store.context().now();
        long after = store.context().time().wallNanos();
        return OptionalLong.of(
            before > now
                ? before - now
                : after < now ? after - now : 0); // between: as good as none
      } catch (IOException e) {
        if (InWords.isFull(e)) {
          String why =
              "the disk has no room for another file (%s): appends and closers wait; make room,"
                  + " see df, df -i and quotas";
          attention.add(new Attention(Kind.DISK, null, why.formatted(InWords.line(e))));
        } else if (InWords.isReadOnly(e)) {
          String why =
              "the disk is mounted read-only here: appends and closers of this machine fail;"
                  + " see the kernel's log, and mount it for writing";
          attention.add(new Attention(Kind.DISK, null, why));
        }
        return OptionalLong.empty();
      }
    }

    private void judgeClock(long offset, List<Attention> attention) {
      StoreSettings s = store.settings();
      long bound = offset > 0 ? s.clockAheadMs() : s.clockBehindMs();
      if (Math.abs(offset) > bound * 1_000_000) {
        attention.add(
            new Attention(
                Kind.CLOCK,
                null,
                "this machine's clock is %s %s the filesystem's, and the store allows %d ms: set it (NTP)"
                    .formatted(Words.span(offset), offset > 0 ? "ahead of" : "behind", bound)));
      }
    }

    private void look(
        LogName name, long at, boolean named, List<LogLine> logs, List<Attention> attention)
        throws IOException {
      LogStatus status;
      try {
        LogSurvey survey = surveys.get(name);
        if (survey == null) {
          List<Log> whole = named ? List.of(store.log(name)) : store.whole(List.of(name));
          if (whole.isEmpty()) {
            return; // being made, or its maker died: it holds nothing
          }
          survey = new LogSurvey(whole.get(0).context());
          surveys.put(name, survey);
        }
        status = survey.look();
      } catch (NotAStoreException e) {
        throw e;
      } catch (IOException e) {
        Failure failure = Failure.of(e);
        Kind kind = failure.code() == ExitCode.DAMAGE ? Kind.DAMAGE : Kind.UNREADABLE;
        attention.add(new Attention(kind, name, failure.line()));
        logs.add(new LogLine(name, null));
        return;
      }
      logs.add(new LogLine(name, status));
      judge(name, status, at, attention);
      judgeRetired(name, attention);
    }

    /** What gc can't remove. */
    private void judgeRetired(LogName name, List<Attention> attention) {
      try {
        Optional<RetireBlockedException> blocked =
            new Retention(store.log(name), Duration.ZERO).blocked();
        if (blocked.isPresent()) {
          RetireBlockedException.Kept first = blocked.get().kept().get(0);
          long others = blocked.get().kept().size() - 1 + blocked.get().others();
          String more = others == 0 ? "" : ", and " + Words.count(others) + " more";
          String why = "gc was to delete what is still there: " + Failure.line(first) + more;
          attention.add(new Attention(Kind.GC, name, why));
        }
      } catch (IOException e) {
        LOG.debug("{}: what is retired could not be looked at", name, e); // verify and gc tell
      }
    }

    private void judge(LogName name, LogStatus status, long at, List<Attention> attention) {
      long grace = store.settings().graceNanos();
      if (!status.isIdle()) {
        Bucket oldest = status.open().get(0);
        long overdue = at - oldest.end() - grace;
        if (overdue > late) {
          attention.add(
              new Attention(
                  Kind.CLOSER,
                  name,
                  "nobody closes: its oldest open bucket was due %s ago; run cinch close --every 10s, or see what it says"
                      .formatted(Words.span(overdue))));
        }
      }
      status
          .intent()
          .filter(left -> at - left.since() > late)
          .ifPresent(
              left ->
                  attention.add(
                      new Attention(
                          Kind.INTENT,
                          name,
                          "a closer stopped half-way %s ago; run cinch close, or see what it says"
                              .formatted(Words.span(at - left.since())))));
    }
  }
}
