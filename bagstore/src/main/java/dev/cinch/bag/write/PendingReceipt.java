package dev.cinch.bag.write;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.model.Receipt;
import java.util.concurrent.CompletableFuture;

/** A message on its way. Its receipt is definite once it is there. Thread-safe. */
@CheckReturnValue
public final class PendingReceipt {
  private final LogWriter writer;
  private final PendingBatch batch;
  private final int index;
  private final long timestamp;

  PendingReceipt(LogWriter writer, PendingBatch batch, int index, long timestamp) {
    this.writer = writer;
    this.batch = batch;
    this.index = index;
    this.timestamp = timestamp;
  }

  PendingBatch batch() {
    return batch;
  }

  /** The timestamp that it was given. */
  public long timestamp() {
    return timestamp;
  }

  public boolean isDone() {
    return batch.outcome != null;
  }

  /**
   * The receipt as a future, completed on {@link java.util.concurrent.ForkJoinPool#commonPool} once
   * it is there; also of a message that was submitted to be awaited, which the writer's own thread
   * sees to then. Without asking for one nobody pays for it.
   *
   * <p>It fails with {@link IllegalStateException} if the writer failed: the message may be in the
   * log or not. Cancelling it ends the waiting and nothing else: the message is on its way, and is
   * committed or not as it would be.
   */
  public CompletableFuture<Receipt> toFuture() {
    return writer.whenDone(batch).thenApply(done -> done.receipt(index, timestamp));
  }

  /**
   * Waits for the receipt; not cut short by an interrupt, which would leave the message's fate
   * unknown.
   */
  public Receipt await() {
    writer.drive(batch);
    return batch.receipt(index, timestamp);
  }
}
