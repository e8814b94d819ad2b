package dev.cinch.lease.client;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.client.Endpoints.Request;
import dev.cinch.lease.client.Endpoints.Sent;
import dev.cinch.lease.wire.LeaseDocuments;
import dev.cinch.lease.wire.OperationCodec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Operations on leases as requests to the servers, and what they answer. Thread-safe. */
@CheckReturnValue
final class OperationCalls implements Gatherer.Sender<OperationCalls.Result> {
  /** For so long a release is tried (rule L13). */
  private static final Duration RELEASE = Duration.ofSeconds(2);

  private final Endpoints servers;

  OperationCalls(Endpoints servers) {
    this.servers = servers;
  }

  /** {@inheritDoc} Those that had no room in an answer are sent again. */
  @Override
  public List<Result> send(List<Operation> operations) throws LeaseUnavailableException {
    var told = new ArrayList<Result>(operations.size());
    while (told.size() < operations.size()) {
      int from = told.size();
      int most = Math.min(operations.size(), from + LeaseService.MAX_OPERATIONS);
      int to = from;
      while (to < most && OperationCodec.isBatched(operations.get(to))) {
        to++;
      }
      if (to - from > 1) {
        told.addAll(sendTogether(operations.subList(from, to)));
      } else {
        told.add(sendAlone(operations.get(from)));
      }
    }
    return told;
  }

  private List<Result> sendTogether(List<Operation> operations) throws LeaseUnavailableException {
    byte[] body = LeaseDocuments.bytes(OperationCodec.writeBatch(operations));
    var request = new Request("POST", "/v1/leases/batch", body, within(operations));
    return servers.ask(
        request,
        sent -> together(operations, sent),
        told -> told.stream().allMatch(Result::isTurnedAway));
  }

  private static List<Result> together(List<Operation> operations, Sent sent)
      throws LeaseUnavailableException {
    if (sent.answer().status() != 200) {
      throw sent.bad(sent.error().message());
    }
    List<Outcome> outcomes = sent.value(OperationCodec::readOutcomes);
    if (outcomes.isEmpty() || outcomes.size() > operations.size()) {
      throw sent.bad(outcomes.size() + " outcomes of " + operations.size() + " operations");
    }
    var told = new ArrayList<Result>(outcomes.size());
    for (int i = 0; i < outcomes.size(); i++) {
      told.add(told(operations.get(i), outcomes.get(i), sent));
    }
    return told;
  }

  /** Sends one, which may wait in the server's queue. */
  Result sendAlone(Operation operation) throws LeaseUnavailableException {
    String path = "/v1/leases/" + OperationCodec.verb(operation);
    byte[] body = LeaseDocuments.bytes(OperationCodec.write(operation));
    Duration within = within(List.of(operation));
    long waitMs = operation instanceof Operation.Acquire acquire ? acquire.waitMs() : 0;
    var request = new Request("POST", path, body, within, Duration.ofMillis(waitMs));
    return servers.ask(request, sent -> alone(operation, sent), Result::isTurnedAway);
  }

  private static Result alone(Operation operation, Sent sent) throws LeaseUnavailableException {
    Outcome outcome =
        sent.answer().status() == 200
            ? sent.value(in -> OperationCodec.readOutcome(operation, in))
            : new Outcome.Refused(sent.refusal());
    return told(operation, outcome, sent);
  }

  private static Result told(Operation operation, Outcome outcome, Sent sent)
      throws LeaseUnavailableException {
    if (!OperationCodec.isOf(operation, outcome)) {
      throw sent.bad("the grant is of another request");
    }
    return Result.of(operation, outcome, sent.again());
  }

  /**
   * How long one server is waited for: not so long that a lease runs out before the others are
   * asked. Milliseconds.
   */
  long waitMs(Operation operation) {
    return servers.share(within(List.of(operation))).toMillis();
  }

  /**
   * In what time servers are to be asked. A renewal begins when a third of its lease is over, and
   * has half of it where there are several servers; and so have other requests of holders. What is
   * acquired begins with the request. A release that nobody hears lets the leases run out.
   */
  private Duration within(List<Operation> operations) {
    Duration within = Request.UNHURRIED;
    for (Operation operation : operations) {
      Duration its = within(operation);
      within = its.compareTo(within) < 0 ? its : within;
    }
    return within;
  }

  private Duration within(Operation operation) {
    if (operation instanceof Operation.Release) {
      return RELEASE;
    } else if (!servers.areSeveral()) {
      return Request.UNHURRIED; // there is nobody else to ask meanwhile
    } else if (operation instanceof Operation.Renew renew) {
      return Duration.ofMillis(renew.durationMs()).dividedBy(2);
    } else if (operation instanceof Operation.Upgrade upgrade) {
      return Duration.ofMillis(upgrade.durationMs()).dividedBy(2);
    } else if (operation instanceof Operation.Resume resume) {
      return Duration.ofMillis(resume.durationMs()).dividedBy(2);
    } else if (operation instanceof Operation.Acquire acquire) {
      return Duration.ofMillis(acquire.durationMs());
    }
    return Request.UNHURRIED;
  }

  /**
   * What a server said of an operation.
   *
   * @param unsure whether it may be otherwise by now
   */
  record Result(Outcome outcome, boolean unsure) {
    static Result of(Operation operation, Outcome outcome, boolean again) {
      // The first one may have been granted, or may be granted still when it comes.
      boolean unsure =
          again
              && operation instanceof Operation.Acquire
              && outcome instanceof Outcome.Refused refused
              && (refused.refusal().reason() == Reason.HELD
                  || refused.refusal().reason() == Reason.NOT_YET);
      return new Result(outcome, unsure);
    }

    /** Whether the server does no such thing at the moment, and another one may. */
    boolean isTurnedAway() {
      return outcome instanceof Outcome.Refused refused
          && refused.refusal().reason() == Reason.NOT_YET;
    }

    /**
     * The outcome, if it stands.
     *
     * @throws LeaseUnavailableException if it may be otherwise by now
     */
    Outcome known() throws LeaseUnavailableException {
      if (unsure && outcome instanceof Outcome.Refused refused) {
        throw new LeaseUnavailableException(
            "the lease service did not answer at first, and then: "
                + refused.refusal().getMessage(),
            refused.refusal());
      }
      return outcome;
    }
  }
}
