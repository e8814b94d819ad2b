package dev.cinch.cli.read;

import dev.cinch.bag.read.MessageSink;
import dev.cinch.cli.base.MessageJson;
import dev.cinch.cli.base.Output;
import picocli.CommandLine.Option;

/** How messages are printed. */
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class PrintOptions {
  @Option(
      names = "--json",
      description = "A JSON object a line; without it the payload and a newline.")
  boolean json;

  @Option(
      names = "--format",
      paramLabel = "HOW",
      defaultValue = "raw",
      hidden = true, // what scripts had before --json
      description = "json: as --json.")
  Format format;

  /** What {@code --format} may be. */
  enum Format {
    RAW,
    JSON
  }

  public boolean asJson() {
    return json || format == Format.JSON;
  }

  /** Prints messages so. */
  MessageSink sink(Output out) {
    return asJson()
        ? new MessageJson(out)
        : message -> {
          message.writeTo(out);
          out.write('\n');
          return true;
        };
  }
}
