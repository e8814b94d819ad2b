package dev.cinch.cli.lease;

import dev.cinch.cli.base.Misuse;
import java.time.Duration;
import picocli.CommandLine.Option;

/** How long to wait for leases that others hold, or for a service that is away. */
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class WaitOption {

  @Option(
      names = "--wait",
      paramLabel = "DURATION",
      defaultValue = "0s",
      description =
          "How long to wait in the service's queue while a lease is held, and to try again while"
              + " the service does not grant yet or does not answer. After that the exit code is 3,"
              + " or 4 if it did not answer.")
  public Duration wait;

  /** The duration, which is not negative. */
  public Duration checked() {
    if (wait.isNegative()) {
      throw new Misuse("--wait is not negative");
    }
    return wait;
  }
}
