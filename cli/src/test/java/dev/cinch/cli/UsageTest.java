package dev.cinch.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.cli.base.Io;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/** The manners of the command line, which hold for commands that are still to come, too. */
class UsageTest {
  @TempDir Path temp;

  /** One command, and what its help says. */
  private record Shown(String name, CommandSpec spec, String help) {}

  private static List<Shown> all() {
    var all = new ArrayList<Shown>();
    walk(Commands.all(Io.ofProcess()), List.of(), all);
    assertTrue(all.size() > 15, all.toString());
    return all;
  }

  private static void walk(CommandLine line, List<String> path, List<Shown> all) {
    var args = new ArrayList<>(path);
    args.add("--help");
    String help = new Cinch().run(args.toArray(String[]::new)).ended(0).out();
    CommandSpec spec = line.getCommandSpec();
    all.add(new Shown(spec.qualifiedName(), spec, help));
    line.getSubcommands()
        .forEach(
            (name, sub) -> {
              var deeper = new ArrayList<>(path);
              deeper.add(name);
              walk(sub, deeper, all);
            });
  }

  private static String flat(String text) {
    return text.replaceAll("\\s+", " ");
  }

  @Test
  void everyCommandAndOptionSaysWhatItIsFor() {
    for (Shown one : all()) {
      String summary = one.spec().usageMessage().description()[0];
      assertTrue(summary.matches("[A-Z].{10,130}\\."), one.name() + ": " + summary);
      for (OptionSpec option : one.spec().options()) {
        if (!option.hidden()) {
          String text = String.join(" ", option.description());
          assertTrue(text.matches("(?s)\\S.{3,}[.\\])]"), one.name() + " " + option.longestName());
          assertTrue(option.negatable() || one.help().contains(option.longestName()), one.help());
        }
      }
      for (var parameter : one.spec().positionalParameters()) {
        assertTrue(
            parameter.hidden() || String.join("", parameter.description()).length() > 3,
            one.name() + " " + parameter.paramLabel());
      }
      assertTrue(one.help().startsWith("Usage: cinch"), one.help());
      assertTrue(one.help().contains("\nExample"), one.help());
      for (String code : List.of("0", "1", "2", "3", "4", "143")) {
        assertTrue(
            one.help().matches("(?s).*\n  " + code + " +\\S.*") || one.name().endsWith("run"),
            one.help());
      }
    }
    String help = new Cinch().run("append", "--help").ended(0).out();
    assertTrue(flat(help).contains("forces nothing on a local filesystem. Default: sync"), help);
  }

  @Test
  void helpOfACommandAndTheVersionAreCommandsToo() {
    for (List<String> path : List.of(List.of("append"), List.of("lease", "acquire"))) {
      var asked = new ArrayList<>(List.of("help"));
      asked.addAll(path);
      var option = new ArrayList<>(path);
      option.add("--help");
      assertEquals(
          new Cinch().run(option.toArray(String[]::new)).ended(0).out(),
          new Cinch().run(asked.toArray(String[]::new)).ended(0).out());
    }
    assertEquals(new Cinch().run("--help").out(), new Cinch().run("help").ended(0).out());
    assertEquals(new Cinch().run("--version").out(), new Cinch().run("version").ended(0).out());
  }

  /** They would only be asked about. */
  @Test
  void whatServesDemonstrationsIsHidden() {
    for (Shown one : all()) {
      assertFalse(one.help().contains("--clock-offset"), one.name());
      assertFalse(one.help().contains("--clock-rate"), one.name());
      for (OptionSpec option : one.spec().options()) {
        String text = String.join(" ", option.description());
        assertTrue(
            option.hidden() || !text.matches("(?is).*demonstration.*|.*\\btests?\\b.*"),
            one.name() + " " + option.longestName());
      }
    }
  }
}
