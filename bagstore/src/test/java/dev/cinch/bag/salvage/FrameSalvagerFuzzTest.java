package dev.cinch.bag.salvage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.cinch.bag.bench.DataFileBytes;
import dev.cinch.bag.fuzz.DataFile;
import dev.cinch.fuzz.Edits;
import dev.cinch.fuzz.Hostile;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Data files from anywhere, as salvage looks for what is whole in them. */
final class FrameSalvagerFuzzTest {
  private static final DataFile SAMPLE = DataFile.sample();
  private static final byte[] GOOD = SAMPLE.bytes();

  private static final SalvageSink SINK =
      new SalvageSink() {
        @Override
        public void message(Salvaged message) {}

        @Override
        public void left(Kind kind, Path path, long offset, long length, String why) {
          assertTrue(offset >= 0 && length >= 0, offset + " " + length);
        }
      };

  /** Whatever comes out is a message of the file, at its place. */
  @FuzzTest
  void altered(byte[] data) {
    List<String> found = salvage(new Edits(data).of(GOOD));
    assertEquals(SAMPLE.messages().stream().filter(found::contains).toList(), found);
  }

  @FuzzTest
  void forged(byte[] data) {
    List<String> found = salvage(DataFile.forged(data));
    assertTrue(found.size() <= data.length);
  }

  private static List<String> salvage(byte[] file) {
    return Hostile.parse(file.length, DataFile.WINDOWS, () -> messages(file)).orElseThrow();
  }

  private static List<String> messages(byte[] file) throws IOException {
    var found = new ArrayList<String>();
    try (var salvager =
        new FrameSalvager(
            Path.of("file"),
            DataFile.HEADER.name(),
            DataFileBytes.open(file),
            () -> DataFileBytes.open(file),
            1 << 18,
            DataFile.HEADER.length(),
            file.length,
            true,
            Salvaged.State.SETTLED,
            SINK)) {
      for (Salvaged m = salvager.next(); m != null; m = salvager.next()) {
        found.add(DataFile.line(m.position(), m.timestamp(), m.payload()));
      }
    }
    return found;
  }
}
