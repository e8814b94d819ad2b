package dev.cinch.cli.base;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.cinch.bag.fs.PosixFs;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.lease.time.TimeSource;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Where a filesystem does not answer, a command says what it waits for. */
class HangWatchTest {
  private static final long SECOND = 1_000_000_000;

  private final List<String> said = new ArrayList<>();
  private long clock;
  private final HangWatch watch =
      new HangWatch(
          new TimeSource() {
            @Override
            public long wallNanos() {
              throw new AssertionError("only the monotonic clock is asked");
            }

            @Override
            public long monotonicNanos() {
              return clock;
            }

            @Override
            public void sleepNanos(long nanos) {
              throw new AssertionError("nobody waits for it");
            }
          },
          said::add);

  private void at(long seconds) {
    clock = seconds * SECOND;
    watch.look();
  }

  @Test
  void whatLastsIsSaidAfterTenSecondsAndThenEachMinute() {
    HangWatch.Waiting first = watch.begin("opening", Path.of("prelock"));
    at(9);
    assertEquals(List.of(), said);
    HangWatch.Waiting later = watch.begin("listing", Path.of("keys"));
    at(10);
    at(18);
    assertEquals(List.of("waiting for the filesystem: opening prelock (10 s)"), said);
    watch.end(later);
    at(69);
    assertEquals(1, said.size());
    at(70);
    assertEquals("waiting for the filesystem: opening prelock (70 s)", said.get(1));
    watch.end(first);
    at(1_000);
    assertEquals(2, said.size());
  }

  /** Every operation, and those on open files. */
  @Test
  void everyOperationIsWatchedWhileItLasts(@TempDir Path root) throws Exception {
    var fs = new WatchedFs(new PosixFs(null, null), watch).forStore(root, Optional.empty());
    Path file = root.resolve("file");
    try (StoreFile out = fs.create(file, 0644)) {
      out.write(ByteBuffer.wrap(new byte[2]));
      out.force();
    }
    try (StoreFile in = fs.read(file)) {
      assertEquals(2, in.size());
      assertEquals(2, in.read(ByteBuffer.allocate(2), 0));
    }
    fs.unlink(file);
    assertEquals(List.of(), fs.list(root));
    at(100);
    assertEquals(List.of(), said); // all of them ended
    Path pipe = root.resolve("none");
    HangWatch.Waiting hangs = watch.begin("reading", pipe);
    at(110);
    assertEquals(List.of("waiting for the filesystem: reading " + pipe + " (10 s)"), said);
    watch.end(hangs);
    Files.deleteIfExists(pipe);
  }
}
