package dev.cinch.cli.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.cinch.bag.fs.ClockedFs;
import dev.cinch.bag.fs.FilterFs;
import dev.cinch.bag.fs.PosixFs;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.lease.Altered;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FilesystemProbesTest {
  private static final long MS = 1_000_000;
  private static final long START = 1_767_225_600_000L * MS;

  @TempDir Path temp;

  /** Clocks that stand still. */
  private record Standing(long wallNanos) implements TimeSource {
    @Override
    public long monotonicNanos() {
      return 0;
    }

    @Override
    public void sleepNanos(long nanos) {}
  }

  private static StoreSettings ahead(long ms) {
    StoreSettings s = StoreSettings.DEFAULT;
    return Altered.with(s, "graceMs", 5_000, "clockAheadMs", ms, "group", Optional.empty());
  }

  /** A filesystem whose clock is {@code START}, and a machine's that is further by so much. */
  private Diagnosed probed(long machineMs, long aheadMs) throws Exception {
    return probed(new PosixFs(null, null), machineMs, aheadMs);
  }

  private Diagnosed probed(StoreFs below, long machineMs, long aheadMs) throws Exception {
    var diagnosed = new Diagnosed();
    var fs = new ClockedFs(below, new Standing(START));
    new FilesystemProbes(
            fs,
            temp.resolve("clock"),
            ahead(aheadMs),
            new Standing(START + machineMs * MS),
            new DirectReads(
                DirectReads.Access.of(new PosixFs(null, null)), true, diagnosed.diagnosis),
            diagnosed.diagnosis)
        .run();
    try (var left = Files.list(temp)) {
      assertEquals(0, left.count());
    }
    return diagnosed;
  }

  @Test
  void whereSecondsAreCutOffARightClockIsNotToBeSet() throws Exception {
    for (long machineMs : new long[] {0, 400, 700, 999}) {
      Diagnosed probed = probed(machineMs, 500);
      probed.has("FAIL change times in whole seconds", "--clock-ahead above 1 s");
      probed.hasNone("FAIL filesystem's clock");
    }
    Diagnosed wide = probed(999, 1_500);
    wide.has("ok   filesystem's clock -0.999 s", "1.500 s ahead");
    wide.has("warn change times in whole seconds", "buckets and grace");
  }

  @Test
  void aClockThatIsWrongThereIs() throws Exception {
    probed(10_000, 500).has("FAIL filesystem's clock -10.000 s", "set the clock");
    probed(-600, 500).has("FAIL filesystem's clock +0.600 s", "set the clock");
    probed(1_600, 1_500).has("FAIL filesystem's clock -1.600 s", "set the clock");
  }

  @Test
  void aFullDiskIsNotTakenForOneThatCannotRead() throws Exception {
    var full =
        new FilterFs(new PosixFs(null, null)) {
          @Override
          public StoreFile create(Path file, int mode) throws IOException {
            if (file.toString().matches(".*/tmp-(create|force)")) { // what is written to
              throw new IOException("No space left on device");
            }
            return super.create(file, mode);
          }
        };
    Diagnosed probed = probed(full, 0, 500);
    probed.has("FAIL create: ", "No space left on device");
    probed.has("note forcing, and reads past the cache, were not tried", "run this again");
    probed.hasNone("FAIL force");
    probed.hasNone("FAIL a read past the cache");
  }
}
