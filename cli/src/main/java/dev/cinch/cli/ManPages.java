package dev.cinch.cli;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import picocli.AutoComplete;
import picocli.CommandLine;
import picocli.CommandLine.Help;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;

/**
 * Writes a manual page of each command, and the completion script; run by the build of a release. A
 * page says what the command's help does.
 */
public final class ManPages {
  private final StringBuilder page = new StringBuilder();

  private ManPages() {}

  /** Arguments: the directory of the pages, and the file of the script. */
  public static void main(String[] args) throws IOException {
    CommandLine all = Commands.all(Io.ofProcess());
    Path directory = Files.createDirectories(Path.of(args[0]));
    for (Map.Entry<String, String> page : all(all).entrySet()) {
      Files.writeString(directory.resolve(page.getKey()), page.getValue());
    }
    Path script = Path.of(args[1]);
    Files.createDirectories(script.toAbsolutePath().getParent());
    Files.write(script, AutoComplete.bash("cinch", all).getBytes(StandardCharsets.UTF_8));
  }

  /** The pages of a command and all below it, by file name. */
  static Map<String, String> all(CommandLine line) {
    var pages = new java.util.TreeMap<String, String>();
    pages.put(name(line.getCommandSpec()) + ".1", new ManPages().of(line.getCommandSpec()));
    for (CommandLine sub : shown(line.getCommandSpec())) {
      pages.putAll(all(sub));
    }
    return pages;
  }

  private static List<CommandLine> shown(CommandSpec command) {
    return command.subcommands().values().stream()
        .filter(sub -> !sub.getCommandSpec().usageMessage().hidden())
        .toList();
  }

  private static String name(CommandSpec command) {
    return command.qualifiedName("-");
  }

  private String of(CommandSpec command) {
    String title = name(command);
    line(
        ".TH "
            + title.toUpperCase(java.util.Locale.ROOT)
            + " 1 \"\" \""
            + Main.versionLine()
            + "\" Cinch");
    line(".nh").line(".ad l");
    section("NAME").text(title + " - " + lowerFirst(command.usageMessage().header()[0]));
    section("SYNOPSIS");
    command.usageMessage().width(78).autoWidth(false);
    line(".nf");
    for (String row :
        new Help(command, Help.defaultColorScheme(Help.Ansi.OFF)).synopsis(0).split("\\R")) {
      text(row);
    }
    line(".fi");
    section("DESCRIPTION").paragraphs(command.usageMessage().description());
    List<PositionalParamSpec> parameters =
        command.positionalParameters().stream().filter(p -> !p.hidden()).toList();
    if (!parameters.isEmpty()) {
      section("PARAMETERS");
      parameters.forEach(p -> item(p.paramLabel(), String.join(" ", p.description())));
    }
    options("OPTIONS", Usage.own(command));
    options("COMMON OPTIONS", Usage.common(command));
    if (!shown(command).isEmpty()) {
      section("COMMANDS");
      for (CommandLine sub : shown(command)) {
        item(name(sub.getCommandSpec()) + "(1)", sub.getCommandSpec().usageMessage().header()[0]);
      }
    }
    section("EXIT STATUS");
    command.usageMessage().exitCodeList().forEach(this::item);
    section("ENVIRONMENT");
    Commands.VARIABLES.entrySet().stream()
        .sorted(Map.Entry.comparingByKey())
        .forEach(v -> item(v.getValue(), "Stands for " + v.getKey() + "."));
    item("JAVA_HOME", "Which Java runs it.");
    item("CINCH_JAVA_OPTS", "More options for Java.");
    footer(command.usageMessage().footer());
    if (command.parent() != null) {
      section("SEE ALSO").text(name(command.parent()) + "(1)");
    }
    return page.toString();
  }

  private void options(String heading, List<OptionSpec> options) {
    if (!options.isEmpty()) {
      section(heading);
      for (OptionSpec option : options) {
        item(String.join(", ", option.names()) + label(option), Usage.description(option));
      }
    }
  }

  private static String label(ArgSpec arg) {
    return arg.arity().max() == 0 ? "" : "=" + arg.paramLabel();
  }

  /** Prose, then examples, each line of which stands alone. */
  private void footer(String[] lines) {
    var prose = new ArrayList<String>();
    boolean examples = false;
    for (String one : lines) {
      if (one.startsWith("Example")) {
        section("EXAMPLES");
        line(".nf");
        examples = true;
      } else if (examples) {
        text(one.strip());
      } else {
        prose.add(one);
      }
    }
    if (examples) {
      line(".fi");
    }
    if (prose.stream().anyMatch(p -> !p.isBlank())) {
      section("NOTES").paragraphs(prose.toArray(String[]::new));
    }
  }

  private ManPages section(String heading) {
    return line(".SH " + heading);
  }

  private void paragraphs(String[] paragraphs) {
    for (String paragraph : paragraphs) {
      if (!paragraph.isBlank()) {
        line(".PP").text(paragraph);
      }
    }
  }

  private void item(String label, String description) {
    line(".TP").line("\\fB" + escaped(label) + "\\fR").text(description);
  }

  private ManPages text(String text) {
    String escaped = escaped(text);
    // A dot or a quote at the beginning of a line would be a request.
    return line(escaped.startsWith(".") || escaped.startsWith("'") ? "\\&" + escaped : escaped);
  }

  private ManPages line(String line) {
    page.append(line).append('\n');
    return this;
  }

  private static String escaped(String text) {
    return text.replace("\\", "\\e").replace("-", "\\-").replace("\n", " ");
  }

  private static String lowerFirst(String text) {
    return text.substring(0, 1).toLowerCase(java.util.Locale.ROOT) + text.substring(1);
  }
}
