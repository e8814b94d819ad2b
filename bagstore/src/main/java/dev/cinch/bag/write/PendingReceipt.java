package dev.cinch.bag.write;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.model.Receipt;

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
   * Waits for the receipt; not cut short by an interrupt, which would leave the message's fate
   * unknown.
   */
  public Receipt await() {
    writer.drive(batch);
    return batch.receipt(index, timestamp);
  }
}
