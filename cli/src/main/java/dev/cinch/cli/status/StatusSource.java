package dev.cinch.cli.status;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.cinch.bag.Store;
import dev.cinch.bag.StoreSurvey;
import dev.cinch.bag.model.Name;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.StoreOptions;
import dev.cinch.lease.client.Credentials;
import dev.cinch.lease.time.TimeSource;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;

/**
 * What {@code cinch status --json} prints, for the lease server to tell. Opens the store anew: what
 * it looks at must not be in the way of leases. Not thread-safe.
 */
public final class StatusSource implements Callable<String> {
  /** More are left out: somebody looks at them. */
  private static final int MOST_LOGS = 1_000;

  private final Name root;
  private final TimeSource time;
  private final Credentials credentials;
  private final boolean asksServers;
  private StoreReport.@Nullable Looker looker;

  /**
   * @param credentials for lease servers of the store
   * @param asksServers whether these are asked; without a way to know their certificates they can't
   *     be
   */
  public StatusSource(Name root, TimeSource time, Credentials credentials, boolean asksServers) {
    this.root = root;
    this.time = time;
    this.credentials = credentials;
    this.asksServers = asksServers;
  }

  /**
   * @throws IOException whose message is one line for people
   */
  @Override
  public String call() throws IOException {
    try {
      if (looker == null) {
        Store store = Objects.requireNonNull(StoreOptions.open(root, time));
        looker = new StoreReport.Looker(store, credentials, StoreSurvey.LATE);
      }
      var bytes = new ByteArrayOutputStream();
      try (var out = new Output(bytes)) {
        StoreReport report = looker.look(List.of(), asksServers, null);
        StatusPrinter.json(report, MOST_LOGS, out);
      }
      return bytes.toString(UTF_8);
    } catch (IOException e) {
      throw new IOException(Failure.of(e).line(), e);
    }
  }
}
