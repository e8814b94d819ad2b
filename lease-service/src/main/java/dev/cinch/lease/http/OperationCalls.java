package dev.cinch.lease.http;

import static dev.cinch.lease.http.Replies.bad;
import static dev.cinch.lease.http.Replies.error;
import static dev.cinch.lease.http.Replies.read;
import static dev.cinch.lease.http.Replies.refusal;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.http.Endpoints.Request;
import dev.cinch.lease.http.Endpoints.Sent;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Operations on leases as requests to the servers, and what they answer. Thread-safe. */
@CheckReturnValue
final class OperationCalls implements Gatherer.Sender<Told> {
  private final Endpoints servers;

  OperationCalls(Endpoints servers) {
    this.servers = servers;
  }

  /** {@inheritDoc} Those that had no room in an answer are sent again. */
  @Override
  public List<Told> send(List<Operation> operations) throws LeaseUnavailableException {
    var told = new ArrayList<Told>(operations.size());
    while (told.size() < operations.size()) {
      int to = Math.min(operations.size(), told.size() + LeaseService.MAX_OPERATIONS);
      List<Operation> rest = operations.subList(told.size(), to);
      if (rest.size() == 1) {
        told.add(sendAlone(rest.get(0)));
      } else {
        told.addAll(sendTogether(rest));
      }
    }
    return told;
  }

  private List<Told> sendTogether(List<Operation> operations) throws LeaseUnavailableException {
    byte[] body = Wire.CBOR.write(WireWriter.operations(operations, Wire.CBOR));
    var request = new Request("POST", "/v1/leases/batch", Wire.CBOR, body, within(operations));
    return servers.ask(
        request,
        sent -> together(operations, sent),
        told -> told.stream().allMatch(Told::isTurnedAway));
  }

  private static List<Told> together(List<Operation> operations, Sent sent)
      throws LeaseUnavailableException {
    if (sent.answer().status() != 200) {
      throw bad(sent, error(sent).message());
    }
    List<Outcome> outcomes = read(Wire.CBOR, sent, WireReader::outcomes);
    if (outcomes.isEmpty() || outcomes.size() > operations.size()) {
      throw bad(sent, outcomes.size() + " outcomes of " + operations.size() + " operations");
    }
    var told = new ArrayList<Told>(outcomes.size());
    for (int i = 0; i < outcomes.size(); i++) {
      Operation operation = operations.get(i);
      told.add(Told.of(operation, checked(sent, operation, outcomes.get(i)), sent.again()));
    }
    return told;
  }

  Told sendAlone(Operation operation) throws LeaseUnavailableException {
    return sendAlone(operation, 0, false);
  }

  /**
   * Sends one.
   *
   * @param waitMs how long it may wait in the server's queue
   * @param stays as {@link Request#stays}
   */
  Told sendAlone(Operation operation, long waitMs, boolean stays) throws LeaseUnavailableException {
    String path = "/v1/leases/" + OperationKind.of(operation).wireName;
    ObjectNode fields = OperationKind.write(operation, Wire.CBOR);
    if (waitMs > 0) {
      fields.put(WireWriter.WAIT, waitMs);
    }
    Duration within = within(List.of(operation));
    Duration queued = Duration.ofMillis(waitMs);
    byte[] body = Wire.CBOR.write(fields);
    var request = new Request("POST", path, Wire.CBOR, body, within, queued, stays);
    return servers.ask(request, sent -> alone(operation, sent), Told::isTurnedAway);
  }

  private static Told alone(Operation operation, Sent sent) throws LeaseUnavailableException {
    Outcome outcome;
    if (sent.answer().status() != 200) {
      outcome = new Outcome.Refused(refusal(sent));
    } else if (operation instanceof Operation.Release) {
      boolean unused = read(Wire.CBOR, sent, WireReader::nothing);
      outcome = Outcome.RELEASED;
    } else {
      outcome = new Outcome.Granted(read(Wire.CBOR, sent, WireReader::grant));
    }
    return Told.of(operation, checked(sent, operation, outcome), sent.again());
  }

  /**
   * How long one server is waited for, of several: not so long that a lease runs out before the
   * others are asked. Milliseconds.
   */
  long waitMs(Operation operation) {
    return servers.share(within(List.of(operation))).toMillis();
  }

  /**
   * In what time all servers are to be asked. A renewal begins when a third of its lease is over,
   * and has half of it; and so have other requests of holders. What is acquired begins with the
   * request.
   */
  private static Duration within(List<Operation> operations) {
    Duration within = Request.UNHURRIED;
    for (Operation operation : operations) {
      Duration its = within(operation);
      within = its.compareTo(within) < 0 ? its : within;
    }
    return within;
  }

  private static Duration within(Operation operation) {
    if (operation instanceof Operation.Renew renew) {
      return Duration.ofMillis(renew.durationMs()).dividedBy(2);
    } else if (operation instanceof Operation.Upgrade upgrade) {
      return Duration.ofMillis(upgrade.durationMs()).dividedBy(2);
    } else if (operation instanceof Operation.Resume resume) {
      return Duration.ofMillis(resume.request().durationMs()).dividedBy(2);
    } else if (operation instanceof Operation.Acquire acquire) {
      return Duration.ofMillis(acquire.request().durationMs());
    }
    return Request.UNHURRIED;
  }

  private static Outcome checked(Sent sent, Operation operation, Outcome outcome)
      throws LeaseUnavailableException {
    boolean releases = operation instanceof Operation.Release;
    if (outcome instanceof Outcome.Granted granted
        ? releases || !granted.grant().id().equals(operation.id())
        : outcome instanceof Outcome.Released && !releases) {
      throw bad(sent, "the grant is of another request");
    }
    return outcome;
  }
}
