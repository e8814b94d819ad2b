package dev.cinch.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class NearestTest {
  private static final List<String> NAMES = List.of("append", "audit", "cat", "close", "--log");

  @Test
  void aSlipIsFound() {
    for (String slip : List.of("appedn", "apend", "appendd", "sppend", "aappnd")) {
      assertEquals(Optional.of("append"), Nearest.to(slip, NAMES), slip);
    }
    assertEquals(Optional.of("--log"), Nearest.to("--lgo", NAMES));
    assertEquals(Optional.of("cat"), Nearest.to("cta", NAMES));
  }

  @Test
  void anotherWordIsNotTakenForOne() {
    for (String word : List.of("", "x", "dog", "pend", "opened", "nonsense")) {
      assertEquals(Optional.empty(), Nearest.to(word, NAMES), word);
    }
  }

  @Test
  void distancesCountSlips() {
    assertEquals(0, Nearest.distance("jobs", "jobs"));
    assertEquals(1, Nearest.distance("jobs", "jbos"));
    assertEquals(4, Nearest.distance("", "jobs"));
    assertEquals(3, Nearest.distance("kitten", "sitting"));
  }
}
