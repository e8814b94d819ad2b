package dev.cinch.bag.storage;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.cinch.bag.format.LockedFile;
import dev.cinch.bag.fuzz.DataFile;
import dev.cinch.fuzz.Edits;
import dev.cinch.fuzz.Hostile;
import java.util.Arrays;

/** Data files from anywhere, as a closer measures them. */
final class DataFileEndFuzzTest {
  private static final DataFile SAMPLE = DataFile.sample();
  private static final byte[] GOOD = SAMPLE.bytes();

  /** The end is one of a batch, and what the lock says is what stood there. */
  @FuzzTest
  void altered(byte[] data) {
    byte[] bad = new Edits(data).of(GOOD);
    LockedFile found = measure(bad);
    if (found.validLength() > 0) {
      assertTrue(SAMPLE.ends().contains((int) found.validLength()), found.toString());
      LockedFile good = measure(Arrays.copyOf(GOOD, (int) found.validLength()));
      assertEquals(good.messages(), found.messages());
      assertEquals(good.first(), found.first());
      assertEquals(good.last(), found.last());
      assertEquals(good.digest(), found.digest());
      assertArrayEquals(
          Arrays.copyOfRange(bad, (int) found.copyOffset(), (int) found.validLength()),
          found.copy());
    }
  }

  @FuzzTest
  void forged(byte[] data) {
    byte[] bad = DataFile.forged(data);
    assertTrue(measure(bad).validLength() <= bad.length);
  }

  private static LockedFile measure(byte[] file) {
    return Hostile.parse(file.length, () -> DataFile.measured(file)).orElseThrow();
  }
}
