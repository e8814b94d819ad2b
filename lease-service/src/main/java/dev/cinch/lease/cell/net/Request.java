package dev.cinch.lease.cell.net;

import dev.cinch.lease.cell.Ballot;
import dev.cinch.lease.cell.Bytes;
import java.util.concurrent.CompletableFuture;

/** What another thread asks the loop for. */
sealed interface Request permits Pursuit, Inquiry, Request.Release, Request.Status {
  /** The node closes before it is done. */
  void close();

  /** What the other thread waits for. */
  CompletableFuture<?> result();

  /** To end a lease. */
  record Release(Bytes name, Ballot lease, CompletableFuture<Boolean> result) implements Request {
    @Override
    public void close() {
      result.complete(false);
    }
  }

  /** To tell how the node is. */
  record Status(CompletableFuture<CellStatus> result) implements Request {
    @Override
    public void close() {
      result.completeExceptionally(new IllegalStateException("the node is closed"));
    }
  }
}
