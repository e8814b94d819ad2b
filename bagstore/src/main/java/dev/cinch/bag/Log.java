package dev.cinch.bag;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.HorizonAdvance;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.read.LogReader;
import dev.cinch.bag.store.LogContext;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.bag.write.Timestamps;
import dev.cinch.lease.Id;
import java.time.Instant;
import java.util.List;

/** One log of an open store. Thread-safe; holds no resources. */
@CheckReturnValue
public final class Log {
  private final LogContext context;
  private final Timestamps timestamps;

  Log(LogContext context, Timestamps timestamps) {
    this.context = context;
    this.timestamps = timestamps;
  }

  public LogName name() {
    return context.layout().name();
  }

  public Id id() {
    return context.id();
  }

  /** What the parts of Cinch that work on this log need. */
  public LogContext context() {
    return context;
  }

  /** A new writer; one for a process and log is best. */
  public LogWriter writer(Durability durability) {
    return new LogWriter(context, timestamps, durability);
  }

  public LogReader reader() {
    return new LogReader(context);
  }

  /**
   * The settled messages with times in {@code [from, to)}, in order: what is settled when they are
   * read, the same for everyone and for ever.
   */
  public Messages messages(Instant from, Instant to) {
    return new Messages(List.of(this), from, to, false);
  }

  /**
   * The settled messages from a time on, in order, and then each that becomes settled, which it
   * waits for. Nothing is settled unless somebody closes, as {@code cinch close} from cron does.
   */
  public Messages follow(Instant from) {
    return new Messages(List.of(this), from, Instant.MAX, true);
  }

  /** Closing by cron, fencing and helping are all this. Programs that close have {@link Closer}. */
  public HorizonAdvance horizon() {
    return new HorizonAdvance(context);
  }
}
