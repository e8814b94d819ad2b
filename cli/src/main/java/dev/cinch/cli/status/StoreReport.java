package dev.cinch.cli.status;

import dev.cinch.bag.Problem;
import dev.cinch.bag.Problem.Kind;
import dev.cinch.bag.Store;
import dev.cinch.bag.StoreStatus;
import dev.cinch.bag.StoreSurvey;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Words;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.status.LeaseServerLook.Found;
import dev.cinch.lease.client.Credentials;
import dev.cinch.lease.client.ServerAddresses;
import dev.cinch.view.Retention;
import dev.cinch.view.RetireBlockedException;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How a store was at one moment, and its lease servers.
 *
 * @param status with what needs somebody, also of gc and of the servers
 * @param server the one that was named, or that of a store without a shard map
 * @param shards the servers of a store with a shard map
 */
record StoreReport(
    Store store, StoreStatus status, Optional<Found> server, Optional<ShardsLook> shards) {

  /** The exit code: damage first, then what can't be had. */
  int code() {
    Kind worst = status.worst().orElse(null);
    if (worst == null) {
      return ExitCode.GOOD;
    }
    return switch (worst) {
      case DAMAGE -> ExitCode.DAMAGE;
      case UNREADABLE -> ExitCode.UNAVAILABLE;
      default -> ExitCode.REFUSED;
    };
  }

  /** Looks again and again. Not thread-safe. */
  static final class Looker {
    private static final Logger LOG = LoggerFactory.getLogger(Looker.class);

    private final Store store;
    private final StoreSurvey survey;
    private final LeaseServerLook servers;

    /**
     * @param credentials shown to lease servers
     * @param late how long past the grace period a bucket may stay open
     */
    Looker(Store store, Credentials credentials, Duration late) {
      this.store = store;
      this.survey = new StoreSurvey(store, late);
      this.servers = new LeaseServerLook(store, credentials);
    }

    /**
     * Looks.
     *
     * @param only these logs; all if empty
     * @param server as the user named it
     */
    StoreReport look(List<LogName> only, boolean askServer, @Nullable ServerAddresses server)
        throws IOException {
      StoreStatus status = survey.look(only);
      var more = new ArrayList<Problem>();
      for (StoreStatus.LogLine line : status.logs()) {
        if (line.status().isPresent()) {
          lookAtRetired(line.name(), more);
        }
      }
      Optional<ShardsLook> shards = askServer ? shards(more) : Optional.empty();
      Optional<Found> found =
          askServer && (server != null || shards.isEmpty())
              ? servers.ask(server)
              : Optional.empty();
      found.ifPresent(f -> more.addAll(f.problems("")));
      return new StoreReport(store, status.with(more), found, shards);
    }

    private Optional<ShardsLook> shards(List<Problem> problems) {
      try {
        Optional<ShardsLook> shards = ShardsLook.ask(store, servers);
        shards.ifPresent(s -> problems.addAll(s.problems()));
        return shards;
      } catch (IOException e) {
        problems.add(Problem.of(e, Kind.SERVER, Optional.empty()));
        return Optional.empty();
      }
    }

    /** What gc can't remove. */
    private void lookAtRetired(LogName name, List<Problem> problems) {
      try {
        Optional<RetireBlockedException> blocked =
            new Retention(store.log(name), Duration.ZERO).blocked();
        if (blocked.isPresent()) {
          RetireBlockedException.Kept first = blocked.get().kept().get(0);
          long others = blocked.get().kept().size() - 1 + blocked.get().others();
          String more = others == 0 ? "" : ", and " + Words.count(others) + " more";
          String why = "gc was to delete what is still there: " + Failure.line(first) + more;
          problems.add(new Problem(Kind.GC, name, why));
        }
      } catch (IOException e) {
        LOG.debug("{}: what is retired could not be looked at", name, e); // verify and gc tell
      }
    }
  }
}
