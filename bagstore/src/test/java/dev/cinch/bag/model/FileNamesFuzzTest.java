package dev.cinch.bag.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.cinch.fuzz.Hostile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** File names from anywhere: one that means something is the one name of what it means. */
final class FileNamesFuzzTest {
  private static final LogLayout LAYOUT =
      new LogLayout(Name.of(Path.of("log")), new LogName("log"));
  private static final long MILLI = 1_000_000;

  @FuzzTest
  void parse(byte[] data) {
    String text = new String(data, StandardCharsets.UTF_8);
    int n = data.length;
    Hostile.parse(n, () -> TimeName.parse(text))
        .orElseThrow()
        .ifPresent(time -> assertEquals(text, TimeName.of(time)));
    Hostile.parse(n, () -> Numbered.parse(text))
        .orElseThrow()
        .ifPresent(number -> assertEquals(text, Numbered.name(number)));
    Hostile.parse(n, () -> DataFileName.parse(text))
        .orElseThrow()
        .ifPresent(
            name -> {
              assertEquals(text, name.toString());
              assertTrue(LogLayout.isDataFile(text) || Name.isTemporary(text), text);
            });
    Hostile.parse(n, () -> LogLayout.intentReach(text))
        .orElseThrow()
        .ifPresent(
            reach -> assertTrue(reach == Long.MAX_VALUE || Math.floorMod(reach, MILLI) == 0, text));
    Hostile.parse(n, () -> LogLayout.recordGroupNumber(text))
        .orElseThrow()
        .ifPresent(group -> assertTrue(LAYOUT.recordGroup(group).last().equals(text)));
    Hostile.parse(n, () -> new LogName(text), IllegalArgumentException.class)
        .ifPresent(name -> assertEquals(Path.of(text).getFileName(), Path.of(name.value())));
    Hostile.parse(n, () -> new MachineName(text), IllegalArgumentException.class)
        .ifPresent(name -> assertEquals(text, name.toString()));
  }
}
