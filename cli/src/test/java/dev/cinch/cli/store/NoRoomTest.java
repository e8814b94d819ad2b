package dev.cinch.cli.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.model.InWords;
import dev.cinch.cli.base.Failure;
import java.io.IOException;
import java.nio.file.FileSystemException;
import org.junit.jupiter.api.Test;

/** A closer that goes on by itself says that it waits, and for what. */
class NoRoomTest {
  @Test
  void aFullStorageIsWaitedFor() {
    for (String reason : new String[] {"No space left on device", "Disk quota exceeded"}) {
      Exception told = CloseCommand.waiting(new FileSystemException("s/clock/x", null, reason));
      assertEquals(new Failure(4, "waits for room: s/clock/x: " + reason), Failure.of(told));
      assertTrue(InWords.isFull(told));
    }
  }

  @Test
  void whateverElseFailsStaysAsItIs() {
    for (Exception e :
        new Exception[] {
          new FileSystemException("s/clock/x", null, "Read-only file system"),
          new IOException("Input/output error"),
          new IllegalStateException("a fault")
        }) {
      assertSame(e, CloseCommand.waiting(e));
    }
  }
}
