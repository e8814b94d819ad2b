package dev.cinch.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.cinch.lease.Share;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The models in {@code docs/models}, within small bounds: the protocol holds, and each rule left
 * out goes wrong, or does not, as the model says. A build leaves out each seventh rule, thorough
 * each.
 */
class ModelsTest {
  private static final Path MODELS = Path.of("..", "docs", "models");

  @BeforeEach
  void needPython() throws Exception {
    boolean there;
    try {
      there = new ProcessBuilder("python3", "--version").start().waitFor() == 0;
    } catch (IOException e) {
      there = false;
    }
    assumeTrue(there, "SKIPPED: there is no python3, so the models in docs/models were not run");
  }

  static List<String> models() {
    List<String> all =
        List.of(
            "bag.py",
            "carried_fence.py",
            "expiry.py",
            "new_logs.py",
            "objects.py",
            "removal.py",
            "resume.py",
            "retention.py",
            "shards.py",
            "shared_grant.py",
            "torn_files.py");
    return IntStream.range(0, all.size())
        .filter(i -> i % Share.step(7) == 0)
        .mapToObj(all::get)
        .toList();
  }

  @ParameterizedTest
  @Tag("share")
  @MethodSource("models")
  void holdsAndFailsAsItSays(String model) throws Exception {
    // -B: leaves no compiled files in the sources
    Process run =
        new ProcessBuilder(
                "python3", "-B", model, "--bounds", "small", "--every", "" + Share.step(7))
            .directory(MODELS.toFile())
            .redirectErrorStream(true)
            .start();
    String said = new String(run.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, run.waitFor(), said);
    assertTrue(said.contains("nothing goes wrong") && said.contains("steps: "), said);
  }
}
