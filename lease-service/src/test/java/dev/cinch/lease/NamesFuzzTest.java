package dev.cinch.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.cinch.fuzz.Hostile;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/** Names of leases and ids from anywhere. */
final class NamesFuzzTest {
  @FuzzTest
  void parse(byte[] data) {
    String text = new String(data, StandardCharsets.UTF_8);
    Hostile.parse(data.length, () -> new LeaseName(text), IllegalArgumentException.class)
        .ifPresent(name -> assertEquals(text, name.toString()));
    Hostile.parse(data.length, () -> Id.parse(text), IllegalArgumentException.class)
        .ifPresent(id -> assertEquals(text.toLowerCase(Locale.ROOT), id.toString()));
  }
}
