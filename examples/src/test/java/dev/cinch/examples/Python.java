package dev.cinch.examples;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;

/** Runs {@code reader.py}; skips the test where there is no Python. */
final class Python {
  private static final String PAYLOAD = "\"payload\": \"";

  private Python() {}

  /** What a run printed. */
  record Run(int exit, List<String> out, String err) {
    /** The payloads, in order. */
    List<byte[]> messages() {
      return out.stream()
          .map(line -> line.substring(line.indexOf(PAYLOAD) + PAYLOAD.length()))
          .map(rest -> Base64.getDecoder().decode(rest.substring(0, rest.indexOf('"'))))
          .toList();
    }
  }

  /**
   * Reads a log's settled messages.
   *
   * @param temp where its output may stand
   */
  static Run read(Path temp, Path store, String log) throws Exception {
    Path out = temp.resolve("python.out");
    Path err = temp.resolve("python.err");
    Process process;
    try {
      process =
          new ProcessBuilder("python3", "reader.py", store.toString(), log, "--json")
              .redirectOutput(out.toFile())
              .redirectError(err.toFile())
              .start();
    } catch (IOException e) {
      assumeTrue(false, "SKIPPED: there is no python3, so examples/reader.py was not compared");
      throw e;
    }
    int exit = process.waitFor();
    return new Run(exit, Files.readAllLines(out), Files.readString(err));
  }
}
