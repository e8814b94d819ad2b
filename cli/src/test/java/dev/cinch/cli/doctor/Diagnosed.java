package dev.cinch.cli.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.cli.base.JsonOption;
import dev.cinch.cli.base.Output;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** The lines that probes print. */
final class Diagnosed {
  private final ByteArrayOutputStream out = new ByteArrayOutputStream();

  /** Where they are printed to. */
  final Diagnosis diagnosis = new Diagnosis(new Output(out), new JsonOption());

  List<String> lines() {
    return out.toString(StandardCharsets.UTF_8).lines().toList();
  }

  /** Asserts that there is exactly one line that begins so, and that it has the text. */
  void has(String start, String text) {
    List<String> found = lines().stream().filter(l -> l.startsWith(start)).toList();
    assertEquals(1, found.size(), () -> "one line of \"" + start + "\" in " + lines());
    assertTrue(found.get(0).contains(text), () -> "\"" + text + "\" in " + found);
  }

  /** Asserts that no line begins so. */
  void hasNone(String start) {
    assertTrue(lines().stream().noneMatch(l -> l.startsWith(start)), () -> lines().toString());
  }
}
