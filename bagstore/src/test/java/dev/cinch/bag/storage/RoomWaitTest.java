package dev.cinch.bag.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.model.InWords;
import dev.cinch.lease.time.ManualTime;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** What is waited for where a storage is full, and how long; by a clock of the test's. */
class RoomWaitTest {
  private static final IOException FULL =
      new FileSystemException("/store/a", null, "No space left on device");

  private final ManualTime time = new ManualTime();
  private final long start = time.monotonicNanos();
  private final AtomicInteger tries = new AtomicInteger();

  private Duration waited() {
    return Duration.ofNanos(time.monotonicNanos() - start);
  }

  @Test
  void withoutALimitItWaitsUntilThereIsRoom() throws Exception {
    var room = new RoomWait(time, "a test", null);
    String done =
        room.until(
            () -> {
              if (tries.incrementAndGet() > 1_000) {
                return "done";
              }
              throw FULL;
            });
    assertEquals("done", done);
    assertEquals(Duration.ofSeconds(1_000), waited());
    assertEquals("", room.why());
  }

  @Test
  void withALimitItGivesUpThen() {
    var room = new RoomWait(time, "a test", Duration.ofMillis(2_500));
    var e =
        assertThrows(
            IOException.class,
            () ->
                room.until(
                    () -> {
                      tries.incrementAndGet();
                      throw FULL;
                    }));
    assertSame(FULL, e);
    assertEquals(Duration.ofMillis(2_500), waited());
    assertEquals(4, tries.get(), "at once, after each second, and at the end");
  }

  @Test
  void thatThereIsNoRoomAgainIsAnotherTime() throws Exception {
    var room = new RoomWait(time, "a test", Duration.ofSeconds(2));
    for (int i = 0; i < 3; i++) {
      assertTrue(room.pause(FULL));
      assertEquals("/store/a: No space left on device", room.why());
      assertTrue(room.pause(FULL));
      room.over();
      assertEquals("", room.why());
    }
    assertTrue(room.pause(FULL));
    assertTrue(room.pause(FULL));
    assertFalse(room.pause(FULL));
  }

  @Test
  void otherErrorsAreNotWaitedFor() throws Exception {
    var room = new RoomWait(time, "a test", null);
    for (IOException other :
        List.of(
            new AccessDeniedException("/store/a"),
            new IOException("Input/output error"),
            new FileSystemException("/store/a", null, "Read-only file system"),
            new IOException(new IllegalStateException("No space left on device")))) {
      assertFalse(room.pause(other), other.toString());
    }
    assertEquals(Duration.ZERO, waited());
  }

  @Test
  void bytesInodesAndQuotasAreOneEventWhereverTheyAreMet() {
    assertTrue(InWords.isFull(FULL));
    assertTrue(InWords.isFull(new IOException("No space left on device")));
    assertTrue(InWords.isFull(new FileSystemException("/store/a", null, "Disk quota exceeded")));
    assertTrue(InWords.isFull(new IOException("a batch", new UncheckedIOException(FULL))));
    var readOnly = new FileSystemException("/store/a", null, "Read-only file system");
    assertTrue(InWords.isReadOnly(new IOException("a batch", readOnly)));
    assertFalse(InWords.isFull(readOnly) || InWords.isReadOnly(FULL));
  }
}
