package dev.cinch.cli.store;

import dev.cinch.bag.Log;
import dev.cinch.bag.close.DataFileSweep;
import dev.cinch.bag.close.HorizonAdvance;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.close.IdleLog;
import dev.cinch.bag.close.OpinionNeededException;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.storage.ForeignEntryException;
import dev.cinch.cli.base.Converters.Moment;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.JsonOption;
import dev.cinch.cli.base.LogsOption;
import dev.cinch.cli.base.LongWait;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.Progress;
import dev.cinch.cli.base.Words;
import dev.cinch.lease.Id;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Advances one log after the other, and removes the data files that an earlier round made needless.
 * Knows from round to round which logs are idle.
 */
final class LogClosing {
  private static final Logger LOG = LoggerFactory.getLogger(LogClosing.class);

  private final Io io;
  private final JsonOption json;
  private final boolean idleToo;
  private final boolean restored;
  private final Patience patience;
  private final Map<LogName, IdleLog> idle = new HashMap<>();
  private final Map<Id, DataFileSweep> sweeps = new HashMap<>();
  private final @Nullable LongWait waiting;

  /**
   * @param json how what was settled is printed
   * @param idleToo whether logs are settled in which nothing happens
   * @param restored whether to settle over locks whose records are missing
   * @param patience with logs that fail
   * @param waiting tells for what it waits where a log may not be settled yet; null: that is an
   *     error
   */
  LogClosing(
      Io io,
      JsonOption json,
      boolean idleToo,
      boolean restored,
      Patience patience,
      @Nullable LongWait waiting) {
    this.restored = restored;
    this.io = io;
    this.json = json;
    this.idleToo = idleToo;
    this.patience = patience;
    this.waiting = waiting;
  }

  /**
   * One round over all logs.
   *
   * @param to the time to settle through, nanoseconds since the Unix epoch
   */
  LogsOption.Work round(long to, ThirdOpinion opinion, Output out) {
    return new LogsOption.Work() {
      @Override
      public boolean wants(LogName log) throws IOException, InterruptedException {
        // An idle log is not even opened. One that was made anew under its name has younger
        // buckets.
        IdleLog known = idle.get(log);
        return patience.isOver(log) && (known == null || patiently(log, () -> known.isDue(to)));
      }

      @Override
      public void on(Log log) throws IOException, InterruptedException {
        boolean isNew = idle.get(log.name()) == null;
        var look = new IdleLog(log.context());
        if (idleToo || !isNew || patiently(log.name(), () -> look.isDue(to))) {
          boolean unused = patiently(log.name(), () -> close(log, to, opinion, out));
        }
        if (!idleToo) {
          idle.put(log.name(), look);
        }
      }
    };
  }

  /** Settles logs through times of their own, nanoseconds since the Unix epoch. */
  LogsOption.Work through(Map<LogName, Long> times, ThirdOpinion opinion, Output out) {
    return new LogsOption.Work() {
      @Override
      public boolean wants(LogName log) {
        return times.containsKey(log);
      }

      @Override
      public void on(Log log) throws IOException, InterruptedException {
        boolean unused = close(log, times.getOrDefault(log.name(), Long.MIN_VALUE), opinion, out);
      }
    };
  }

  private interface Step {
    boolean done() throws IOException, InterruptedException;
  }

  private boolean patiently(LogName log, Step step) throws IOException, InterruptedException {
    long began = patience.now();
    try {
      return step.done();
    } catch (IOException | RuntimeException e) {
      patience.failed(log, began);
      throw e;
    }
  }

  /** Whether there was anything to settle. */
  private boolean close(Log opened, long to, ThirdOpinion opinion, Output out)
      throws IOException, InterruptedException {
    sweeps
        .computeIfAbsent(opened.context().id(), id -> new DataFileSweep(opened.context()))
        .lately((bucket, e) -> LOG.debug("{}: data files stay: {}", bucket, e.toString()));
    var progress = new Progress(io);
    var closed = new AtomicLong();
    var foreign = new ArrayList<ForeignEntryException>();
    var horizon =
        new HorizonAdvance(
            opened.context(),
            n -> {
              closed.set(n);
              progress.show(n, " buckets of " + opened.name());
            },
            foreign::add);
    if (restored) {
      horizon.settleRestored();
    }
    long before = settled(horizon.chain().freshTip());
    if (before >= to) {
      return false;
    }
    Optional<Link> last;
    try {
      last = advance(opened, opinion, horizon, to);
    } finally {
      progress.end();
    }
    if (settled(last) > before) {
      print(opened, last.orElseThrow(), closed.get(), out);
    }
    if (!foreign.isEmpty()) {
      out.flush();
      for (ForeignEntryException e : foreign.subList(1, foreign.size())) {
        io.say("cinch close", e.getMessage());
      }
      throw foreign.get(0); // all else is settled, and whoever runs this must look
    }
    return true;
  }

  private static long settled(Optional<Link> tip) {
    return tip.map(t -> t.record().to()).orElse(Long.MIN_VALUE);
  }

  private void print(Log log, Link last, long buckets, Output out) throws IOException {
    json.print(
        out,
        "%s: settled through %s (record %d, %d bucket%s closed)"
            .formatted(
                log.name(),
                Moment.text(last.record().to()),
                last.record().number(),
                buckets,
                buckets == 1 ? "" : "s"),
        line ->
            line.text("log", log.name().toString())
                .time("settledThrough", last.record().to())
                .number("record", last.record().number())
                .number("buckets", buckets));
  }

  private static String readable(Log log, long to, long left) {
    return "\"%s\" can be read through %s in %s, when the grace period is over"
        .formatted(log.name(), Moment.text(to), Words.span(left));
  }

  /** Advances as far as it may. The last record then; empty if there is none. */
  private Optional<Link> advance(Log opened, ThirdOpinion opinion, HorizonAdvance horizon, long to)
      throws IOException, InterruptedException {
    try {
      LongWait wait = waiting;
      return Optional.of(
          wait == null
              ? horizon.advance(to, OptionalLong.empty())
              : horizon.await(
                  to,
                  OptionalLong.empty(),
                  left -> wait.goesOn(() -> "waiting: " + readable(opened, to, left))));
    } catch (OpinionNeededException e) {
      OpinionNeededException missed = e;
      OptionalLong answer = opinion.get();
      if (answer.isPresent()) {
        try {
          return Optional.of(horizon.advance(to, answer));
        } catch (OpinionNeededException doubt) {
          missed = doubt;
        }
      }
      opinion.missed(opened.name(), missed);
      return horizon.chain().freshTip();
    }
  }
}
