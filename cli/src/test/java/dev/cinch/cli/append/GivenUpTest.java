package dev.cinch.cli.append;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.cinch.bag.storage.RoomWait;
import dev.cinch.cli.base.Failure;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** With --give-up an append that could not begin says that nothing was appended. */
class GivenUpTest {
  private long now;

  private final TimeSource time =
      new TimeSource() {
        @Override
        public long wallNanos() {
          return now;
        }

        @Override
        public long monotonicNanos() {
          return now;
        }

        @Override
        public void sleepNanos(long nanos) {
          now += nanos;
        }
      };

  @Test
  void nothingWasAppended() {
    var full = new FileSystemException("s/clock/x", null, "No space left on device");
    var e =
        assertThrows(
            IOException.class,
            () ->
                AppendCommand.writable(
                    new RoomWait(time, "cinch append", Duration.ofSeconds(3)),
                    () -> {
                      throw full;
                    }));
    assertEquals(Duration.ofSeconds(3).toNanos(), now);
    assertEquals(
        new Failure(
            4,
            "gave up waiting for room, and nothing was appended: s/clock/x: No space left on"
                + " device"),
        Failure.of(e));
  }
}
