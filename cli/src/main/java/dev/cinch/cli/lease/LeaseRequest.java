package dev.cinch.cli.lease;

import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.Misuse;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.ServerOptions;
import dev.cinch.lease.JsonTree.Escapes;
import dev.cinch.lease.LeaseUnavailableException;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Asks a lease service something and prints what it answers. */
@SuppressWarnings("NullAway.Init") // picocli sets the fields
abstract class LeaseRequest implements Callable<Integer> {
  static final JsonMapper JSON =
      JsonMapper.builder(new JsonFactoryBuilder().characterEscapes(Escapes.INSTANCE).build())
          .build();

  final Io io;

  @Mixin ServerOptions server;

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
  int answer(LeaseClient client, Printer printer) throws Exception {
    ask(client, printer);
    return ExitCode.GOOD;
  }

  abstract void ask(LeaseClient client, Printer printer) throws Exception;

  /** See {@link Output#ifClosed}: that nobody reads an answer matters unless it changes nothing. */
  int ifClosed() {
    return ExitCode.UNAVAILABLE;
  }

  @Override
  public final Integer call() throws Exception {
    var client = new LeaseClient(server.required(), server.credentials.get());
    try (Output out = io.output()) {
      out.ifClosed(ifClosed());
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
    private static final Duration USUAL = Duration.ofSeconds(30);

    @Option(
        names = "--for",
        paramLabel = "DURATION",
        description = "How long, from now; 30s unless set, or as long as is allowed.")
    @Nullable Duration duration;

    /** The duration, at least 1 ms; what the service allows at most it says. */
    Duration of(LeaseClient client) throws LeaseUnavailableException {
      Duration given = duration;
      if (given == null) {
        given = client.usual(USUAL);
        duration = given; // it is asked once
      }
      if (given.toMillis() < 1) {
        throw new Misuse("--for is at least 1ms");
      }
      return given;
    }
  }
}
