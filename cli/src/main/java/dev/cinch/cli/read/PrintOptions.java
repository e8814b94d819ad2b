package dev.cinch.cli.read;

import dev.cinch.bag.model.LogName;
import dev.cinch.bag.read.MessageSink;
import dev.cinch.cli.base.MessageJson;
import dev.cinch.cli.base.Misuse;
import dev.cinch.cli.base.Output;
import java.io.IOException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
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
      description =
          "raw: the payload and a newline, which is the default; json: as --json; csv: a header, and"
              + " a line for each message, quoted as RFC 4180 says.")
  @Nullable Format format;

  /** What {@code --format} may be. */
  enum Format {
    RAW,
    JSON,
    CSV
  }

  /** Refuses a command line that asks for two. */
  public void check() {
    if (json && format != null && format != Format.JSON) {
      throw new Misuse("--json is --format json; leave it or the other --format out");
    }
  }

  public boolean asJson() {
    return json || format == Format.JSON;
  }

  /**
   * Prints messages so.
   *
   * @param log tells the log of each
   * @param several whether there are others
   */
  MessageSink sink(Output out, Supplier<LogName> log, boolean several) throws IOException {
    if (!asJson() && format == Format.CSV) {
      return new MessageCsv(out, log);
    }
    return asJson()
        ? new MessageJson(out, several ? log : null)
        : message -> {
          message.writeTo(out);
          out.write('\n');
          return true;
        };
  }
}
