package dev.cinch.cli;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Help;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.UsageMessageSpec;

/**
 * How every command's help looks, whatever its annotations say: paragraphs as wide as the terminal,
 * what most commands have in common apart from what is this one's, defaults in parentheses, exit
 * codes.
 */
final class Usage {
  /** In the order in which they are shown. */
  private static final List<String> COMMON =
      List.of("--store", "--machine", "--server", "--verbose", "--debug", "--help", "--version");

  private static final Pattern CLAUSE = Pattern.compile("(?s)[.;:]( .*)?$");

  private static final int WIDEST = 120;
  private static final int NARROWEST = 55; // picocli's own bound

  private Usage() {}

  /** Shapes the help of a command and of all below it. */
  static void shape(CommandLine line, Io io) {
    UsageMessageSpec root = line.getCommandSpec().usageMessage();
    shape(line, root, io.env().apply("COLUMNS"), io.outTerminal());
  }

  private static void shape(
      CommandLine line, UsageMessageSpec root, @Nullable String columns, boolean terminal) {
    UsageMessageSpec message = line.getCommandSpec().usageMessage();
    message.description(paragraphs(List.of(message.description())));
    message.header(summary(message));
    message.sectionMap().put(UsageMessageSpec.SECTION_KEY_HEADER, help -> "");
    message.footer(footer(message.footer()));
    message.parameterListHeading("%nParameters:%n");
    message.commandListHeading("%nCommands:%n");
    message.exitCodeListHeading(root.exitCodeListHeading());
    if (message != root) {
      var codes = new LinkedHashMap<>(root.exitCodeList());
      codes.keySet().removeIf(code -> code.length() > 1); // those of one command
      codes.putAll(message.exitCodeList());
      message.exitCodeList(codes);
    }
    if (columns != null && columns.matches("[0-9]{1,4}")) {
      message.width(Math.max(NARROWEST, Math.min(WIDEST, Integer.parseInt(columns))));
    } else {
      message.autoWidth(terminal);
    }
    message.sortOptions(false);
    message.sectionMap().put(UsageMessageSpec.SECTION_KEY_OPTION_LIST_HEADING, help -> "");
    message.sectionMap().put(UsageMessageSpec.SECTION_KEY_OPTION_LIST, Usage::options);
    for (CommandLine sub : line.getSubcommands().values()) {
      shape(sub, root, columns, terminal);
    }
  }

  /** The first clause of the description, for the list of commands. */
  private static String summary(UsageMessageSpec message) {
    String text = message.description().length == 0 ? "" : message.description()[0];
    return CLAUSE.matcher(text).replaceFirst("");
  }

  /** Prose, then examples, whose lines stay as they are. */
  private static String[] footer(String[] lines) {
    List<String> all = List.of(lines);
    int examples = 0;
    while (examples < all.size() && !all.get(examples).startsWith("Example")) {
      examples++;
    }
    var footer = new ArrayList<>(List.of(paragraphs(all.subList(0, examples))));
    if (footer.isEmpty()) {
      footer.add("");
    }
    footer.addAll(all.subList(examples, all.size()));
    return footer.toArray(String[]::new);
  }

  /** An empty line ends a paragraph; other ends of lines are the source's. */
  private static String[] paragraphs(List<String> lines) {
    var paragraphs = new ArrayList<String>();
    var one = new StringBuilder();
    for (String line : lines) {
      if (line.isEmpty()) {
        if (!one.isEmpty()) {
          paragraphs.add(one.toString());
        }
        paragraphs.add("");
        one.setLength(0);
      } else {
        one.append(one.isEmpty() ? "" : " ").append(line);
      }
    }
    if (!one.isEmpty()) {
      paragraphs.add(one.toString());
    }
    return paragraphs.toArray(String[]::new);
  }

  private static String options(Help help) {
    CommandSpec command = help.commandSpec();
    return list(help, "Options", own(command)) + list(help, "Common options", common(command));
  }

  private static String list(Help help, String heading, List<OptionSpec> options) {
    if (options.isEmpty()) {
      return "";
    }
    Help.TextTable table = help.createDefaultLayout().textTable();
    var layout =
        new Help.Layout(
            help.colorScheme(),
            table,
            (option, labels, scheme) -> {
              Help.Ansi.Text[] row =
                  help.createDefaultOptionRenderer().render(option, labels, scheme)[0];
              row[row.length - 1] = scheme.text(description(option));
              return new Help.Ansi.Text[][] {row};
            },
            help.createDefaultParameterRenderer());
    layout.addAllOptions(options, help.parameterLabelRenderer());
    return System.lineSeparator() + heading + ":" + System.lineSeparator() + layout;
  }

  /** The options that are this command's own, by name. */
  static List<OptionSpec> own(CommandSpec command) {
    return command.options().stream()
        .filter(option -> !option.hidden() && !COMMON.contains(option.longestName()))
        .sorted(Comparator.comparing(OptionSpec::longestName))
        .toList();
  }

  /** The options that most commands have. */
  static List<OptionSpec> common(CommandSpec command) {
    return command.options().stream()
        .filter(option -> !option.hidden() && COMMON.contains(option.longestName()))
        .sorted(Comparator.comparing(option -> COMMON.indexOf(option.longestName())))
        .toList();
  }

  /** What an option is for, and its default. */
  static String description(OptionSpec option) {
    String text = String.join(" ", option.description());
    String shown = defaultOf(option);
    return shown.isEmpty() ? text : text + " (default: " + shown + ")";
  }

  /** The default as it would be given; empty where there is none, or for a switch. */
  private static String defaultOf(OptionSpec option) {
    String value = option.defaultValue();
    Class<?> type = option.type();
    if (value == null || value.isEmpty() || Set.of(boolean.class, Boolean.class).contains(type)) {
      return "";
    }
    return type.isEnum() ? value.toLowerCase(Locale.ROOT) : value;
  }
}
