package dev.cinch.cli.store;

import dev.cinch.bag.close.OpinionNeededException;
import dev.cinch.bag.model.LogName;
import dev.cinch.cli.base.Failure;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.http.ShardRouter;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What somebody else says the time is (section 5), for one round over all logs: asked for once, and
 * only if a log needs it, so that a lease service that is down or slow stops nobody. Not
 * thread-safe.
 */
final class ThirdOpinion {
  private static final int NAMED = 3;

  private final @Nullable ShardRouter client;
  private final @Nullable LongSupplier operator;
  private final List<LogName> without = new ArrayList<>();
  private OptionalLong answer = OptionalLong.empty();
  private @Nullable LeaseUnavailableException unavailable;
  private @Nullable OpinionNeededException first;

  /**
   * @param client the lease service, if one is named
   * @param operator the time that an operator has vouched for, if one has
   */
  ThirdOpinion(@Nullable ShardRouter client, @Nullable LongSupplier operator) {
    this.client = client;
    this.operator = operator;
  }

  /** Nanoseconds since the Unix epoch; empty if there is nobody to ask, or no answer. */
  OptionalLong get() {
    if (answer.isEmpty() && unavailable == null) {
      if (client != null) {
        try {
          answer = OptionalLong.of(client.now());
        } catch (LeaseUnavailableException e) {
          unavailable = e;
        }
      } else if (operator != null) {
        answer = OptionalLong.of(operator.getAsLong());
      }
    }
    return answer;
  }

  /** A log was settled as far as it can be without. */
  void missed(LogName log, OpinionNeededException e) {
    without.add(log);
    if (first == null) {
      first = e;
    }
  }

  /** Throws what there is to say about all logs that missed it, if there are any. */
  void complain() throws IOException, LeaseUnavailableException {
    if (without.isEmpty() || first == null) {
      return;
    }
    if (unavailable != null) {
      throw unavailable;
    }
    String hint = answer.isEmpty() ? " (--server or --trust-clock)" : "";
    throw new Failure.Refusal(names() + ": " + first.getMessage() + hint);
  }

  private String names() {
    String some =
        without.stream().limit(NAMED).map(LogName::value).collect(Collectors.joining(", "));
    int more = without.size() - NAMED;
    return more <= 0 ? some : some + " and " + more + " more";
  }
}
