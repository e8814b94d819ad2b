package dev.cinch.cli;

import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.lease.JsonEscapes;
import dev.cinch.lease.http.ShardRouter;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.Callable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Asks a lease service something and prints what it answers. */
@SuppressWarnings("NullAway.Init") // picocli sets the fields
abstract class LeaseRequest implements Callable<Integer> {
  private static final JsonMapper JSON =
      JsonMapper.builder(new JsonFactoryBuilder().characterEscapes(JsonEscapes.INSTANCE).build())
          .build();

  final Io io;

  @Mixin RequiredServer server;

  LeaseRequest(Io io) {
    this.io = io;
  }

  /** Where answers go. */
  interface Printer {
    void line(String text) throws IOException;

    default void print(ObjectNode answer) throws IOException {
      line(JSON.writeValueAsString(answer));
    }
  }

  /**
   * Asks and prints.
   *
   * @return the exit code
   */
  int answer(ShardRouter client, Printer printer) throws Exception {
    ask(client, printer);
    return ExitCode.GOOD;
  }

  abstract void ask(ShardRouter client, Printer printer) throws Exception;

  @Override
  public final Integer call() throws Exception {
    ShardRouter client = server.client();
    try (Output out = io.output()) {
      return answer(client, out::line);
    }
  }

  /** Of commands whose answers are for programs, and hold secrets. */
  static final class AlwaysJson {
    @Option(names = "--json", description = "Print JSON objects, one a line, which is the default.")
    boolean json;
  }

  /** How long leases last. */
  @SuppressWarnings("NullAway.Init")
  static final class ForOption {
    @Option(
        names = "--for",
        paramLabel = "DURATION",
        defaultValue = "30s",
        description = "How long, from now.")
    Duration duration;

    @Spec(Spec.Target.MIXEE)
    CommandSpec command;

    /** The duration in milliseconds, at least one; what the service allows at most it says. */
    long millis() {
      if (duration.toMillis() < 1) {
        throw new ParameterException(command.commandLine(), "--for is at least 1ms");
      }
      return duration.toMillis();
    }
  }
}
