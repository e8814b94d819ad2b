package dev.cinch.bag.logback;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.bag.write.MessageRefusedException;
import dev.cinch.bag.write.PendingReceipt;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Appends what waits in the queue, in its order, on a thread of its own: all that may hang, as a
 * store on a filesystem that is away does, hangs there. What is rejected is sent again before
 * anything after it.
 */
final class StoreFeed implements Runnable {
  /** What is appended at once, about a batch. */
  private static final int CHUNK_BYTES = 512 << 10;

  private static final long RETRY_NANOS = 1_000_000_000L;

  private final Target target;
  private final EventQueue queue;
  private final Report report;
  private @Nullable Store store;
  private @Nullable LogWriter writer;
  private StoreSettings settings = StoreSettings.DEFAULT;

  /**
   * Where to.
   *
   * @param create whether to make the log if there is none
   */
  record Target(
      Name root, LogName log, Store.Environment me, Durability durability, boolean create) {}

  /** Is told what becomes of events. */
  interface Report {
    /** What is wrong, one line; called again and again while it is so. */
    void trouble(String what);

    /** Some were appended. */
    void appended();

    /** Some are not sent again: they can't be, or may be in the log already. */
    void lost(int events, String why);
  }

  StoreFeed(Target target, EventQueue queue, Report report) {
    this.target = target;
    this.queue = queue;
    this.report = report;
  }

  @Override
  public void run() {
    try {
      feed();
    } finally {
      queue.close(); // whatever ended it: nobody may wait for room now
    }
  }

  private void feed() {
    List<byte[]> events = queue.oldest(CHUNK_BYTES);
    while (!events.isEmpty()) {
      String trouble = null;
      try {
        trouble = append(events);
      } catch (IOException | MessageRefusedException | RuntimeException e) {
        writer = null;
        trouble = e.getMessage() == null ? e.toString() : e.getMessage();
      }
      if (trouble != null) {
        report.trouble(trouble);
        pause();
      }
      events = queue.oldest(CHUNK_BYTES);
    }
    leave();
  }

  /**
   * Appends events and takes those off the queue whose fate is known.
   *
   * @return why some were rejected; null if none was
   */
  private @Nullable String append(List<byte[]> events) throws IOException, MessageRefusedException {
    LogWriter to = writer != null ? writer : open();
    writer = to;
    int limit = settings.messageLimit();
    if (events.get(0).length > limit) {
      report.lost(
          1, "an event of %d bytes; the store allows %d".formatted(events.get(0).length, limit));
      queue.done(1);
      return null;
    }
    var pending = new ArrayList<PendingReceipt>(events.size());
    PendingReceipt behind = null;
    for (int i = 0; i < events.size() && events.get(i).length <= limit; i++) {
      byte[] event = events.get(i);
      // Where one is rejected, so are those after it: they keep their order when they are sent
      // again.
      behind = to.submit(LeaseStamp.NONE, event, 0, event.length, false, behind);
      pending.add(behind);
    }
    int known = 0;
    try {
      for (PendingReceipt p : pending) {
        if (p.await() instanceof Receipt.Rejected r) {
          leave(); // maybe for another log, of the same name
          return r.reason();
        }
        known++;
      }
    } catch (RuntimeException e) { // damage, or a fault of ours: they may be in the log
      report.lost(pending.size() - known, "their fate is unknown: " + e.getMessage());
      known = pending.size();
      writer = null;
    } finally {
      if (known > 0) {
        queue.done(known);
      }
    }
    report.appended();
    return null;
  }

  private LogWriter open() throws IOException {
    if (store == null) { // once: timestamps only grow over one open store
      store = Store.open(target.root(), target.me());
      settings = store.settings();
    }
    Log log = target.create() ? store.createLog(target.log()) : store.log(target.log());
    return log.writer(target.durability());
  }

  private void leave() {
    LogWriter left = writer;
    writer = null;
    if (left != null) {
      left.close();
    }
  }

  private void pause() {
    try {
      target.me().time().sleepNanos(RETRY_NANOS);
    } catch (InterruptedException e) {
      // It is nobody's to interrupt, and ends when the queue does.
    }
  }
}
