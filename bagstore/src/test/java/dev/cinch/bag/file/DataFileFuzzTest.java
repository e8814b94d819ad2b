package dev.cinch.bag.file;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.cinch.bag.file.DataFileCursor.OnDamage;
import dev.cinch.bag.fuzz.DataFile;
import dev.cinch.fuzz.Edits;
import dev.cinch.fuzz.Hostile;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Data files from anywhere, through the cursor that closers and live readers use. */
final class DataFileFuzzTest {
  private static final DataFile SAMPLE = DataFile.sample();
  private static final byte[] GOOD = SAMPLE.bytes();

  /**
   * Of a file that was altered, a live reader gives the first messages as they were. A closer has
   * some of them, each as it was, and says how many it misses before the last one.
   */
  @FuzzTest
  void altered(byte[] data) throws IOException {
    byte[] bad = new Edits(data).of(GOOD);
    var open = new ArrayList<String>();
    DataFileExtent unused = read(bad, OnDamage.END, open);
    assertEquals(SAMPLE.messages().subList(0, open.size()), open);

    var closed = new ArrayList<String>();
    DataFileExtent extent = read(bad, OnDamage.GO_ON, closed);
    assertTrue(SAMPLE.messages().containsAll(closed), closed.toString());
    assertEquals(closed.size(), extent.messages());
    if (!closed.isEmpty()) {
      long missing = extent.holes().stream().mapToLong(h -> Math.max(0, h.messages())).sum();
      String last = SAMPLE.messages().get((int) (closed.size() + missing) - 1);
      assertEquals(last, closed.get(closed.size() - 1));
    }
    assertTrue(extent.validLength() == 0 || SAMPLE.ends().contains((int) extent.validLength()));

    var salvaged = new ArrayList<String>();
    DataFileExtent unread = read(bad, OnDamage.SALVAGE, salvaged);
    assertTrue(salvaged.containsAll(closed), salvaged.toString());
    assertEquals(SAMPLE.messages().stream().filter(salvaged::contains).toList(), salvaged);
  }

  /** Behind right checksums anything may stand. */
  @FuzzTest
  void forged(byte[] data) throws IOException {
    byte[] bad = DataFile.forged(data);
    var open = new ArrayList<String>();
    var closed = new ArrayList<String>();
    DataFileExtent live = read(bad, OnDamage.END, open);
    DataFileExtent extent = read(bad, OnDamage.GO_ON, closed);
    assertEquals(open, closed.subList(0, open.size()));
    assertTrue(live.validLength() <= extent.validLength() && extent.validLength() <= bad.length);
    var again = new ArrayList<String>(); // as it is merged, of what was measured
    try (var cursor = DataFile.cursor(bad, extent)) {
      while (cursor.next()) {
        again.add(DataFile.line(cursor.position(), cursor.timestamp(), cursor.payload()));
      }
    }
    assertEquals(closed, again);
  }

  private static DataFileExtent read(byte[] file, OnDamage onDamage, List<String> messages) {
    return Hostile.parse(
            file.length,
            DataFile.WINDOWS,
            () -> {
              messages.clear();
              try (var cursor = DataFile.cursor(file, onDamage)) {
                while (cursor.next()) {
                  messages.add(
                      DataFile.line(cursor.position(), cursor.timestamp(), cursor.payload()));
                  assertTrue(cursor.leases().size() <= cursor.signedLeases().size());
                }
                return cursor.extent();
              }
            })
        .orElseThrow();
  }
}
