package dev.cinch.cli.append;

import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.write.MessageRefusedException;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.JsonLines;
import dev.cinch.cli.base.MessageJson;
import dev.cinch.cli.base.Output;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;

/**
 * Appends lines as messages: one thread reads and submits, another takes the receipts, so that a
 * slow producer gets its receipts at once and a fast one never waits for each. A third waits for
 * both, so that input that does not come stops nobody from ending the job.
 */
final class AppendJob {
  /** How often a rejected message is sent again (rule A3). */
  static final int RESENDS = 3;

  /** Reads on their way; with the reader's block size this bounds memory. */
  private static final int MAX_QUEUED = 32;

  private static final int MAX_TOLD = 20;

  private final Submitter submitter;
  private final int limit;
  private final Ending ending;
  private final @Nullable Output receipts;
  private final @Nullable JsonLines json;
  private final ArrayBlockingQueue<Sent> queue = new ArrayBlockingQueue<>(MAX_QUEUED);
  private final List<Long> failedLines = new ArrayList<>();
  private final CountDownLatch inputOver = new CountDownLatch(1);
  private final Object taking = new Object();
  private volatile boolean stopped;
  private volatile boolean ended;
  private volatile @Nullable String lostWhy;
  private volatile @Nullable Throwable failure;
  private volatile @Nullable Throwable inputFailure;
  private long committed;
  private long failed;
  private String firstReason = "";
  private @Nullable DataFileName lastFile;
  private String lastFileText = "";

  /** A message on its way. */
  @FunctionalInterface
  interface Pending {
    /** Waits for its definite fate. */
    Receipt await();
  }

  /** Where messages go; what it gives waits for the receipt. */
  @FunctionalInterface
  interface Submitter {
    Pending submit(byte[] bytes, int offset, int length) throws MessageRefusedException;
  }

  /** Why a log takes no message any more. */
  @FunctionalInterface
  interface Ending {
    /** One line; null if it is not known to be so. Asked about what is rejected again and again. */
    @Nullable String why();
  }

  /** Lines of one read and what was said when they were handed over. */
  private record Sent(LineReader.Lines lines, @Nullable Pending[] pending, @Nullable String[] why) {
    static final Sent END =
        new Sent(new LineReader.Lines(new byte[0], 0), new Pending[0], new @Nullable String[0]);
  }

  /**
   * @param limit the longest message
   * @param ending looked at where messages stay rejected, so that it does not go on with a log that
   *     was removed
   * @param receipts where to print a receipt a line; null: nowhere
   */
  AppendJob(Submitter submitter, int limit, Ending ending, @Nullable Output receipts) {
    this.submitter = submitter;
    this.limit = limit;
    this.ending = ending;
    this.receipts = receipts;
    this.json = receipts == null ? null : new JsonLines(receipts);
  }

  /**
   * Appends everything there is, or until it is stopped; every line taken has its fate when it
   * returns.
   *
   * @throws IOException if the input can't be read, or anything else went wrong; the message says
   *     what became of what was read
   */
  void run(InputStream in) throws IOException, InterruptedException {
    Thread harvester = start("cinch-receipts", this::harvest);
    Thread unused = start("cinch-input", () -> read(in));
    try {
      inputOver.await();
    } finally {
      synchronized (taking) { // what is being taken just now is taken whole
        stopped = true;
      }
      queue.put(Sent.END);
      harvester.join();
    }
    if (failure == null && inputFailure instanceof IOException e) {
      throw new IOException(
          "the input could not be read (%s); %s"
              .formatted(
                  Failure.of(e).line(),
                  failed > 0 ? failures() : committed + " messages were committed"),
          e);
    }
    Throwable t = failure != null ? failure : inputFailure;
    if (t instanceof Output.ClosedException e) {
      throw e;
    } else if (t != null) { // for want of memory, most likely, and anywhere
      throw new IOException(
          "%s; %s, and more may be committed"
              .formatted(
                  Failure.of(t).line(),
                  failed > 0 ? failures() : committed + " messages were committed"),
          t);
    }
  }

  private static Thread start(String name, Runnable work) {
    var thread = new Thread(work, name);
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  /** Takes no more input; what was taken is finished. May be called by anyone at any time. */
  void stop() {
    stopped = true;
    inputOver.countDown();
  }

  /**
   * Takes no more input, since it could not be appended.
   *
   * @param why one line; the first one is told
   */
  synchronized void lost(String why) {
    if (lostWhy == null) {
      lostWhy = why;
    }
    stop();
  }

  private void read(InputStream in) {
    try {
      var reader = new LineReader(in, limit);
      var lines = reader.read();
      while (lines != null && take(lines)) {
        lines = reader.read();
      }
      ended = lines == null;
    } catch (IOException | InterruptedException | RuntimeException | Error e) {
      if (!stopped) {
        inputFailure = e;
      }
    } finally {
      inputOver.countDown();
    }
  }

  /** All of the lines or none; false if no more are wanted. */
  private boolean take(LineReader.Lines lines) throws InterruptedException {
    synchronized (taking) {
      if (stopped) {
        return false;
      }
      if (lines.count() > 0) {
        var sent = new Sent(lines, new Pending[lines.count()], new @Nullable String[lines.count()]);
        try {
          for (int i = 0; i < lines.count(); i++) {
            sent.why()[i] = lostWhy; // behind one that was refused, maybe for a moment only
            if (lostWhy == null) {
              submit(sent, i);
            }
          }
        } finally {
          queue.put(sent); // what was handed over before an error has its fate
        }
      }
      return true;
    }
  }

  private void submit(Sent sent, int i) {
    LineReader.Lines lines = sent.lines();
    sent.pending()[i] = null;
    if (lines.length(i) > limit) {
      sent.why()[i] =
          "the message has %d bytes, this store allows %d".formatted(lines.length(i), limit);
      return;
    }
    try {
      sent.pending()[i] =
          submitter.submit(lines.bytes, lines.start(i), Math.toIntExact(lines.length(i)));
    } catch (MessageRefusedException e) {
      String why = String.valueOf(e.getMessage());
      sent.why()[i] = why;
      lost(why); // going on would leave a gap in the input's order
    }
  }

  private void harvest() {
    try {
      for (Sent sent = queue.take(); sent != Sent.END; sent = queue.take()) {
        if (failure != null) {
          continue; // the reader must not be left waiting for room
        }
        try {
          harvest(sent);
        } catch (IOException | RuntimeException | Error e) {
          failure = e;
          stop();
        }
      }
    } catch (InterruptedException e) {
      failure = e;
      stop();
    }
  }

  private void harvest(Sent sent) throws IOException {
    int n = sent.lines().count();
    var fates = new Receipt[n];
    String over = null;
    for (int round = 0; round <= RESENDS; round++) {
      boolean rejected = false;
      for (int i = 0; i < n; i++) {
        Pending pending = sent.pending()[i];
        if (pending != null && !(fates[i] instanceof Receipt.Committed)) {
          fates[i] = pending.await();
          rejected |= fates[i] instanceof Receipt.Rejected;
        }
      }
      if (rejected && round == RESENDS) {
        over = ending.why();
        if (over != null) {
          lost(over);
        }
      }
      if (!rejected || round == RESENDS) {
        break;
      }
      for (int i = 0; i < n; i++) {
        if (fates[i] instanceof Receipt.Rejected) {
          submit(sent, i); // with a new timestamp, in the order of the input
        }
      }
    }
    for (int i = 0; i < n; i++) {
      tell(sent, i, fates[i], over);
    }
    if (receipts != null) {
      receipts.flush();
    }
  }

  private void tell(Sent sent, int i, @Nullable Receipt fate, @Nullable String over)
      throws IOException {
    long line = sent.lines().first + i;
    if (fate instanceof Receipt.Committed c) {
      committed++;
      print(line, c);
      return;
    }
    String why =
        fate instanceof Receipt.Rejected r && sent.pending()[i] != null
            ? (over == null ? r.reason() : over)
            : sent.why()[i];
    if (why == null) {
      return; // an error came before it was known whether it was handed over
    }
    boolean refused = sent.pending()[i] == null;
    if (failed++ == 0) {
      firstReason = why;
    }
    if (failedLines.size() < MAX_TOLD) {
      failedLines.add(line);
    }
    if (json != null) {
      json.object()
          .number("line", line)
          .text("state", refused ? "REFUSED" : "REJECTED")
          .text("reason", why)
          .end();
    }
  }

  private void print(long line, Receipt.Committed c) throws IOException {
    if (json == null) {
      return;
    }
    if (!c.file().equals(lastFile)) {
      lastFile = c.file();
      lastFileText = c.file().toString();
    }
    json.object().number("line", line).text("state", "COMMITTED");
    MessageJson.place(json, c.timestamp(), lastFileText, c.position())
        .time("bucketStart", c.bucket().start())
        .end();
  }

  /** Whether all of the input was taken. */
  boolean ended() {
    return ended;
  }

  /** Messages that are in the log. */
  long committed() {
    return committed;
  }

  /** Messages that are not and never will be. */
  long failed() {
    return failed;
  }

  /** Whether something other than its length kept a message out of the log, or ended the input. */
  boolean lost() {
    return lostWhy != null;
  }

  /** One line about what became of the input. */
  String summary() {
    String why = lostWhy;
    if (failed > 0) {
      return failures() + (why == null ? "" : "; no more input was taken");
    }
    return committed
        + " messages committed"
        + (why == null ? "" : ", no more input was taken: " + why);
  }

  private String failures() {
    var lines = new StringBuilder();
    for (long line : failedLines) {
      lines.append(lines.isEmpty() ? "" : ", ").append(line);
    }
    return "%d of %d messages not appended (line%s %s%s): %s"
        .formatted(
            failed,
            failed + committed,
            failed == 1 ? "" : "s",
            lines,
            failed > failedLines.size() ? ", …" : "",
            firstReason);
  }
}
