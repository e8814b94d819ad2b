package dev.cinch.bag.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What logs and machines may be called. */
class NamesTest {
  @ParameterizedTest
  @ValueSource(strings = {"a", "0", "tmp", "tmpfs", "jobs.2026_11-22", "my-tmp-log"})
  void areTaken(String name) {
    assertEquals(name, new LogName(name).value());
    assertEquals(name, new MachineName(name).value());
  }

  /** A log tmp-… would be in no listing, and closers remove files tmp-… */
  @ParameterizedTest
  @ValueSource(strings = {"", "-a", "A", "a/b", "tmp-", "tmp-vm", "tmp-0"})
  void areRefused(String name) {
    assertThrows(IllegalArgumentException.class, () -> new LogName(name));
    assertThrows(IllegalArgumentException.class, () -> new MachineName(name));
  }

  @Test
  void noDataFileIsATemporaryOne() {
    String incarnation = "0123456789abcdef0123456789abcdef";
    assertEquals(Optional.empty(), DataFileName.parse("tmp-vm-" + incarnation + ".log"));
    assertEquals(Optional.empty(), DataFileName.parse("tmp-" + incarnation + ".log"));
    String name = "vm-" + incarnation + ".log";
    assertEquals(name, DataFileName.parse(name).orElseThrow().toString());
  }
}
