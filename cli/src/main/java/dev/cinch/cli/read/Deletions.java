package dev.cinch.cli.read;

import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Name;
import dev.cinch.cli.base.JsonOption;
import dev.cinch.cli.base.Output;
import java.io.IOException;
import java.util.List;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Whether what is due is deleted or only told, and how that is printed. */
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class Deletions {
  @Option(names = "--dry-run", description = "Print what would be deleted, and delete nothing.")
  public boolean dryRun;

  @Mixin JsonOption json;

  /** Prints what would go. */
  public void names(Output out, List<Name> names) throws IOException {
    for (Name name : names) {
      json.print(
          out, "would delete " + name, line -> line.text("type", "path").text("path", name.text()));
    }
  }

  /**
   * Prints how much of a log went, or would go.
   *
   * @param type of the JSON object
   * @param what for people: numbers of things
   * @param fields the same, of the JSON object
   */
  public void print(Output out, LogName log, String type, String what, JsonOption.Fields fields)
      throws IOException {
    json.print(
        out,
        log + (dryRun ? ": would delete " : ": deleted ") + what,
        line ->
            fields.write(
                line.text("type", type).text("log", log.toString()).flag("dryRun", dryRun)));
  }
}
