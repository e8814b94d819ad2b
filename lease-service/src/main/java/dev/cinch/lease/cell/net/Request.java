package dev.cinch.lease.cell.net;

import dev.cinch.lease.cell.Ballot;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Message;
import java.util.concurrent.CompletableFuture;

/** What another thread asks the loop for. */
sealed interface Request
    permits Pursuit, Inquiry, Gathering, Listing, Request.Release, Request.Status, Request.Again {
  /** The node closes before it is done. */
  void close();

  /** What the other thread waits for. */
  CompletableFuture<?> result();

  /**
   * To end a lease.
   *
   * @param linger for so long it may be held until all acceptors have it
   */
  record Release(Bytes name, Ballot lease, long linger, CompletableFuture<Boolean> result)
      implements Request {
    @Override
    public void close() {
      result.complete(false);
    }
  }

  /**
   * To sign what somebody asked for before, and could not be signed yet.
   *
   * @param from who did
   */
  record Again(int from, Message.Sign sign, CompletableFuture<?> result) implements Request {
    @Override
    public void close() {}
  }

  /** To tell how the node is. */
  record Status(CompletableFuture<CellStatus> result) implements Request {
    @Override
    public void close() {
      result.completeExceptionally(new IllegalStateException("the node is closed"));
    }
  }
}
