package dev.cinch.cli.serve;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.Forked;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The examples of docs/lease-api.md, pasted into a shell one after the other beside a real server:
 * each does what the page says that it does.
 */
@Timeout(600)
class LeaseApiPageTest {
  private static final Path PAGE = Path.of("..", "docs", "lease-api.md");
  private static final ObjectMapper JSON = new ObjectMapper();

  /** What differs from one run to the next, and is compared by its kind alone. */
  private static final Set<String> DRAWN =
      Set.of("correlation", "previous", "publicKey", "store", "by");

  private static final String END = "-- that was it --";

  @TempDir Path temp;

  /** A command of the page, and what the page says that it prints; nothing if it says nothing. */
  private record Example(String command, String printed) {}

  /** A shell that goes on, as a reader's does. */
  private static final class Shell implements AutoCloseable {
    private final Process process;
    private final BufferedReader out;

    Shell(Path directory) throws IOException {
      process =
          new ProcessBuilder("bash")
              .directory(directory.toFile())
              .redirectError(ProcessBuilder.Redirect.INHERIT)
              .start();
      out = process.inputReader(UTF_8);
    }

    String run(String command) throws IOException {
      OutputStream in = process.getOutputStream();
      in.write((command + "\necho; echo '" + END + "'\n").getBytes(UTF_8));
      in.flush();
      var printed = new StringBuilder();
      for (String line = out.readLine(); !END.equals(line); line = out.readLine()) {
        if (line == null) {
          throw new IOException("the shell ended: " + printed);
        }
        printed.append(line).append('\n');
      }
      return printed.toString().strip();
    }

    @Override
    public void close() {
      process.destroyForcibly();
    }
  }

  private static List<Example> examples() throws IOException {
    var found = new ArrayList<Example>();
    boolean inside = false;
    for (String line : Files.readAllLines(PAGE)) {
      if (line.startsWith("```")) {
        inside = !inside;
      } else if (inside && line.startsWith("$ ")) {
        found.add(new Example(line.substring(2), ""));
      } else if (inside && !line.isBlank()) {
        Example last = found.remove(found.size() - 1);
        found.add(new Example(last.command(), (last.printed() + "\n" + line).strip()));
      }
    }
    return found;
  }

  @Test
  void everyExampleDoesWhatThePageSays() throws Exception {
    assumeTrue(Files.isExecutable(Path.of("/usr/bin/curl")), "no curl here");
    Path store = Cinch.store(temp);
    List<Example> all = examples();
    assertTrue(all.size() > 20, all.size() + " examples");
    Forked server = Forked.serve(temp, store);
    try (var shell = new Shell(temp)) {
      shell.run(
          "B="
              + server.listening()
              + " J=Content-Type:application/json ID=5f0c1d2e3a4b59687786a5b4c3d2e1f0");
      String made = server.line();
      shell.run("TOKEN=$(cat '" + made.substring(made.indexOf('/')) + "')");
      for (Example example : all) {
        if (example.command().endsWith("# after a restart")) {
          server.close();
          server = Forked.serve(temp, store);
          shell.run("B=" + server.listening());
        }
        check(example, shell.run(example.command()));
      }
    } finally {
      server.close();
    }
  }

  private static void check(Example example, String printed) throws IOException {
    String what = example.command() + "\n" + printed;
    if (example.printed().isEmpty()) {
      assertTrue(printed.isEmpty() || !JSON.readTree(printed).has("error"), what);
    } else if (example.printed().contains("…")) {
      int from = 0;
      String text = alike(printed);
      for (String part : example.printed().split("…")) {
        int at = text.indexOf(alike(part), from);
        assertTrue(at >= 0, () -> "\"" + part + "\" in: " + what);
        from = at + alike(part).length();
      }
    } else {
      assertEquals(
          alike(shape(JSON.readTree(example.printed())).toString()),
          alike(shape(JSON.readTree(printed)).toString()),
          what);
    }
  }

  /** Numbers are alike, and so are times with and without a date. */
  private static String alike(String text) {
    return text.replace(" ", "").replaceAll("[0-9]+", "0").replace("at0-0-00:0:0UTC", "at0:0:0UTC");
  }

  private static JsonNode shape(JsonNode node) {
    for (JsonNode child : node) {
      JsonNode unused = shape(child);
    }
    if (node instanceof ObjectNode object) {
      for (String field : DRAWN) {
        if (object.has(field)) {
          object.put(field, "drawn");
        }
      }
      if (object.get("witnesses") instanceof ArrayNode signed) {
        object.put("witnesses", signed.size());
      }
    }
    return node;
  }
}
