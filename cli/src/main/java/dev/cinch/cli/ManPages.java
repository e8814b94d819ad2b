package dev.cinch.cli;

import dev.cinch.cli.base.Io;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.regex.Pattern;
import picocli.CommandLine;

/**
 * Writes a manual page of each command, and the completion script; run by the build of a release. A
 * page is the command's help.
 */
public final class ManPages {
  private static final Pattern HEADING =
      Pattern.compile("(Usage|Parameters|Options|Commands|Exit codes|Examples?):( .*)?");

  private ManPages() {}

  /** Arguments: the directory of the pages, and the file of the script. */
  public static void main(String[] args) throws IOException {
    CommandLine all = Commands.all(Io.ofProcess());
    write(all, Files.createDirectories(Path.of(args[0])));
    Path script = Path.of(args[1]);
    Files.createDirectories(script.toAbsolutePath().getParent());
    Files.writeString(script, CompletionCommand.script(all));
  }

  /** The pages of a command and all below it. */
  private static void write(CommandLine line, Path directory) throws IOException {
    if (!line.getCommandSpec().usageMessage().hidden()) {
      String name = line.getCommandSpec().qualifiedName("-");
      Files.writeString(directory.resolve(name + ".1"), page(name, line));
      for (CommandLine sub : line.getSubcommands().values()) {
        write(sub, directory);
      }
    }
  }

  private static String page(String name, CommandLine line) {
    String[] description = line.getCommandSpec().usageMessage().description();
    var page = new StringBuilder();
    page.append(
        ".TH %s 1 \"\" \"%s\" Cinch\n"
            .formatted(name.toUpperCase(Locale.ROOT), Main.versionLine()));
    page.append(".SH NAME\n").append(escaped(name + " - " + description[0])).append('\n');
    line.getCommandSpec().usageMessage().autoWidth(false).width(72);
    for (String row : line.getUsageMessage(CommandLine.Help.Ansi.OFF).lines().toList()) {
      var heading = HEADING.matcher(row);
      if (heading.matches()) {
        page.append(".SH ").append(heading.group(1).toUpperCase(Locale.ROOT)).append("\n.nf\n");
        row = heading.group(2) == null ? "" : heading.group(2).strip();
      }
      page.append(escaped(row)).append('\n');
    }
    return page.toString();
  }

  /** A dot or a quote at the beginning of a line would be a request. */
  private static String escaped(String text) {
    String escaped = text.replace("\\", "\\e").replace("-", "\\-");
    return escaped.startsWith(".") || escaped.startsWith("'") ? "\\&" + escaped : escaped;
  }
}
