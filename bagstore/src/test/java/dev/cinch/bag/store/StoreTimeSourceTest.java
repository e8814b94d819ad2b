package dev.cinch.bag.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Rig;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.lease.TimeBound;
import dev.cinch.lease.time.BoundSource.Measurement;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** The filesystem's clock as a source of the time (section 5). */
final class StoreTimeSourceTest {
  private static final long MS = 1_000_000;

  private final Rig rig = rig();

  private static Rig rig() {
    try {
      return Rig.memory(5);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void itTellsTheFilesystemsTimeWhateverTheMachinesClockSays() throws IOException {
    rig.time.advanceNanos(123_456_789);
    var source =
        new StoreTimeSource(
            rig.open(rig.disk.view(Rig.ALICE), rig.time.skewed(new AtomicLong(300 * MS)))
                .context()
                .store());
    Measurement said = source.measure();
    long right = rig.time.wallNanos();
    assertTrue(said.bound().contains(right), said + " at " + right);
    assertTrue(said.bound().radius() <= 100 * MS, "" + said);
    assertEquals(TimeBound.Kind.MEASURED, said.bound().kind());
    assertTrue(Math.abs(right + 300 * MS - said.wall()) < MS, "" + said);
  }

  @Test
  void aStoreThatCanNotBeAskedIsTold() throws IOException {
    var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    var source = new StoreTimeSource(rig.open(fs, rig.time).context().store());
    fs.arm(1, FaultyFs.Fault.ERROR_BEFORE);
    var e = assertThrows(IOException.class, () -> source.measure().wall());
    assertTrue(String.valueOf(e.getMessage()).startsWith("the store can't be asked: "), "" + e);
  }
}
