package dev.cinch.bag;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.Problem.Kind;
import dev.cinch.bag.StoreStatus.LogLine;
import dev.cinch.bag.model.InWords;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.model.Words;
import dev.cinch.bag.registry.StoreCeilings;
import dev.cinch.bag.registry.StoreShards;
import dev.cinch.bag.store.StoreContext;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Looks how a store is doing, as {@code cinch status} does, and judges what of that needs somebody.
 * Reads no settled messages, and asks no lease servers. One that looks again and again reads less
 * of a log that it knows. Not thread-safe; holds no resources.
 */
@CheckReturnValue
public final class StoreSurvey {
  /** How long past its grace period a bucket may stay open, unless somebody says otherwise. */
  public static final Duration LATE = Duration.ofMinutes(3);

  /** With fewer free bytes a filesystem is full; what is left goes to whoever is first. */
  private static final long FULL = 1 << 20;

  private static final Logger LOG = LoggerFactory.getLogger(StoreSurvey.class);

  private final Store store;
  private final StoreContext context;
  private final long late;
  private final Map<LogName, LogSurvey> surveys = new HashMap<>();

  /**
   * @param late how long past its grace period a bucket may stay open; not negative
   */
  public StoreSurvey(Store store, Duration late) {
    this.store = store;
    this.context = store.context();
    this.late = late.toNanos();
  }

  /**
   * Looks. A log that is damaged or can't be read is a problem, and keeps no other from its turn.
   *
   * @param only these logs; all if empty
   * @throws NotAStoreException if one of these logs is not there, or one has lost its identity
   * @throws IOException if the logs can't be listed
   */
  public StoreStatus look(List<LogName> only) throws IOException {
    var problems = new ArrayList<Problem>();
    var logs = new ArrayList<LogLine>();
    OptionalLong offset = offset(problems);
    long at = context.time().wallNanos() - offset.orElse(0);
    OptionalLong free = context.storage().free();
    if (problems.isEmpty() && free.orElse(Long.MAX_VALUE) < FULL) {
      String why =
          "the disk is full, %s are free: appends and closers wait; make room, or delete"
              + " what segments hold twice (cinch view build, cinch gc)";
      problems.add(new Problem(Kind.DISK, why.formatted(Words.bytes(free.getAsLong()))));
    }
    offset.ifPresent(o -> judgeClock(o, problems));
    for (LogName name : only.isEmpty() ? store.permittedLogs() : only) {
      Optional<LogStatus> status = Optional.empty();
      try {
        LogSurvey survey = surveys.get(name);
        if (survey == null) {
          List<Log> whole = only.isEmpty() ? store.whole(List.of(name)) : List.of(store.log(name));
          if (whole.isEmpty()) {
            continue; // being made, or its maker died: it holds nothing
          }
          survey = new LogSurvey(whole.get(0).context());
          surveys.put(name, survey);
        }
        status = Optional.of(survey.look());
      } catch (NotAStoreException e) {
        throw e;
      } catch (IOException e) {
        problems.add(Problem.of(e, Kind.UNREADABLE, Optional.of(name)));
      }
      logs.add(new LogLine(name, status));
      status.ifPresent(s -> judge(name, s, at, problems));
    }
    strays(problems);
    return new StoreStatus(at, offset, free, logs, problems);
  }

  /** A user who may not make files can't ask the filesystem; nor can anybody without room. */
  private OptionalLong offset(List<Problem> problems) {
    try {
      long before = context.time().wallNanos();
      long now = context.now();
      long after = context.time().wallNanos();
      // Between the two it is as good as none.
      return OptionalLong.of(before > now ? before - now : Math.min(after - now, 0));
    } catch (IOException e) {
      if (InWords.isFull(e)) {
        String why =
            "the disk has no room for another file (%s): appends and closers wait; make room,"
                + " see df, df -i and quotas";
        problems.add(new Problem(Kind.DISK, why.formatted(InWords.line(e))));
      } else if (InWords.isReadOnly(e)) {
        String why =
            "the disk is mounted read-only here: appends and closers of this machine fail;"
                + " see the kernel's log, and mount it for writing";
        problems.add(new Problem(Kind.DISK, why));
      }
      return OptionalLong.empty();
    }
  }

  private void judgeClock(long offset, List<Problem> problems) {
    StoreSettings s = store.settings();
    long bound = offset > 0 ? s.clockAheadMs() : s.clockBehindMs();
    if (Math.abs(offset) > bound * 1_000_000) {
      String why =
          "this machine's clock is %s %s the storage's, and the store allows %d ms: set it (NTP)";
      String side = offset > 0 ? "ahead of" : "behind";
      problems.add(new Problem(Kind.CLOCK, why.formatted(Words.span(offset), side, bound)));
    }
  }

  private void judge(LogName name, LogStatus status, long at, List<Problem> problems) {
    long overdue = status.overdue(at, store.settings().graceNanos());
    if (overdue > late) {
      String why =
          "nobody closes: its oldest open bucket was due %s ago; run cinch close --every 10s, or see what it says";
      problems.add(new Problem(Kind.CLOSER, name, why.formatted(Words.span(overdue))));
    }
    long left = status.intent().map(intent -> at - intent.since()).orElse(0L);
    if (left > late) {
      String why = "a closer stopped half-way %s ago; run cinch close, or see what it says";
      problems.add(new Problem(Kind.INTENT, name, why.formatted(Words.span(left))));
    }
  }

  /** What anybody may have left where servers look for each other. */
  private void strays(List<Problem> problems) {
    try {
      var strays = new ArrayList<>(StoreShards.lookAsPermitted(context).strays());
      strays.addAll(StoreCeilings.of(context).strays());
      if (!strays.isEmpty()) {
        String more = strays.size() == 1 ? "" : " and " + (strays.size() - 1) + " more";
        String why =
            "%s%s: no key of the store signed it, so it counts for nothing; find out who left it,"
                + " and remove it";
        problems.add(new Problem(Kind.SERVER, why.formatted(strays.get(0), more)));
      }
    } catch (IOException e) {
      LOG.debug("the lease service's files could not be looked at", e); // told by who needs them
    }
  }
}
