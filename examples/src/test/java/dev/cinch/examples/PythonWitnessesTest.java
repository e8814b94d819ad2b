package dev.cinch.examples;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import org.junit.jupiter.api.Test;

/** {@code reader.py} takes and refuses the witnesses of docs/vectors as they say. */
final class PythonWitnessesTest {
  private static final String CHECK =
      """
      import json, sys
      sys.path.insert(0, ".")
      import reader
      count = 0
      for line in open("../docs/vectors/witnesses.jsonl"):
          vector = json.loads(line)
          try:
              witness = reader.Witness(bytes.fromhex(vector["signed"]))
              key = bytes.fromhex(vector["key"])
              good = witness.is_signed([key])
          except ValueError:
              good = False
          if good != vector["good"]:
              print(vector["case"], "taken" if good else "refused")
          count += 1
      print(count > 70)
      """;

  @Test
  void eachIsTakenOrRefusedAsItSays() throws IOException, InterruptedException {
    Process python;
    try {
      python = new ProcessBuilder("python3", "-c", CHECK).redirectErrorStream(true).start();
    } catch (IOException e) {
      assumeTrue(false, "SKIPPED: there is no python3, so examples/reader.py was not compared");
      return;
    }
    assertEquals("True\n", new String(python.getInputStream().readAllBytes(), UTF_8));
    assertEquals(0, python.waitFor());
  }
}
