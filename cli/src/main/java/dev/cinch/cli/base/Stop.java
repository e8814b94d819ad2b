package dev.cinch.cli.base;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntConsumer;
import java.util.function.LongSupplier;
import sun.misc.Signal;
import sun.misc.SignalHandler;

/**
 * SIGTERM and SIGINT as a wish: the first one is passed to whoever works, a later one ends the
 * process at once. Thread-safe.
 *
 * <p>One that comes within half a second of the first is the same wish: {@code timeout} signals its
 * child and then its own group, so that the child hears it twice within microseconds.
 *
 * <p>Signals do what they always do until a command calls {@link #listen}: most commands may be
 * ended anywhere. A shutdown hook would not do, since while it runs a second signal is not heard.
 */
public final class Stop {
  private static final int SIGHUP = 1;
  private static final int SIGINT = 2;
  public static final int SIGTERM = 15;

  /** What a shell adds to a signal's number to make an exit code. */
  private static final int SIGNALLED = 128;

  /** How long a process that is to end may take for its last words. */
  private static final long END_MS = 200;

  private static final long SAME_WISH_NANOS = 500_000_000;

  private final boolean ofProcess;
  private final LongSupplier nanos;
  private final IntConsumer halt;
  private final AtomicBoolean listening = new AtomicBoolean();
  private final AtomicInteger signal = new AtomicInteger();
  private final CountDownLatch requested = new CountDownLatch(1);
  private final List<Runnable> listeners = new CopyOnWriteArrayList<>();

  private volatile Runnable last = () -> {};
  private long firstNanos;

  private Stop(boolean ofProcess, LongSupplier nanos, IntConsumer halt) {
    this.ofProcess = ofProcess;
    this.nanos = nanos;
    this.halt = halt;
  }

  /** Hears the process's signals. */
  static Stop ofProcess() {
    return new Stop(true, System::nanoTime, Runtime.getRuntime()::halt);
  }

  /** Hears only {@link #arrived}. */
  public static Stop byHand() {
    return byHand(System::nanoTime, Runtime.getRuntime()::halt);
  }

  /**
   * The same by another clock.
   *
   * @param nanos a clock that never steps back
   * @param halt ends the process with an exit code
   */
  public static Stop byHand(LongSupplier nanos, IntConsumer halt) {
    return new Stop(false, nanos, halt);
  }

  /** From now on signals are wishes; one that the process was started to ignore stays ignored. */
  public void listen() {
    if (ofProcess && listening.compareAndSet(false, true)) {
      listen("TERM");
      listen("INT");
    }
  }

  private void listen(String name) {
    try {
      var number = new Signal(name);
      SignalHandler before = Signal.handle(number, s -> arrived(s.getNumber()));
      if (before == SignalHandler.SIG_IGN) {
        Signal.handle(number, before);
      }
    } catch (IllegalArgumentException e) {
      // No such signal here, or Java was told to leave it alone (-Xrs): it ends the process then.
    }
  }

  /** A signal came. */
  public void arrived(int number) {
    synchronized (signal) {
      long now = nanos.getAsLong();
      if (!signal.compareAndSet(0, number)) {
        if (now - firstNanos >= SAME_WISH_NANOS) {
          tellEnd();
          halt.accept(SIGNALLED + number);
        }
        return;
      }
      firstNanos = now;
    }
    requested.countDown();
    listeners.forEach(Runnable::run);
  }

  /** Calls back when a signal comes, on another thread; at once if one came before. */
  public void onRequest(Runnable listener) {
    listeners.add(listener);
    if (requested()) {
      listener.run();
    }
  }

  /**
   * What is to be done before another signal ends the process at once. It gets a moment, no more.
   */
  public void onEnd(Runnable last) {
    this.last = last;
  }

  private void tellEnd() {
    var thread = new Thread(last, "cinch-end");
    thread.setDaemon(true);
    thread.start();
    try {
      thread.join(END_MS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Ends the process, whatever its threads do. */
  public void end(int code) {
    halt.accept(code);
  }

  public boolean requested() {
    return requested.getCount() == 0;
  }

  /** Waits for a signal; false if none came in so many nanoseconds. */
  public boolean await(long nanos) throws InterruptedException {
    return requested.await(nanos, TimeUnit.NANOSECONDS);
  }

  /** What a process that was ended by the signal would exit with: 143 or 130. */
  public int exitCode() {
    return SIGNALLED + signal.get();
  }

  /** The signal's name. */
  public String name() {
    return switch (signal.get()) {
      case SIGHUP -> "SIGHUP";
      case SIGINT -> "SIGINT";
      case SIGTERM -> "SIGTERM";
      default -> "signal " + signal.get();
    };
  }
}
