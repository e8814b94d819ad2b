package dev.cinch.bag.write;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Ledger;
import dev.cinch.bag.Log;
import dev.cinch.bag.Rig;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Kind;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.Receipt;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Receipts as futures: nobody waits in a thread of his own, and each is told. */
@SuppressWarnings("NullAway.Init")
class ReceiptFutureTest {
  private Rig rig;
  private FaultyFs fs;
  private Log log;
  private LogWriter writer;

  @BeforeEach
  void start() throws Exception {
    rig = Rig.memory(3);
    fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    log = rig.open(fs);
    writer = log.writer(Durability.SYNC);
  }

  private PendingReceipt submit(String text, boolean needsThread) throws MessageRefusedException {
    byte[] bytes = text.getBytes(UTF_8);
    return writer.submit(LeaseStamp.NONE, bytes, 0, bytes.length, needsThread);
  }

  private static Receipt get(CompletableFuture<Receipt> future) throws Exception {
    return future.get(1, TimeUnit.HOURS);
  }

  private List<String> settled() throws Exception {
    rig.settle(log);
    return Ledger.settled(log).stream().map(Ledger.Found::text).toList();
  }

  @Test
  void itIsCompletedThoughNobodyAwaitsTheReceipt() throws Exception {
    for (boolean needsThread : new boolean[] {true, false}) {
      PendingReceipt first = submit("a", needsThread);
      PendingReceipt second = submit("b", needsThread);
      var one = assertInstanceOf(Receipt.Committed.class, get(first.toFuture()));
      var two = assertInstanceOf(Receipt.Committed.class, get(second.toFuture()));
      assertEquals(first.await(), one);
      assertEquals(second.await(), two);
      assertEquals(first.timestamp(), one.timestamp());
      assertEquals(two, get(second.toFuture()), "asked for once it is there");
    }
  }

  @Test
  void whatFollowsMayUseTheWriter() throws Exception {
    CompletableFuture<Receipt> both =
        submit("a", true)
            .toFuture()
            .thenApply(
                a -> {
                  try {
                    return writer.append("b".getBytes(UTF_8));
                  } catch (MessageRefusedException e) {
                    throw new IllegalStateException(e);
                  }
                });
    assertInstanceOf(Receipt.Committed.class, get(both));
    assertEquals(List.of("a", "b"), settled());
  }

  @Test
  void cancellingEndsTheWaitingAlone() throws Exception {
    var cancelled = new CompletableFuture<Boolean>();
    fs.before(
        op -> {
          if (op.kind() == Kind.CREATE) {
            boolean unused = cancelled.join(); // the receipt is not there before
          }
        });
    PendingReceipt pending = submit("a", false);
    boolean did = pending.toFuture().cancel(true);
    cancelled.complete(did);
    assertTrue(did);
    CompletableFuture<Receipt> other = pending.toFuture();
    assertInstanceOf(Receipt.Committed.class, get(other));
    assertEquals(List.of("a"), settled());
  }

  @Test
  void aRejectionIsAReceiptToo() throws Exception {
    fs.before(
        op -> {
          if (op.kind() == Kind.CREATE) {
            throw new IOException("no space left");
          }
        });
    assertInstanceOf(Receipt.Rejected.class, get(submit("a", true).toFuture()));
  }

  @Test
  void allAreToldThatTheWriterFailed() throws Exception {
    var fault = new IllegalStateException("made by a test");
    fs.before(
        op -> {
          if (op.kind() == Kind.CREATE) {
            throw fault;
          }
        });
    PendingReceipt pending = submit("a", false);
    rig.time.advanceMs(5_000);
    PendingReceipt other = submit("b", false); // of another batch
    CompletableFuture<Receipt> before = other.toFuture();
    for (CompletableFuture<Receipt> told : List.of(before, pending.toFuture(), other.toFuture())) {
      var failed = assertThrows(ExecutionException.class, () -> get(told));
      var why = assertInstanceOf(IllegalStateException.class, failed.getCause());
      assertSame(fault, why.getCause());
    }
  }
}
