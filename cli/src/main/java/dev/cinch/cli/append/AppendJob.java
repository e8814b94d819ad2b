package dev.cinch.cli.append;

import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.write.FateUnknownException;
import dev.cinch.bag.write.MessageRefusedException;
import dev.cinch.bag.write.PendingReceipt;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.Output;
import java.io.IOException;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Appends lines as messages: one thread reads and submits, another takes the receipts, so that a
 * slow producer gets its receipts at once and a fast one never waits for each. A third waits for
 * both, so that input that does not come stops nobody from ending the job.
 *
 * <p>It hands over each line behind the one before. If one is rejected, so are all after it. They
 * are sent again from there on while the reader waits, so the log has the input's first lines, in
 * order, whenever the process ends.
 */
final class AppendJob {
  /** How often a rejected message is sent again (rule A3). */
  static final int RESENDS = 3;

  /** Reads on their way; with the reader's block size this bounds memory. */
  private static final int MAX_QUEUED = 32;

  private final Submitter submitter;
  private final int limit;
  private final Ending ending;
  private final LineFates fates;
  private final ArrayBlockingQueue<Sent> queue = new ArrayBlockingQueue<>(MAX_QUEUED);
  private final CountDownLatch inputOver = new CountDownLatch(1);
  private final ReentrantLock taking = new ReentrantLock();
  private final ReentrantLock telling = new ReentrantLock();
  private final GivingUp patience;
  private boolean hangs;
  private volatile boolean abandoned;
  private volatile long told;
  private volatile long handedOver;
  private final @Nullable Resumption resumption;
  private volatile boolean stopped;
  private volatile boolean ended;
  private volatile @Nullable String lostWhy;
  private volatile @Nullable Throwable failure;
  private volatile @Nullable Throwable inputFailure;

  /** The last message handed over by the reader, which the next one follows. */
  private @Nullable Pending last;

  /** Reads that were handed over; the reader's. */
  private long handed;

  /** Of these, how many have their fates; guarded by {@link #turn}, as is what follows. */
  private long finished;

  /** Whether one was rejected, so that all that is on its way is. */
  private boolean broken;

  private final Object turn = new Object();

  /** A message on its way. */
  @FunctionalInterface
  interface Pending {
    /** Waits for its definite fate. */
    Receipt await();

    /** The library's, if it was handed to that. */
    default @Nullable PendingReceipt receipt() {
      return null;
    }

    /** As the library has it. */
    static Pending of(PendingReceipt receipt) {
      return new Pending() {
        @Override
        public Receipt await() {
          return receipt.await();
        }

        @Override
        public PendingReceipt receipt() {
          return receipt;
        }
      };
    }
  }

  /** Where messages go; what it gives waits for the receipt. */
  @FunctionalInterface
  interface Submitter {
    /**
     * @param behind what it is to follow, or to be rejected; null: nothing
     */
    Pending submit(byte[] bytes, int offset, int length, @Nullable Pending behind)
        throws MessageRefusedException;
  }

  /** Why a log takes no message any more. */
  @FunctionalInterface
  interface Ending {
    /** One line; null if it is not known to be so. Asked about what is rejected again and again. */
    @Nullable String why();
  }

  /**
   * @param limit the longest message
   * @param ending looked at where messages stay rejected, so that it does not go on with a log that
   *     was removed
   * @param receipts where to print a receipt a line; null: nowhere
   * @param resumption what was appended before; null: the input is appended from its beginning
   * @param patience with messages whose fates do not come
   */
  AppendJob(
      Submitter submitter,
      int limit,
      Ending ending,
      @Nullable Output receipts,
      @Nullable Resumption resumption,
      GivingUp patience) {
    this.patience = patience;
    this.resumption = resumption;
    this.submitter = submitter;
    this.limit = limit;
    this.ending = ending;
    this.fates = new LineFates(receipts);
  }

  /**
   * Appends everything there is, or until it is stopped; every line taken has its fate when it
   * returns.
   *
   * @throws IOException if the input can't be read, or anything else went wrong; the message says
   *     what became of what was read
   */
  void run(Inputs in, LineReader.Ends ends) throws IOException, InterruptedException {
    fates.of(in);
    Thread harvester = start("cinch-receipts", this::harvest);
    Thread unused = start("cinch-input", () -> read(in, ends));
    boolean whole = patience.await(ms -> inputOver.await(ms, TimeUnit.MILLISECONDS), this);
    stopped = true;
    whole = whole && patience.await(this::isTaken, this);
    whole = whole && patience.await(ms -> queue.offer(Sent.END, ms, TimeUnit.MILLISECONDS), this);
    whole = whole && patience.await(ms -> ended(harvester, ms), this);
    if (!whole) {
      hangs = true;
      abandon();
    }
    if (failure == null && inputFailure instanceof Failure.Refusal e) {
      throw e;
    }
    if (failure == null && inputFailure instanceof IOException e) {
      throw new IOException(
          "the input could not be read (%s); %s".formatted(Failure.of(e).line(), fates.soFar()), e);
    }
    Throwable t = failure != null ? failure : inputFailure;
    if (t instanceof Output.ClosedException e) {
      throw e;
    } else if (t != null) { // for want of memory, most likely, and anywhere
      throw new IOException(
          "%s; %s, and more may be committed".formatted(Failure.of(t).line(), fates.soFar()), t);
    }
  }

  /** What is being taken just now is taken whole. */
  private boolean isTaken(long ms) throws InterruptedException {
    if (!taking.tryLock(ms, TimeUnit.MILLISECONDS)) {
      return false;
    }
    taking.unlock();
    return true;
  }

  private static boolean ended(Thread thread, long ms) throws InterruptedException {
    thread.join(ms);
    return !thread.isAlive();
  }

  /** A thread hangs, so that nobody tells the fates of some lines. */
  private void abandon() throws IOException, InterruptedException {
    if (telling.tryLock(1, TimeUnit.SECONDS)) { // else it hangs where receipts are printed
      abandoned = true;
      for (long line = told + 1; line <= handedOver; line++) {
        fates.unknown(line, String.valueOf(patience.why()));
      }
      fates.flush();
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

  private void read(Inputs in, LineReader.Ends ends) {
    try {
      var reader = new LineReader(in, ends, limit);
      boolean more = resumption == null || resumption.skip(reader, fates::place, this::take);
      var lines = more ? reader.read() : null;
      while (lines != null && take(lines, new @Nullable Receipt[0])) {
        lines = reader.read();
      }
      ended = more && lines == null;
      if (reader.isCut()) {
        lost("the input ended before the line that --end names");
      }
    } catch (IOException | InterruptedException | RuntimeException | Error e) {
      if (!stopped) {
        inputFailure = e;
      }
    } finally {
      inputOver.countDown();
    }
  }

  /** All of the lines or none; false if no more are wanted. */
  private boolean take(LineReader.Lines lines, @Nullable Receipt[] before)
      throws InterruptedException {
    taking.lock();
    try {
      waitForWhatIsBroken();
      if (stopped) {
        return false;
      }
      if (lines.count() > 0) {
        Sent sent = Sent.of(lines, before);
        try {
          for (int i = 0; i < lines.count(); i++) {
            if (sent.earlier(i) != null) {
              continue;
            }
            String lost = lostWhy; // once: another thread may set it in between
            sent.why()[i] = lost; // behind one that was refused, maybe for a moment only
            if (lost == null) {
              last = submit(sent, i, last);
            }
          }
        } finally {
          handed++;
          handedOver = lines.first + lines.count() - 1;
          queue.put(sent); // what was handed over before an error has its fate
        }
      }
      return true;
    } finally {
      taking.unlock();
    }
  }

  /** Behind one that was rejected nothing may be handed over before that is there. */
  private void waitForWhatIsBroken() throws InterruptedException {
    synchronized (turn) {
      while (broken && finished < handed && !stopped) {
        turn.wait();
      }
      if (finished == handed) {
        broken = false;
        last = null; // all that was handed over is there
      }
    }
  }

  /** What the next line is to follow, if it is to follow any. */
  private @Nullable Pending submit(Sent sent, int i, @Nullable Pending behind) {
    LineReader.Lines lines = sent.lines();
    sent.pending()[i] = null;
    String refusal = refusal(lines, i);
    if (refusal != null) {
      sent.why()[i] = refusal;
      if (resumption != null) {
        lost(refusal); // what stands behind it would leave a hole
      }
      return behind;
    }
    try {
      int length = Math.toIntExact(lines.length(i));
      Pending pending = submitter.submit(lines.bytes, lines.start(i), length, behind);
      sent.pending()[i] = pending;
      return pending;
    } catch (MessageRefusedException e) {
      String why = String.valueOf(e.getMessage());
      sent.why()[i] = why;
      lost(why); // going on would leave a gap in the input's order
      return behind;
    }
  }

  /** Why a line is not handed over; null: it is. */
  private @Nullable String refusal(LineReader.Lines lines, int i) {
    if (lines.length(i) > limit) {
      return "the message has %d bytes, this store allows %d".formatted(lines.length(i), limit);
    }
    return resumption != null && resumption.awaitsEnd(lines, i)
        ? "the input ends within it, and its writer may be at it still: start this again when it is"
            + " whole, or with --complete if nothing comes any more"
        : null;
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
        synchronized (turn) {
          finished++;
          turn.notifyAll();
        }
      }
    } catch (InterruptedException e) {
      failure = e;
      stop();
    }
  }

  private void harvest(Sent sent) throws IOException {
    int n = sent.lines().count();
    var found = new Receipt[n];
    String over = null;
    int furthest = -1;
    int most = RESENDS + 1; // the first time it may be rejected for what was before it
    for (int round = 0; round <= most; round++) {
      int first = -1;
      for (int i = 0; i < n; i++) {
        Pending pending = sent.pending()[i];
        if (pending != null && !(found[i] instanceof Receipt.Committed)) {
          found[i] = fate(pending);
          if (found[i] instanceof Receipt.Rejected && first < 0) {
            first = i;
          }
        }
      }
      boolean rejected = first >= 0;
      if (first > furthest) {
        furthest = first; // what follows it was rejected for that alone
        round = 0;
      }
      if (rejected && round == most) {
        over = ending.why();
        if (over != null) {
          lost(over);
        }
      }
      boolean last = round == most || patience.why() != null;
      if (!rejected || last || lostWhy != null) {
        break;
      }
      synchronized (turn) {
        broken = true;
      }
      Pending before = null;
      for (int i = 0; i < n; i++) {
        if (found[i] instanceof Receipt.Rejected) {
          if (lostWhy != null) {
            break; // it was rejected, and stays so
          }
          before = submit(sent, i, before); // with a new timestamp, in the order of the input
        }
      }
    }
    loseAfter(found);
    telling.lock();
    try {
      for (int i = 0; i < n && !abandoned; i++) {
        told = sent.lines().first + i; // before it waits for whoever reads the receipts
        tell(sent, i, found[i], over);
      }
      fates.flush();
    } finally {
      telling.unlock();
    }
  }

  /** Null if nobody waits for it any more. */
  private @Nullable Receipt fate(Pending pending) {
    try {
      return pending.await();
    } catch (FateUnknownException e) {
      if (patience.why() == null) {
        throw e;
      }
      return null;
    }
  }

  /** What follows a line that stays out would leave a hole. */
  private void loseAfter(@Nullable Receipt[] found) {
    for (Receipt fate : found) {
      if (fate instanceof Receipt.Rejected r) {
        lost(r.reason());
        return;
      }
    }
  }

  private void tell(Sent sent, int i, @Nullable Receipt fate, @Nullable String over)
      throws IOException {
    long line = sent.lines().first + i;
    if (sent.earlier(i) instanceof Receipt.Committed c) {
      fates.committed(line, c, true);
      return;
    }
    if (fate instanceof Receipt.Committed c) {
      fates.committed(line, c, false);
      return;
    }
    if (fate == null && sent.pending()[i] != null) {
      fates.unknown(line, String.valueOf(patience.why()));
      return;
    }
    String why =
        fate instanceof Receipt.Rejected r && sent.pending()[i] != null
            ? (over == null ? r.reason() : over)
            : sent.why()[i];
    if (why != null) { // else an error came before it was known whether it was handed over
      fates.failed(line, sent.pending()[i] == null ? "REFUSED" : "REJECTED", why);
    }
  }

  /** Whether all of the input was taken. */
  boolean ended() {
    return ended;
  }

  /** What became of its lines. */
  LineFates fates() {
    return fates;
  }

  /** The last line whose fate was told. */
  long told() {
    return told;
  }

  /** The last line that was taken. */
  long handedOver() {
    return handedOver;
  }

  /** Whether it ended although lines had no receipt. */
  boolean gaveUp() {
    return patience.why() != null;
  }

  /** Whether a thread of it does not end. */
  boolean hangs() {
    return hangs;
  }

  /** Ends it; lines get their fates as far as anybody can know them. */
  void giveUp(String why) {
    patience.now(why, this);
  }

  /** The lines that were taken and have no fate yet, in words; empty if there are none. */
  String waiting() {
    long from = told + 1;
    return from > handedOver
        ? ""
        : from == handedOver
            ? "line " + fates.place(from)
            : "lines " + fates.place(from) + " to " + fates.place(handedOver);
  }

  /** How far it has come, as far as can be seen from outside. */
  String underway() {
    String lines = waiting();
    return fates.soFar() + (lines.isEmpty() ? "" : "; the fate of " + lines + " is unknown");
  }

  /** Whether something other than its length kept a message out of the log, or ended the input. */
  boolean lost() {
    return lostWhy != null;
  }

  /** One line about what became of the input. */
  String summary() {
    String why = lostWhy;
    boolean some = fates.failed() + fates.unknown() > 0;
    return fates.summary()
        + (why == null
            ? ""
            : some ? "; no more input was taken" : ", no more input was taken: " + why);
  }
}
