package dev.cinch.bag.logback;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.LoggingEvent;
import ch.qos.logback.core.UnsynchronizedAppenderBase;
import ch.qos.logback.core.encoder.Encoder;
import ch.qos.logback.core.status.ErrorStatus;
import ch.qos.logback.core.status.Status;
import ch.qos.logback.core.status.WarnStatus;
import ch.qos.logback.core.util.Duration;
import ch.qos.logback.core.util.FileSize;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Name;
import dev.cinch.lease.time.TimeSource;
import java.io.PrintStream;
import java.util.Arrays;
import java.util.Locale;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Appends events to a log of a store, one message an event, without a lease: {@code
 * docs/logback.md}.
 *
 * <p>An event is encoded by the thread that logs it, and put into a queue. Another thread opens the
 * store and appends, so that a store that hangs, is full or is not there does not hold up the
 * program. The events of one appender keep their order, and none is in the log twice. Those still
 * in the queue are lost where the program is killed.
 *
 * <p>Thread-safe once it is started.
 */
public final class CinchAppender extends UnsynchronizedAppenderBase<ILoggingEvent> {
  private static final long STATUS_NANOS = 60_000_000_000L;

  /** Where warnings go that no listener takes. */
  PrintStream errors = System.err;

  private final UnaryOperator<Store.Environment> environment;
  private @Nullable String store;
  private @Nullable String log;
  private @Nullable String machine;
  private boolean create;
  private Durability durability = Durability.CLOSE;
  private boolean block;
  private FileSize queueSize = new FileSize(8 * FileSize.MB_COEFFICIENT);
  private Duration stopTimeout = Duration.buildBySeconds(10);
  private @Nullable Encoder<ILoggingEvent> encoder;

  private @Nullable Running running;

  /** An appender with nothing set yet. */
  public CinchAppender() {
    this(host -> host);
  }

  /** With another filesystem or other clocks. */
  CinchAppender(UnaryOperator<Store.Environment> environment) {
    this.environment = environment;
  }

  /** The store's directory, or the URI of another storage; needed. */
  public void setStore(String store) {
    this.store = store;
  }

  /** The log in it; needed. */
  public void setLog(String log) {
    this.log = log;
  }

  /** Makes the log if there is none; not unless told so. */
  public void setCreate(boolean create) {
    this.create = create;
  }

  /** The name under which this machine writes; that of the host unless told otherwise. */
  public void setMachine(String machine) {
    this.machine = machine;
  }

  /** {@code close}, which forces nothing on a local filesystem, or {@code sync}. */
  public void setDurability(String durability) {
    this.durability = Durability.valueOf(durability.toUpperCase(Locale.ROOT));
  }

  /** How much memory events may take until they are in the store; 8 MB unless told otherwise. */
  public void setQueueSize(FileSize size) {
    this.queueSize = size;
  }

  /**
   * What becomes of an event for which there is no room: {@code drop} counts it, and notes in the
   * log how many; {@code block} has the program wait, as long as the store is away.
   */
  public void setWhenFull(String what) {
    switch (what.toLowerCase(Locale.ROOT)) {
      case "drop" -> block = false;
      case "block" -> block = true;
      default -> throw new IllegalArgumentException("whenFull is drop or block, not " + what);
    }
  }

  /** How long {@link #stop} waits for the queue to be empty; 10 s unless told otherwise. */
  public void setStopTimeout(Duration timeout) {
    this.stopTimeout = timeout;
  }

  /** Turns events into bytes; needed. The end of a line at their end is left out. */
  public void setEncoder(Encoder<ILoggingEvent> encoder) {
    this.encoder = encoder;
  }

  /** How many events were dropped so far, since the queue was full. */
  public long dropped() {
    Running now = running;
    return now == null ? 0 : now.queue.dropped();
  }

  @Override
  public void start() {
    Encoder<ILoggingEvent> by = encoder;
    if (store == null || log == null || by == null) {
      addError("appender " + name + " needs <store>, <log> and <encoder>");
      return;
    }
    try {
      Store.Environment host = environment.apply(Store.Environment.ofHost());
      var me =
          machine == null
              ? host
              : new Store.Environment(
                  host.fs(), new MachineName(machine), host.time(), host.random());
      var target = new StoreFeed.Target(new Name(store), new LogName(log), me, durability, create);
      running = new Running(target, by);
    } catch (IllegalArgumentException e) {
      addError("appender " + name + ": " + e.getMessage());
      return;
    }
    running.thread.start();
    super.start();
  }

  @Override
  protected void append(ILoggingEvent event) {
    Running to = running;
    if (to == null) {
      return;
    }
    if (Thread.currentThread() == to.thread) {
      // What the store's classes log while they append would cause more of it, for ever.
      if (event.getLevel().isGreaterOrEqual(Level.WARN)) {
        to.trouble(event.getFormattedMessage());
      }
      return;
    }
    event.prepareForDeferredProcessing();
    byte[] bytes = to.bytes(event);
    if (bytes == null) {
      return;
    }
    if (block) {
      boolean unused = to.queue.put(bytes, to.full);
    } else if (!to.queue.offer(bytes, event.getLevel().isGreaterOrEqual(Level.WARN))) {
      to.full.run();
    }
  }

  /** Waits until what was logged so far is in the store, but not for longer than it may. */
  @Override
  public void stop() {
    Running last = running;
    if (!isStarted() || last == null) {
      return;
    }
    super.stop();
    last.queue.close();
    try {
      last.thread.join(Math.max(1, stopTimeout.getMilliseconds()));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    int left = last.queue.abandon();
    if (left > 0) {
      tell(
          new ErrorStatus(
              left
                  + " events may be lost: they were not in "
                  + last.place
                  + " within "
                  + stopTimeout,
              this));
    }
    last.encoder.stop();
  }

  /**
   * Logback prints what is wrong with a configuration, and nothing later: losses would be silent.
   */
  private void tell(Status status) {
    addStatus(status);
    if (getContext().getStatusManager().getCopyOfStatusListenerList().isEmpty()) {
      errors.println("appender " + name + ": " + status.getMessage());
    }
  }

  /** From start to stop. */
  private final class Running implements StoreFeed.Report {
    final EventQueue queue;
    final Thread thread;
    final Encoder<ILoggingEvent> encoder;
    final String place;
    private final TimeSource time;
    final Runnable full;
    private boolean inTrouble;
    private final Reminder trouble = new Reminder();
    private final Reminder losses = new Reminder();

    Running(StoreFeed.Target target, Encoder<ILoggingEvent> encoder) {
      this.encoder = encoder;
      this.place = "log " + target.log() + " of " + target.root();
      this.time = target.me().time();
      var fullness = new Reminder();
      this.queue = new EventQueue(queueSize.getSize(), this::note);
      this.full =
          () -> fullness.say(() -> (block ? "the program waits" : "events are dropped") + isFull());
      this.thread = new Thread(new StoreFeed(target, queue, this), "cinch-log-" + target.log());
      thread.setDaemon(true);
    }

    private String isFull() {
      return ": the queue for " + place + " is full; " + queue.dropped() + " were dropped so far";
    }

    /** Null where the encoder leaves the event out; none at all are an empty message. */
    byte @Nullable [] bytes(ILoggingEvent event) {
      byte[] bytes = encoder.encode(event);
      if (bytes == null) {
        return null;
      }
      int length = bytes.length;
      if (length > 0 && bytes[length - 1] == '\n') {
        length--;
        if (length > 0 && bytes[length - 1] == '\r') {
          length--;
        }
      }
      return length == bytes.length ? bytes : Arrays.copyOf(bytes, length);
    }

    private byte[] note(long dropped) {
      var logger = ((LoggerContext) getContext()).getLogger(CinchAppender.class);
      var event =
          new LoggingEvent(
              CinchAppender.class.getName(),
              logger,
              Level.WARN,
              "{} events were dropped here: the queue was full",
              null,
              new Object[] {dropped});
      byte[] bytes = bytes(event);
      return bytes == null ? new byte[0] : bytes;
    }

    @Override
    public void trouble(String what) {
      inTrouble = true;
      trouble.say(() -> "can't append to " + place + ", trying again: " + what);
    }

    @Override
    public void appended() {
      if (inTrouble) {
        inTrouble = false;
        addInfo("appends to " + place + " again");
      }
    }

    @Override
    public void lost(int events, String why) {
      losses.say(() -> events + " events are not sent again to " + place + ": " + why);
    }

    /** Says something at most once a minute. Thread-safe. */
    private final class Reminder {
      private boolean said;
      private long saidAt;

      void say(Supplier<String> what) {
        synchronized (this) {
          long now = time.monotonicNanos();
          if (said && now - saidAt < STATUS_NANOS) {
            return;
          }
          said = true;
          saidAt = now;
        }
        tell(new WarnStatus(what.get(), CinchAppender.this));
      }
    }
  }
}
