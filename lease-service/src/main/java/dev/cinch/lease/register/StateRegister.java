package dev.cinch.lease.register;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.table.LeaseBackend.UnansweredException;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ForkJoinPool;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * A value for each name, kept by several machines. Values may be forgotten once they have not been
 * replaced for as long as a lease may last: then whoever asks is told since when at the latest
 * nothing can have been held. Thread-safe.
 */
@CheckReturnValue
public interface StateRegister {
  /**
   * What is there.
   *
   * @param value the last one that is remembered; it may have been written by somebody who stopped
   *     in between, and be gone when it is looked for again, unless it is written once more. Empty
   *     if none is
   * @param remembered whether no later one can have been forgotten
   * @param quietNanos if one can: so long ago, at the least, it was written
   */
  record Found(Optional<byte[]> value, boolean remembered, long quietNanos) {}

  /**
   * Makes the next value. Called with nobody else in between, perhaps several times: what an
   * earlier call made may then be found.
   */
  @FunctionalInterface
  interface Change {
    /**
     * Quick, and without waiting.
     *
     * @return what to write; empty to leave it as it is
     * @throws LeaseRefusedException to leave it as it is, and to say why
     */
    Optional<byte[]> of(Found found) throws LeaseRefusedException;
  }

  /**
   * Replaces the value of a name.
   *
   * @return whether something was written, once enough machines have it. Completes exceptionally
   *     with what the change throws; with a {@link LeaseRefusedException} of {@code NOT_YET} if
   *     nothing was written since too few answer; or with {@link UnansweredException} if it may
   *     have been written
   */
  CompletableFuture<Boolean> change(LeaseName name, Change change);

  /**
   * The value of a name as it was a moment ago; a hint. Completes exceptionally likewise, and never
   * with what this machine knows alone.
   */
  CompletableFuture<Found> look(LeaseName name);

  /**
   * Asks as many machines as a look does for what costs them nothing; completes exceptionally, as a
   * look does, if they can't be reached.
   */
  default CompletableFuture<?> reach() {
    return look(new LeaseName("0"));
  }

  /** Whether listeners are told at present of what others write; quick. */
  default boolean hears() {
    return true;
  }

  /**
   * Values of names in ascending order, as they were a moment ago; a hint, of which names that come
   * and go meanwhile may be missing. Completes exceptionally likewise.
   *
   * @param prefix of the names; may be empty
   * @param after only names behind this one; may be empty
   * @param limit how many, at least 1
   */
  CompletableFuture<NavigableMap<String, byte[]>> list(String prefix, String after, int limit);

  /**
   * Has somebody told of values that were written, here or elsewhere, or are being written: hints,
   * of which some may be missing. Called on threads that must not wait.
   */
  void listen(BiConsumer<String, byte[]> listener);

  /**
   * Has somebody told that listeners may have missed what was written. Called on threads that must
   * not wait.
   */
  default void onLoss(Runnable lost) {}

  /** Forgets what is long over; called about every second. */
  default void sweep() {}

  /** The longest value, bytes. */
  int longestValue();

  /**
   * Has the changes of a name follow each other in this process: those of one register would
   * otherwise get in each other's way. Thread-safe.
   */
  final class ChangeQueue {
    /** The last change of each name: the next one begins when it has ended. */
    private final Map<LeaseName, CompletableFuture<Boolean>> last = new ConcurrentHashMap<>();

    private final Executor executor;

    public ChangeQueue() {
      this(ForkJoinPool.commonPool());
    }

    /**
     * @param executor begins those that had to wait for another
     */
    ChangeQueue(Executor executor) {
      this.executor = executor;
    }

    /**
     * The next change of a name.
     *
     * @param begin begins it, and has it complete what is given, sooner or later; called at once,
     *     or on another thread
     * @return what is completed
     */
    public CompletableFuture<Boolean> next(
        LeaseName name, Consumer<CompletableFuture<Boolean>> begin) {
      var done = new CompletableFuture<Boolean>();
      CompletableFuture<Boolean> before = last.put(name, done);
      var unused = done.whenComplete((written, failure) -> last.remove(name, done));
      if (before == null) {
        var alsoUnused = begin(begin, done);
      } else {
        // Not on the thread that ends the one before: if all give up, each would end within
        // another.
        var alsoUnused =
            before
                .handleAsync((written, failure) -> begin(begin, done), executor)
                .exceptionally(done::completeExceptionally); // which has no thread for it, say
      }
      return done;
    }

    /** Where it fails it has ended: else all that follow would wait for it. */
    private static boolean begin(
        Consumer<CompletableFuture<Boolean>> begin, CompletableFuture<Boolean> done) {
      try {
        begin.accept(done);
        return true;
      } catch (RuntimeException | VirtualMachineError e) {
        return done.completeExceptionally(e);
      }
    }
  }
}
