package dev.cinch.lease.register;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.table.UnansweredException;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;

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

  /** Whoever asked for a value that was written is refused: what is kept for the answer may go. */
  default void unneeded(byte[] value) {}

  /** Forgets what is long over; called about every second. */
  default void sweep() {}

  /** The longest value, bytes. */
  int longestValue();
}
